/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Attacks through perf maps: text files in /tmp that name the code of the process in their names.
 */
#include "abuse.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	NAMES = 12000,
	NAME_BYTES = 150,
	RUN_US = 300,
	BLOCK_BYTES = 64 << 10,
	MANY_PROCESSES = 600,
	OTHERS_MAX = 2000,
};

struct map_path {
	char text[64];
};

static struct map_path path_of(pid_t pid)
{
	struct map_path path;

	(void)snprintf(path.text, sizeof(path.text), "/tmp/perf-%d.map", (int)pid);
	return path;
}

static int create_map(void)
{
	return abuse_create(path_of(getpid()).text);
}

/* One line for each function, with a name of NAME_BYTES that no other process, function or round
 * has. */
static void write_names(int fd, const struct code *code, unsigned round)
{
	FILE *file = fdopen(dup(fd), "w");
	char name[NAME_BYTES + 1];

	if (!file)
		abuse_fail("fdopen");
	for (size_t i = 0; i < code->count; i++) {
		int size =
			snprintf(name, sizeof(name), "abused_%d_%u_%zu_", (int)getpid(), round, i);

		memset(name + size, 'n', sizeof(name) - (size_t)size);
		(void)fprintf(file, "%lx %x %.*s\n", (unsigned long)(code->start + i * CODE_STEP),
			CODE_STEP, NAME_BYTES, name);
	}
	if (fclose(file) != 0)
		abuse_fail("perf map");
}

void map_names(struct abuse *abuse)
{
	struct code code;

	code_map(&code, NAMES);
	write_names(create_map(), &code, 0);
	while (abuse_goes_on(abuse))
		code_run(abuse, &code, CHAIN_FRAMES, RUN_US);
}

void map_new_names(struct abuse *abuse)
{
	struct code code;
	int fd = create_map();

	code_map(&code, NAMES);
	for (unsigned round = 0; abuse_goes_on(abuse); round++) {
		time_t begun = time(NULL);

		if (ftruncate(fd, 0) < 0 || lseek(fd, 0, SEEK_SET) < 0)
			abuse_fail("ftruncate");
		write_names(fd, &code, round);
		while (time(NULL) == begun && abuse_goes_on(abuse))
			code_run(abuse, &code, CHAIN_FRAMES, RUN_US);
	}
}

void map_sparse(struct abuse *abuse)
{
	const off_t hole = (off_t)1 << 40;
	struct code code;
	int fd = create_map();

	code_map(&code, NAMES);
	write_names(fd, &code, 0);
	for (off_t end = lseek(fd, 0, SEEK_END) + hole; abuse_goes_on(abuse); end += 1 << 20) {
		/* A file system may allow less than 16 TiB. */
		if (pwrite(fd, "1000 10 after_the_hole\n", 23, end) < 0 &&
			pwrite(fd, "1000 10 after_the_hole\n", 23, end / 1024) < 0)
			abuse_fail("pwrite");
		code_run(abuse, &code, 8, 20000);
	}
}

/* Fills a block with lines of random addresses and names; returns its size. */
static size_t fill_block(struct abuse *abuse, char *block)
{
	size_t size = 0;

	while (size + 64 < BLOCK_BYTES)
		size += (size_t)snprintf(block + size, BLOCK_BYTES - size, "%lx 20 e%lx\n",
			(unsigned long)(0x100000000000 + (abuse_draw(abuse, 1U << 30) << 5)),
			(unsigned long)abuse_draw(abuse, 1UL << 40));
	return size;
}

void map_endless(struct abuse *abuse)
{
	static char block[BLOCK_BYTES];
	struct code code;
	size_t written = 0;
	int fd = create_map();

	code_map(&code, NAMES);
	while (abuse_goes_on(abuse)) {
		size_t size = fill_block(abuse, block);

		if (written + size > ABUSE_DISK_BYTES && ftruncate(fd, 0) == 0) {
			(void)lseek(fd, 0, SEEK_SET);
			written = 0;
		}
		abuse_write(fd, block, size);
		written += size;
		code_run(abuse, &code, CHAIN_FRAMES, 50);
	}
}

void map_rewritten(struct abuse *abuse)
{
	static char block[BLOCK_BYTES];
	struct code code;
	int fd = create_map();

	code_map(&code, NAMES);
	while (abuse_goes_on(abuse)) {
		size_t size = fill_block(abuse, block);

		if (ftruncate(fd, 0) < 0 || pwrite(fd, block, size, 0) < 0)
			abuse_fail("pwrite");
		code_run(abuse, &code, CHAIN_FRAMES, 50);
	}
}

/* Runs code in one new process after the other, each with the map that `put` made. */
static void run_children(struct abuse *abuse, void (*put)(unsigned turn, const char *path))
{
	unsigned running = 0;

	for (unsigned turn = 0; abuse_goes_on(abuse); turn++) {
		pid_t pid = abuse_fork(abuse);

		if (pid == 0) {
			struct map_path path = path_of(getpid());
			struct code code;

			put(turn, path.text);
			code_map(&code, 100);
			code_run(abuse, &code, 4, 300000);
			(void)remove(path.text);
			_exit(0);
		}
		running = abuse_reap(running + (pid > 0), 4);
	}
}

static void put_symlink(unsigned turn, const char *path)
{
	static const char *const targets[] = { "/etc/shadow", "/dev/zero", "/dev/random",
		"/proc/kmsg", "/proc/1/mem", "/dev/stdin", "/dev/fuse", "/" };

	if (symlink(targets[turn % (sizeof(targets) / sizeof(targets[0]))], path) < 0)
		abuse_fail("symlink");
}

