/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/scratch_sort.h"

#include "base/cleanup.h"

#include <stdbool.h>
#include <string.h>

enum { DIGIT_BITS = 11, DIGITS = 1 << DIGIT_BITS };

static const void *get_item(const struct scratch_array *array, size_t index)
{
	return (const uint8_t *)array->items + index * array->item_bytes;
}

/* One digit of one key, from the items of `from` to those of `to`. */
static void scatter(const struct scratch_array *from, struct scratch_array *to,
	scratch_sort_key key, unsigned int shift)
{
	size_t positions[DIGITS] = { 0 };
	size_t position = 0;

	for (size_t i = 0; i < from->count; i++)
		positions[(key(get_item(from, i)) >> shift) % DIGITS]++;
	for (size_t digit = 0; digit < DIGITS; digit++) {
		size_t count = positions[digit];

		positions[digit] = position;
		position += count;
	}
	for (size_t i = 0; i < from->count; i++) {
		const void *item = get_item(from, i);
		size_t digit = (key(item) >> shift) % DIGITS;

		memcpy((uint8_t *)to->items + positions[digit]++ * to->item_bytes, item,
			to->item_bytes);
	}
	to->count = from->count;
}

/* Which bits differ between any two items, and are they in order already? */
static uint64_t varying_bits(
	const struct scratch_array *array, scratch_sort_key key, bool *ret_is_sorted)
{
	uint64_t first = key(get_item(array, 0)), last = first, bits = 0;

	*ret_is_sorted = true;
	for (size_t i = 1; i < array->count; i++) {
		uint64_t value = key(get_item(array, i));

		*ret_is_sorted &= last <= value;
		bits |= value ^ first;
		last = value;
	}
	return bits;
}

static void exchange(struct scratch_array *a, struct scratch_array *b)
{
	struct scratch_array other = *a;

	*a = *b;
	*b = other;
}

int scratch_sort(struct scratch_array *array, const scratch_sort_key *keys, size_t key_count)
{
	_cleanup_(scratch_array_done) struct scratch_array other = { 0 };
	int r;

	if (array->count < 2)
		return 0;
	r = scratch_array_init(&other, array->scratch, array->item_bytes, array->items_max);
	if (r == 0)
		r = scratch_array_reserve(&other, array->count);
	if (r < 0)
		return r;
	while (key_count-- > 0) {
		bool is_sorted;
		uint64_t bits = varying_bits(array, keys[key_count], &is_sorted);

		for (unsigned int shift = 0; shift < 64 && !is_sorted; shift += DIGIT_BITS) {
			if ((bits >> shift) % DIGITS == 0)
				continue;
			scatter(array, &other, keys[key_count], shift);
			exchange(array, &other);
		}
	}
	return 0;
}
