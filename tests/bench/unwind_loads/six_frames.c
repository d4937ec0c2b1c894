/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A stack of six frames without frame pointers: leaf, middle, main, and three of libc. */
#include <stdint.h>
#include <stdlib.h>

enum { BYTES = 4 << 20 };

static __attribute__((noinline)) uint64_t leaf(const uint8_t *memory, uint64_t random)
{
	uint64_t sum = 0;

	for (int i = 0; i < 20000; i++) {
		random = random * 6364136223846793005u + 1;
		sum += memory[(random >> 33) % BYTES];
	}
	/* Keeps the compiler from removing the result. */
	__asm__ volatile("" : "+r"(sum) : : "memory");
	return sum;
}

static __attribute__((noinline)) uint64_t middle(const uint8_t *memory, uint64_t random)
{
	return leaf(memory, random) + 1;
}

int main(void)
{
	const uint8_t *memory = calloc(1, BYTES);
	uint64_t sum = 88172645463325252u;

	if (!memory)
		return 1;
	for (;;)
		sum += middle(memory, sum) + 1;
}
