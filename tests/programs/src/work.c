/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of every ordinary kind, for ever: recursion, callbacks from the C library, function
 * pointers, formatting, allocation, vector code, and functions that end with a call. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define APART __attribute__((noinline, noclone))

enum { NUMBERS = 2000 };

static volatile double sink;

APART static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

APART static unsigned int sort_numbers(unsigned int seed)
{
	int numbers[NUMBERS];

	for (int i = 0; i < NUMBERS; i++)
		numbers[i] = (int)((seed = seed * 1103515245 + 12345) >> 8);
	qsort(numbers, NUMBERS, sizeof(*numbers), compare);
	return (unsigned int)numbers[NUMBERS / 2];
}

APART static unsigned int fibonacci(unsigned int n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

APART static unsigned int format_numbers(unsigned int seed)
{
	char text[256];
	unsigned int length = 0;

	for (int i = 0; i < 100; i++)
		length += (unsigned int)snprintf(text, sizeof(text), "%u %.10g %s",
			seed + (unsigned int)i, (double)seed / (i + 1), "text");
	return length + (unsigned int)strtod(text, NULL);
}

APART static unsigned int allocate(unsigned int seed)
{
	char *blocks[100];
	unsigned int sum = 0;

	for (int i = 0; i < 100; i++) {
		size_t size = 16 + (seed = seed * 1103515245 + 12345) % 5000;

		blocks[i] = malloc(size);
		memset(blocks[i], i, size);
	}
	for (int i = 0; i < 100; i++) {
		sum += (unsigned char)blocks[i][0] + (unsigned int)strlen("text");
		free(blocks[i]);
	}
	return sum;
}

APART static unsigned int compute(unsigned int seed)
{
	double sum = 0;

	for (int i = 1; i < 3000; i++)
		sum += sin(seed + (double)i) * pow(i, 0.3) + sqrt(i);
	sink = sum;
	return (unsigned int)(long)sum;
}

static unsigned int (*volatile const kinds[])(
	unsigned int) = { sort_numbers, format_numbers, allocate, compute };

APART static unsigned int by_pointer(unsigned int turn)
{
	return kinds[turn % 4](turn);
}

int main(void)
{
	for (unsigned int turn = 0;; turn++)
		sink = by_pointer(turn) + fibonacci(15);
}
