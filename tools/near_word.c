/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/near_word.h"

#include <stdio.h>
#include <string.h>

enum {
	WORD_BYTES_MAX = 31, /* longer ones are near nothing */
	DISTANCE_MAX = 2,
	BYTES_PER_MISTAKE = 3, /* a mistake in two letters is another word */
};

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The number of letters that are wrong, missing, too many, or swapped with the next. */
static unsigned distance(const char *a, size_t a_size, const char *b, size_t b_size)
{
	unsigned rows[3][WORD_BYTES_MAX + 1];
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];

	for (size_t i = 0; i <= b_size; i++)
		last[i] = (unsigned)i;
	for (size_t i = 1; i <= a_size; i++) {
		unsigned *oldest = before;

		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_size; j++) {
			row[j] = least(least(last[j], row[j - 1]) + 1,
				last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		before = last;
		last = row;
		row = oldest;
	}
	return last[b_size];
}

void near_word_try(struct near_word *near, const char *candidate, size_t size)
{
	size_t typed = strlen(near->word);
	unsigned d;

	if (typed > WORD_BYTES_MAX || size > WORD_BYTES_MAX)
		return;
	d = distance(near->word, typed, candidate, size);
	if (d > DISTANCE_MAX || d * BYTES_PER_MISTAKE > size ||
		(near->found && near->distance <= d))
		return;
	near->found = candidate;
	near->found_size = size;
	near->distance = d;
}

const char *near_word_hint(
	const struct near_word *near, const char *prefix, char text[NEAR_WORD_BYTES])
{
	text[0] = '\0';
	if (near->found)
		(void)snprintf(text, NEAR_WORD_BYTES, "; did you mean '%s%.*s'?", prefix,
			(int)near->found_size, near->found);
	return text;
}
