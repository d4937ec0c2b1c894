/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growing arrays with a bound. The array stays an ordinary pointer with a count and a capacity that
 * its owner keeps as fields; growth is geometric, so appending is O(1) on average.
 */
#pragma once

#include <stddef.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Makes room for `count` elements of `element_bytes` each. `limit` is the greatest count that the
 * owner's budget allows (I4).
 * Returns 0, -E2BIG when count exceeds limit, -ENOMEM; the array is untouched on failure.
 */
int array_reserve(
	void *pointer_to_array, size_t *capacity, size_t count, size_t element_bytes, size_t limit);

#define ARRAY_RESERVE(array, capacity, count, limit) \
	array_reserve(&(array), (capacity), (count), sizeof(*(array)), (limit))
