/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds what a user may have meant by a mistyped word. */
#pragma once

#include <stddef.h>

/* "; did you mean 'record'?" and a NUL. */
enum { NEAR_WORD_BYTES = 96 };

struct near_word {
	const char *word;  /* as typed; borrowed */
	const char *found; /* the nearest so far, borrowed; NULL: none is near */
	size_t found_size;
	unsigned distance; /* of it */
};

/* Compares with one more word, of `size` bytes. */
void near_word_try(struct near_word *near, const char *candidate, size_t size);

/* Writes a sentence's end, or "" if no word is near. `prefix` comes before the word: "--". */
const char *near_word_hint(
	const struct near_word *near, const char *prefix, char text[NEAR_WORD_BYTES]);
