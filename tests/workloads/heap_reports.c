/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An allocator that samples itself, and reports its samples by the USDT probes otel_memory:alloc
 * and otel_memory:free. Waits until somebody has set the first one; then allocates from call sites
 * of its own. Prints how many bytes each has allocated, and how many of them live, as heap.c does.
 * What is allocated without the sampler is reported by nobody.
 */
#include "work.h"

#include <stdint.h>

enum {
	INTERVAL = 4096, /* bytes from sample to sample */
	HEAD = 16,
	SMALL = 8192,	    /* of 256 bytes */
	LARGE = 200,	    /* of 20,000 bytes */
	CHURNED = 8192,	    /* of 512 bytes, freed at once */
	UNREPORTED = 10000, /* of 1,000 bytes */
};

/* As sys/sdt.h does: a nop, and a note that says where it is and where its arguments are. */
#define PROBE(name, arguments, ...)                                               \
	asm volatile("990: nop\n"                                                 \
		     ".pushsection .note.stapsdt, \"\", \"note\"\n"               \
		     ".balign 4\n"                                                \
		     ".4byte 992f - 991f, 994f - 993f, 3\n"                       \
		     "991: .asciz \"stapsdt\"\n"                                  \
		     "992: .balign 4\n"                                           \
		     "993: .8byte 990b, 0, otel_memory_" #name "_semaphore\n"     \
		     ".asciz \"otel_memory\", \"" #name "\", \"" arguments "\"\n" \
		     "994: .balign 4\n"                                           \
		     ".popsection" ::__VA_ARGS__)

#define SEMAPHORE(name) \
	__attribute__((section(".probes"), used)) volatile uint16_t otel_memory_##name##_semaphore

SEMAPHORE(alloc);
SEMAPHORE(free);

struct head {
	uint64_t is_sampled;
	uint64_t unused;
};
_Static_assert(sizeof(struct head) == HEAD, "memory stays aligned");

static void *small[SMALL], *large[LARGE];
static void *volatile sink;

/* One place for all, so that its semaphore tells that all is watched. */
static NOINLINE void report(void *memory, size_t bytes, size_t weight)
{
	PROBE(alloc, "8@%0 8@%1 8@%2", "r"(memory), "r"(bytes), "m"(weight));
}

/* A call site has a sampler of its own, so that its sum is right to the last interval. */
static inline __attribute__((always_inline)) void *allocate(size_t bytes, size_t *sum)
{
	size_t before = *sum / INTERVAL, intervals;
	struct head *head = malloc(HEAD + bytes);
	void *memory = head + 1;

	if (!head)
		exit(EXIT_FAILURE);
	*sum += bytes;
	intervals = *sum / INTERVAL - before;
	head->is_sampled = intervals > 0;
	if (intervals > 0 && otel_memory_alloc_semaphore > 0)
		report(memory, bytes, intervals * INTERVAL);
	sink = memory;
	return memory;
}

static inline __attribute__((always_inline)) void release(void *memory)
{
	struct head *head = (struct head *)memory - 1;

	if (head->is_sampled && otel_memory_free_semaphore > 0)
		PROBE(free, "8@%0", "r"(memory));
	free(head);
}

static NOINLINE void keep_small(void)
{
	size_t sum = 0;

	for (int i = 0; i < SMALL; i++)
		small[i] = allocate(256, &sum);
}

static NOINLINE void keep_large(void)
{
	size_t sum = 0;

	for (int i = 0; i < LARGE; i++)
		large[i] = allocate(20000, &sum);
}

static NOINLINE void churn(void)
{
	size_t sum = 0;

	for (int i = 0; i < CHURNED; i++)
		release(allocate(512, &sum));
}

static NOINLINE void unreported(void)
{
	for (int i = 0; i < UNREPORTED; i++)
		sink = malloc(1000);
}

int main(void)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	char byte;

	while (otel_memory_alloc_semaphore == 0)
		nanosleep(&pause, NULL);
	keep_large();
	keep_small();
	churn();
	unreported();
	printf("keep_large %d %d\n", LARGE * 20000, LARGE * 20000);
	printf("keep_small %d %d\n", SMALL * 256, SMALL * 256);
	printf("churn %d 0\n", CHURNED * 512);
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return EXIT_SUCCESS;
}
