/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Allocates by each function of the allocator, from call sites of its own: how many bytes each has
 * allocated, and how many of them live at the end, follows from the source. Prints both by name of
 * the function, then waits for the end of standard input.
 *
 *	heap child: does so in a child process
 *	heap hog: allocates and uses memory without end
 *	heap busy N: allocates and frees N times, and prints the ns of CPU time that each took
 */
#include "work.h"

#include <malloc.h>
#include <sys/wait.h>

enum {
	MIB = 1 << 20,
	KEPT_SMALL = 64 << 10, /* of 64 bytes */
	KEPT_LARGE = 100,      /* of 100,000 bytes */
	CHURNED = 2000,	       /* of 10,000 bytes, freed at once */
	CLEARED = 400,	       /* of 20,000 bytes; every second one is freed */
	ALIGNED = 1000,	       /* of 8 KiB */
	GROWN = 64,	       /* to so many times 64 KiB, in steps of 64 KiB */
};

static void *volatile sink;
static void *kept_small[KEPT_SMALL], *kept_large[KEPT_LARGE], *cleared[CLEARED];

static void *hold(void *memory)
{
	sink = memory;
	if (!memory)
		exit(EXIT_FAILURE);
	return memory;
}

static NOINLINE void keep_small(void)
{
	for (int i = 0; i < KEPT_SMALL; i++)
		kept_small[i] = hold(malloc(64));
}

static NOINLINE void keep_large(void)
{
	for (int i = 0; i < KEPT_LARGE; i++)
		kept_large[i] = hold(malloc(100000));
}

static NOINLINE void churn(void)
{
	for (int i = 0; i < CHURNED; i++)
		free(hold(malloc(10000)));
}

static NOINLINE void clear(void)
{
	for (int i = 0; i < CLEARED; i++)
		cleared[i] = hold(calloc(20, 1000));
	for (int i = 0; i < CLEARED; i += 2)
		free(cleared[i]);
}

static NOINLINE void align(void)
{
	for (int i = 0; i < ALIGNED; i++) {
		void *memory = NULL;

		if (i % 2)
			memory = aligned_alloc(64, 8192);
		else if (posix_memalign(&memory, 4096, 8192))
			memory = NULL;
		hold(memory);
	}
}

static NOINLINE void grow(void)
{
	char *memory = NULL;

	for (size_t i = 1; i <= GROWN; i++)
		memory = hold(realloc(memory, i * (64 << 10)));
}

static void allocate(void)
{
	keep_small();
	keep_large();
	churn();
	clear();
	align();
	grow();
}

static NOINLINE void hog(void)
{
	for (;;)
		memset(hold(malloc(MIB)), 1, MIB);
}

static NOINLINE void be_busy(long times)
{
	struct timespec begin, end;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
	for (long i = 0; i < times; i++)
		free(hold(malloc(100)));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	printf("%.0f\n", ((double)(end.tv_sec - begin.tv_sec) * 1e9 +
				 (double)(end.tv_nsec - begin.tv_nsec)) /
				 (double)times);
}

static void print(const char *name, size_t allocated, size_t live)
{
	printf("%s %zu %zu\n", name, allocated, live);
}

int main(int argc, char **argv)
{
	pid_t child = 0;
	char byte;

	if (argc > 1 && strcmp(argv[1], "hog") == 0)
		hog();
	if (argc > 2 && strcmp(argv[1], "busy") == 0) {
		be_busy(atol(argv[2]));
		return EXIT_SUCCESS;
	}
	if (argc > 1)
		child = fork();

	/* The same addresses for all: no memory is returned meanwhile. */
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	if (child == 0) {
		allocate();
		print("keep_small", KEPT_SMALL * 64, KEPT_SMALL * 64);
		print("keep_large", KEPT_LARGE * 100000, KEPT_LARGE * 100000);
		print("churn", CHURNED * 10000, 0);
		print("clear", CLEARED * 20000, CLEARED / 2 * 20000);
		print("align", ALIGNED * 8192, ALIGNED * 8192);
		print("grow", (size_t)GROWN * (GROWN + 1) / 2 * (64 << 10), GROWN * (64 << 10));
		fflush(stdout);
		while (read(STDIN_FILENO, &byte, 1) > 0)
			;
	}
	return child > 0 && wait(NULL) < 0;
}
