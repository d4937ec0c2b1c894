/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attacks through executable mappings, which the kernel reports to the profiler. */
#include "abuse.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	PAGE_BYTES = 4096,
	MANY = 60000,
	STORM_THREADS = 4,
	FILES = 256,
	CLAIMING = 24,
	CLAIMING_WORKS = 2500, /* of a millisecond and a pause */
};

/* Neighbours with different protection do not merge. */
void mapping_many(struct abuse *abuse)
{
	const size_t bytes = (size_t)MANY * PAGE_BYTES;
	struct code code;
	int fd = abuse_create("sparse");
	char *start;

	if (ftruncate(fd, (off_t)bytes) < 0)
		abuse_fail("ftruncate");
	start = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	if (start == MAP_FAILED)
		abuse_fail("mmap");
	code_map(&code, 1000);
	for (size_t i = 0; abuse_goes_on(abuse); i++) {
		/* Fails at the limit of mappings, which suits the attack. */
		if (i < MANY / 2)
			(void)mprotect(start + 2 * i * PAGE_BYTES, PAGE_BYTES, PROT_READ);
		else
			code_run(abuse, &code, 8, 1000);
	}
}

/* Each is asked once it is two seconds old, and all its mappings are read then. */
void mapping_claims(struct abuse *abuse)
{
	const size_t bytes = (size_t)MANY * PAGE_BYTES;
	char *start =
		mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	unsigned running = 0;

	if (start == MAP_FAILED)
		abuse_fail("mmap");
	for (size_t i = 0; i < MANY / 2; i++)
		(void)mprotect(start + 2 * i * PAGE_BYTES, PAGE_BYTES, PROT_READ);
	while (abuse_goes_on(abuse)) {
		pid_t pid = abuse_fork(abuse);

		if (pid == 0) {
			for (int i = 0; i < CLAIMING_WORKS && abuse_goes_on(abuse); i++) {
				abuse_work(500);
				(void)usleep(500);
			}
			_exit(0);
		}
		running = abuse_reap(running + (pid > 0), CLAIMING);
	}
}

void mapping_writable(struct abuse *abuse)
{
	static const int protections[] = { PROT_READ | PROT_WRITE | PROT_EXEC,
		PROT_READ | PROT_EXEC, PROT_WRITE | PROT_EXEC, PROT_EXEC };
	struct code code;

	code_map(&code, 4096);
	for (unsigned i = 0; abuse_goes_on(abuse); i++) {
		if (mprotect(code.start, code.count * CODE_STEP, protections[i % 4]) < 0)
			abuse_fail("mprotect");
		code_run(abuse, &code, 8, 10);
	}
}

static void storm_files(struct abuse *abuse)
{
	char path[32];
	int fd;

	(void)snprintf(path, sizeof(path), "storm%lu", (unsigned long)abuse_draw(abuse, FILES));
	fd = abuse_create(path);
	if (ftruncate(fd, PAGE_BYTES) < 0)
		abuse_fail("ftruncate");
	while (abuse_goes_on(abuse)) {
		void *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (page == MAP_FAILED)
			abuse_fail("mmap");
		(void)munmap(page, PAGE_BYTES);
	}
	(void)close(fd);
}

void mapping_storm(struct abuse *abuse)
{
	abuse_threads(abuse, STORM_THREADS, storm_files);
}

static void storm_anonymous(struct abuse *abuse)
{
	while (abuse_goes_on(abuse)) {
		uint8_t *page = mmap(NULL, PAGE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (page == MAP_FAILED)
			abuse_fail("mmap");
		code_put(page);
		code_run_frame(&(struct code){ .start = page, .count = 1 }, 0, NULL, 5);
		(void)munmap(page, PAGE_BYTES);
	}
}

void mapping_anonymous(struct abuse *abuse)
{
	abuse_threads(abuse, STORM_THREADS, storm_anonymous);
}

/* The same address has the code of another file after each turn. */
void mapping_replaced(struct abuse *abuse)
{
	int files[FILES];
	uint8_t *place = mmap(NULL, PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (place == MAP_FAILED)
		abuse_fail("mmap");
	for (size_t i = 0; i < FILES; i++) {
		uint8_t page[PAGE_BYTES] = { 0 };
		char path[32];

		(void)snprintf(path, sizeof(path), "replaced%zu", i);
		files[i] = abuse_create(path);
		code_put(page);
		abuse_write(files[i], page, sizeof(page));
	}
	for (size_t i = 0; abuse_goes_on(abuse); i++) {
		if (mmap(place, PAGE_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED,
			    files[i % FILES], 0) == MAP_FAILED)
			abuse_fail("mmap over another");
		code_run_frame(&(struct code){ .start = place, .count = 1 }, 0, NULL, 20);
	}
}
