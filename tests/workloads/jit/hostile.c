/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The modes of a process that writes data that no runtime would write, at a given rate. */
#include "trial.h"

#include "pilotlight/jitdump.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	TICKS_PER_S = 200,
	RECORDS_PER_S = 1000000,
	NAMES_PER_S = 400,
	NAME_BYTES = 65536,
	REWRITES_PER_S = 1000,
	REWRITTEN_RECORDS = 100,
	IDLE_PROCESSES = 600,
	BATCH_BYTES = 1 << 20,
};

_Static_assert(RECORDS_PER_S / TICKS_PER_S * 72 < BATCH_BYTES, "a tick's records fit");

/* Whole records, written unchanged. */
struct batch {
	size_t size;
	uint8_t bytes[BATCH_BYTES];
};

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static struct batch *new_batch(void)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		die("calloc");
	return batch;
}

static void add(struct batch *batch, const void *bytes, size_t size)
{
	memcpy(batch->bytes + batch->size, bytes, size);
	batch->size += size;
}

/* Without the code, which some writers omit. */
static void add_load(
	struct batch *batch, uint64_t address, uint64_t size, const char *name, size_t name_size)
{
	struct pilotlight_jitdump_prefix prefix = {
		.id = PILOTLIGHT_JITDUMP_LOAD,
		.timestamp = monotonic_ns(),
	};
	struct pilotlight_jitdump_load load = {
		.pid = (uint32_t)getpid(),
		.tid = (uint32_t)getpid(),
		.vma = address,
		.code_addr = address,
		.code_size = size,
		.code_index = 1,
	};

	prefix.total_size = (uint32_t)(sizeof(prefix) + sizeof(load) + name_size + 1);
	add(batch, &prefix, sizeof(prefix));
	add(batch, &load, sizeof(load));
	add(batch, name, name_size);
	add(batch, "", 1);
}

static void write_batch(struct trial *trial, struct batch *batch)
{
	if (write(trial->writer.fd, batch->bytes, batch->size) != (ssize_t)batch->size)
		die("write");
	batch->size = 0;
}

static void wait_until(uint64_t time_ns)
{
	struct timespec time = {
		.tv_sec = (time_t)(time_ns / 1000000000),
		.tv_nsec = (long)(time_ns % 1000000000),
	};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) == EINTR)
		;
}

/*
 * Calls `fill` and writes its records, TICKS_PER_S times a second. A function runs in between, so
 * that there are samples. Late ticks are not repeated.
 */
static void run_hostile(struct trial *trial, void (*fill)(struct trial *trial, struct batch *batch))
{
	const uint64_t tick_ns = 1000000000 / TICKS_PER_S;
	struct batch *batch = new_batch();
	struct function own;
	uint64_t next_ns;

	trial_load(trial, 0, trial_name(trial, "hostile", 0), &own);
	next_ns = monotonic_ns();
	while (trial_goes_on(trial)) {
		fill(trial, batch);
		write_batch(trial, batch);
		trial_run(trial, &own, 1);
		next_ns += tick_ns;
		if (next_ns < monotonic_ns())
			next_ns = monotonic_ns();
		wait_until(next_ns);
	}
	free(batch);
	trial_end(trial);
}

/* At random addresses, all with different names. */
static void fill_tiny(struct trial *trial, struct batch *batch)
{
	char name[16];

	for (unsigned i = 0; i < RECORDS_PER_S / TICKS_PER_S; i++) {
		uint64_t address = 0x100000000000U + ((uint64_t)trial_draw(trial, 1U << 30) << 4);
		int size = snprintf(name, sizeof(name), "%x", trial_draw(trial, 1U << 30));

		add_load(batch, address, 16, name, (size_t)size);
	}
}

void run_hostile_tiny(struct trial *trial)
{
	run_hostile(trial, fill_tiny);
}

static void add_same(struct batch *batch, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		add_load(batch, 0x100000000000U, 4096, "s", 1);
}

static void fill_same(struct trial *trial, struct batch *batch)
{
	(void)trial;
	add_same(batch, RECORDS_PER_S / TICKS_PER_S);
}

void run_hostile_same(struct trial *trial)
{
	run_hostile(trial, fill_same);
}

/* Invalid UTF-8 throughout, all different. */
static void fill_names(struct trial *trial, struct batch *batch)
{
	char name[NAME_BYTES];

	for (unsigned i = 0; i < NAMES_PER_S / TICKS_PER_S; i++) {
		uint64_t address = 0x100000000000U + ((uint64_t)trial_draw(trial, 1U << 30) << 4);

		for (unsigned j = 0; j < NAME_BYTES; j++)
			name[j] = (char)(0x80 + trial_draw(trial, 0x80));
		add_load(batch, address, 16, name, sizeof(name));
	}
}

void run_hostile_names(struct trial *trial)
{
	run_hostile(trial, fill_names);
}

/* Only the beginnings of records, with sizes up to 4 GiB. */
static void fill_huge(struct trial *trial, struct batch *batch)
{
	static const uint32_t sizes[] = { 0xffffffff, 0x80000000, 0x7fffffff, 0x10000000 };
	struct pilotlight_jitdump_prefix prefix = {
		.id = trial_draw(trial, 6),
		.total_size = sizes[trial_draw(trial, 4)],
		.timestamp = monotonic_ns(),
	};
	struct pilotlight_jitdump_load load = { .code_size = UINT64_MAX };

	add(batch, &prefix, sizeof(prefix));
	add(batch, &load, sizeof(load));
}

void run_hostile_huge(struct trial *trial)
{
	run_hostile(trial, fill_huge);
}

/* Truncates and restarts the file repeatedly, with an invalid record in it. */
static void fill_rewrite(struct trial *trial, struct batch *batch)
{
	struct pilotlight_jitdump_header header = {
		.magic = PILOTLIGHT_JITDUMP_MAGIC,
		.version = 1,
		.total_size = sizeof(header),
		.pid = (uint32_t)getpid(),
	};

	for (unsigned i = 0; i < REWRITES_PER_S / TICKS_PER_S; i++) {
		batch->size = 0;
		header.timestamp = monotonic_ns();
		add(batch, &header, sizeof(header));
		add_same(batch, REWRITTEN_RECORDS);
		fill_huge(trial, batch);
		if (ftruncate(trial->writer.fd, 0) < 0)
			die("ftruncate");
		write_batch(trial, batch);
	}
}

void run_hostile_rewrite(struct trial *trial)
{
	run_hostile(trial, fill_rewrite);
}

/* More processes, each with an empty file, than the recorder follows. */
void run_hostile_many(struct trial *trial)
{
	for (unsigned i = 0; i < IDLE_PROCESSES; i++) {
		struct writer writer;
		pid_t pid = fork();

		if (pid < 0)
			die("fork");
		if (pid > 0)
			continue;
		trial_inherit(trial, "hostile_idle");
		writer_disown(&trial->writer);
		writer_open(&writer, &trial->writer.options);
		wait_until(trial->end_ns);
		_exit(0);
	}
	wait_until(trial->end_ns);
	trial_end(trial);
}
