/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/bucket_index.h"

#include <stddef.h>

enum { ENTRIES_MIN = 4, SHIFT_MAX = 31 };

static uint8_t choose_shift(uint32_t span, size_t count)
{
	uint8_t shift = 0;

	while (shift < SHIFT_MAX && (span >> shift) + 1ULL > count / ENTRIES_MIN)
		shift++;
	return shift;
}

int bucket_index_build(const struct scratch_array *entries, uint32_t span,
	struct scratch_array *index, uint8_t *ret_shift)
{
	const size_t words = entries->item_bytes / sizeof(uint32_t);
	const uint32_t *entry = entries->items;
	uint8_t shift = choose_shift(span, entries->count);
	size_t stretches = (size_t)(span >> shift) + 1;
	uint32_t *starts;
	size_t next = 0;
	int r;

	if (entries->count == 0) {
		*ret_shift = 0;
		return 0;
	}
	r = scratch_array_reserve(index, stretches + 1);
	if (r < 0)
		return r;
	starts = index->items;
	for (size_t i = 0; i < entries->count; i++, entry += words)
		for (; next <= *entry >> shift; next++)
			starts[next] = (uint32_t)i;
	for (; next <= stretches; next++)
		starts[next] = (uint32_t)entries->count;
	index->count = stretches + 1;
	*ret_shift = shift;
	return 0;
}
