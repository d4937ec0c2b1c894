/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/sample_sum.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CAPACITY_MIN = 1024 };

void sample_sum_done(struct sample_sum *sum)
{
	free(sum->slots);
	*sum = (struct sample_sum){ 0 };
}

void sample_sum_clear(struct sample_sum *sum)
{
	if (sum->capacity > 0)
		memset(sum->slots, 0, sum->capacity * sizeof(*sum->slots));
	sum->count = 0;
}

static struct sample_sum_slot *find(const struct sample_sum *sum, uint64_t key)
{
	size_t i = sample_sum_place(sum, key);

	while (sum->slots[i].key != 0 && sum->slots[i].key != key)
		i = (i + 1) & (sum->capacity - 1);
	return &sum->slots[i];
}

static int grow(struct sample_sum *sum)
{
	struct sample_sum grown = {
		.capacity = sum->capacity ? sum->capacity * 2 : CAPACITY_MIN,
		.count = sum->count,
	};

	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return -ENOMEM;
	for (size_t i = 0; i < sum->capacity; i++)
		if (sum->slots[i].key != 0)
			*find(&grown, sum->slots[i].key) = sum->slots[i];
	free(sum->slots);
	*sum = grown;
	return 0;
}

int sample_sum_add(
	struct sample_sum *sum, uint32_t thread, uint32_t node, uint64_t value, size_t limit)
{
	uint64_t key = ((uint64_t)thread + 1) << 32 | node;
	struct sample_sum_slot *slot;
	int r;

	if (sum->count >= sum->capacity / 2) {
		r = grow(sum);
		if (r < 0)
			return r;
	}
	slot = find(sum, key);
	if (slot->key == 0) {
		if (sum->count >= limit)
			return -E2BIG;
		slot->key = key;
		sum->count++;
	}
	if (__builtin_add_overflow(slot->value, value, &slot->value))
		slot->value = UINT64_MAX;
	return 0;
}
