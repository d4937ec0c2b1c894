/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How the arrays of a code index grow: by a quarter, since they share a small budget (I4). */
#pragma once

#include <stddef.h>

enum { CODE_GROWTH_MIN = 16 };

/* The capacity that an array of `capacity` elements is to have to hold `count`. */
static inline size_t code_growth(size_t capacity, size_t count)
{
	size_t grown = capacity + capacity / 4 + CODE_GROWTH_MIN;

	if (count <= capacity)
		return capacity;
	return grown > count ? grown : count;
}