void map_symlink(struct abuse *abuse)
{
	run_children(abuse, put_symlink);
}

static void put_hard_link(unsigned turn, const char *path)
{
	(void)turn;
	if (link("large", path) < 0 && errno != EEXIST)
		abuse_fail("link");
}

void map_hard_link(struct abuse *abuse)
{
	static char block[BLOCK_BYTES];
	int fd = abuse_create("large");

	for (size_t written = 0; written < ABUSE_DISK_BYTES / 2; written += BLOCK_BYTES) {
		size_t size = fill_block(abuse, block);

		abuse_write(fd, block, size);
	}
	run_children(abuse, put_hard_link);
}

static void put_fifo(unsigned turn, const char *path)
{
	if (mkfifo(path, 0644) < 0)
		abuse_fail("mkfifo");
	/* Such a writer makes the pipe readable. */
	if (turn % 2 && open(path, O_RDWR | O_NONBLOCK) < 0)
		abuse_fail("fifo");
}

void map_fifo(struct abuse *abuse)
{
	run_children(abuse, put_fifo);
}

static void swap(unsigned turn, const char *path)
{
	static const char *const others[] = { "file", "link", "pipe", "folder" };
	const char *other = others[turn % 4];

	(void)unlink(other);
	(void)rmdir(path);
	if (turn % 4 == 0)
		(void)close(abuse_create(other));
	else if (turn % 4 == 1)
		(void)symlink("/dev/zero", other);
	else if (turn % 4 == 2)
		(void)mkfifo(other, 0644);
	else {
		(void)unlink(path);
		(void)mkdir(path, 0755);
		return;
	}
	(void)rename(other, path);
}

void map_swapped(struct abuse *abuse)
{
	struct map_path path = path_of(getpid());
	struct code code;

	code_map(&code, NAMES);
	for (unsigned turn = 0; abuse_goes_on(abuse); turn++) {
		swap(turn, path.text);
		code_run(abuse, &code, 8, 200);
	}
}

void map_one_line(struct abuse *abuse)
{
	static char block[BLOCK_BYTES];
	struct code code;
	int fd = create_map();

	code_map(&code, NAMES);
	memset(block, 'l', sizeof(block));
	(void)dprintf(fd, "%lx 1000 ", (unsigned long)code.start);
	for (size_t written = 0; abuse_goes_on(abuse); written += sizeof(block)) {
		if (written < ABUSE_DISK_BYTES - BLOCK_BYTES)
			abuse_write(fd, block, sizeof(block));
		code_run(abuse, &code, 8, 100);
	}
}

void map_rubbish(struct abuse *abuse)
{
	static char block[BLOCK_BYTES];
	struct code code;
	int fd = create_map();

	code_map(&code, NAMES);
	for (size_t written = 0; abuse_goes_on(abuse); written += sizeof(block)) {
		abuse_draw_bytes(abuse, block, sizeof(block));
		if (written < ABUSE_DISK_BYTES - BLOCK_BYTES)
			abuse_write(fd, block, sizeof(block));
		code_run(abuse, &code, 8, 100);
	}
}

/* Such a map could rename all code, were it trusted. */
static void claim_process(pid_t pid)
{
	struct map_path path = path_of(pid);
	int fd = open(path.text, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	if (fd < 0)
		return;
	(void)dprintf(fd, "0 7fffffffffff stolen\n");
	(void)close(fd);
}

void map_of_others(struct abuse *abuse)
{
	struct code code;

	code_map(&code, 100);
	while (abuse_goes_on(abuse)) {
		DIR *folder = opendir("/proc");
		struct dirent *entry;
		unsigned count = 0;

		while (folder && (entry = readdir(folder)) && count < OTHERS_MAX)
			if (atoi(entry->d_name) > 0) {
				claim_process(atoi(entry->d_name));
				count++;
			}
		if (folder)
			(void)closedir(folder);
		code_run(abuse, &code, 8, 200000);
	}
}

void map_many(struct abuse *abuse)
{
	const struct timespec second = { .tv_sec = 1 };

	for (unsigned i = 0; i < MANY_PROCESSES; i++) {
		pid_t pid = abuse_fork(abuse);
		struct code code;

		if (pid < 0)
			break;
		if (pid > 0)
			continue;
		code_map(&code, 100);
		write_names(create_map(), &code, 0);
		while (abuse_goes_on(abuse)) {
			code_run(abuse, &code, CHAIN_FRAMES, 1000);
			(void)nanosleep(&second, NULL);
		}
		_exit(0);
	}
	(void)abuse_reap(MANY_PROCESSES, 0);
}

static void put_map(unsigned turn, const char *path)
{
	struct code code;

	code_map(&code, 2000);
	write_names(create_map(), &code, turn);
	if (turn % 2)
		(void)unlink(path);
	code_run_frame(&code, turn % 2000, NULL, 2000);
	/* Most leave their maps; the disk would not hold those of a long attack. */
	if (turn % 1000 >= 200)
		(void)unlink(path);
	_exit(0);
}

void map_dead(struct abuse *abuse)
{
	run_children(abuse, put_map);
}

void map_everything(struct abuse *abuse)
{
	struct code code;
	int fd = create_map();

	code_map(&code, NAMES);
	for (unsigned i = 0; abuse_goes_on(abuse); i++) {
		if (i < 1000000)
			(void)dprintf(fd,
				"%x ffffffffffffffff all_%u\n0 %llx all\n7fff00000000 ffffffff "
				"most\n",
				i, i, 0xfffffffffffffffULL - i);
		code_run(abuse, &code, CHAIN_FRAMES, 20);
	}
}
