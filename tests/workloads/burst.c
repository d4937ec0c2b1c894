/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * burst WHAT N [FILE]: has N events in a second, in pieces, and then ten times as many at once;
 * prints how many it had in all. WHAT is `faults`, page faults; `calls`, of getppid(); `sockets`,
 * pairs of them, for which the kernel allocates memory; `waits`, of two threads for each other, by
 * a futex; or `writes`, of 4 KiB to FILE, past the page cache. 0: FILE is on no disk.
 */
#include "work.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { BLOCK_BYTES = 4096, PIECES = 20, FILE_BLOCKS = 1024 };

static NOINLINE void have_faults(size_t count)
{
	char *memory = mmap(NULL, count * BLOCK_BYTES, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	(void)madvise(memory, count * BLOCK_BYTES, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < count; i++)
		((volatile char *)memory)[i * BLOCK_BYTES] = 1;
	(void)munmap(memory, count * BLOCK_BYTES);
}

static NOINLINE void call_often(size_t count)
{
	for (size_t i = 0; i < count; i++)
		(void)syscall(SYS_getppid);
}

static NOINLINE void make_sockets(size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int fds[2];

		if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) < 0)
			exit(1);
		(void)close(fds[0]);
		(void)close(fds[1]);
	}
}

/* --- waits --- */

static unsigned turn;	  /* of the thread with this number */
static size_t turns_left; /* of the second thread */

static void take_turns(unsigned own, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != own)
			(void)syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, !own, NULL, NULL, 0);
		__atomic_store_n(&turn, !own, __ATOMIC_RELEASE);
		(void)syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	}
}

static void *run_second(void *unused)
{
	(void)unused;
	take_turns(1, turns_left);
	return NULL;
}

static NOINLINE void wait_often(size_t count)
{
	pthread_t second;

	turns_left = count / 2;
	if (pthread_create(&second, NULL, run_second, NULL) != 0)
		exit(1);
	take_turns(0, count / 2);
	(void)pthread_join(second, NULL);
}

/* --- writes --- */

static int file = -1;
static char block[BLOCK_BYTES] __attribute__((aligned(BLOCK_BYTES)));

static NOINLINE void write_often(size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (pwrite(file, block, sizeof(block), (off_t)(i % FILE_BLOCKS * sizeof(block))) !=
			sizeof(block))
			exit(1);
}

static const struct kind {
	const char *name;
	void (*have)(size_t count);
} kinds[] = {
	{ "faults", have_faults },
	{ "calls", call_often },
	{ "sockets", make_sockets },
	{ "waits", wait_often },
	{ "writes", write_often },
};

int main(int argc, char **argv)
{
	const struct timespec pause = { .tv_nsec = 1000000000 / PIECES };
	size_t count = argc > 2 ? strtoul(argv[2], NULL, 10) / PIECES * PIECES : 0;
	const struct kind *kind = kinds;

	while (kind < kinds + sizeof(kinds) / sizeof(kinds[0]) && argc > 2 &&
		strcmp(kind->name, argv[1]) != 0)
		kind++;
	if (count == 0 || kind == kinds + sizeof(kinds) / sizeof(kinds[0])) {
		(void)fprintf(stderr, "usage: burst faults|calls|sockets|waits|writes N [FILE]\n");
		return 1;
	}
	if (argc > 3)
		file = open(argv[3], O_WRONLY | O_CREAT | O_DIRECT, 0600);
	if (kind->have == write_often && file < 0) {
		(void)puts("0");
		return 0;
	}
	for (int i = 0; i < PIECES; i++) {
		kind->have(count / PIECES);
		(void)nanosleep(&pause, NULL);
	}
	kind->have(10 * count);
	(void)printf("%zu\n", 11 * count);
	return 0;
}
