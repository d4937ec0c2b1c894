/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/waker_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PLACES = 1024,
	/* As many as the sampler sends (bpf/kept_stack.bpf.h). */
	USER_FRAMES_MAX = 127,
	KERNEL_FRAMES_MAX = 63,
};

struct waker {
	struct raw_sample sample; /* address 0: the place is free */
	char comm[PILOTLIGHT_COMM_BYTES];
	uint64_t user_frames[USER_FRAMES_MAX];
	uint64_t kernel_ips[KERNEL_FRAMES_MAX];
};

struct waker_table {
	struct waker places[PLACES];
};

int waker_table_new(struct waker_table **ret_table)
{
	struct waker_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	*ret_table = table;
	return 0;
}

void waker_table_free(struct waker_table *table)
{
	free(table);
}

static struct waker *place_of(struct waker_table *table, uint64_t address)
{
	return &table->places[(address * 0x9e3779b97f4a7c15ULL >> 32) % PLACES];
}

static size_t copy(uint64_t *to, const uint64_t *from, size_t count, size_t max)
{
	if (count > max)
		count = max;
	if (count > 0)
		memcpy(to, from, count * sizeof(*to));
	return count;
}

void waker_table_add(struct waker_table *table, const struct raw_sample *waker)
{
	struct waker *place = place_of(table, waker->address);

	place->sample = *waker;
	(void)strncpy(place->comm, waker->comm, sizeof(place->comm) - 1);
	place->sample.comm = place->comm;
	place->sample.walk_count =
		copy(place->user_frames, waker->walk_frames, waker->walk_count, USER_FRAMES_MAX);
	place->sample.walk_frames = place->user_frames;
	place->sample.kernel_count =
		copy(place->kernel_ips, waker->kernel_ips, waker->kernel_count, KERNEL_FRAMES_MAX);
	place->sample.kernel_ips = place->kernel_ips;
	/* It is no sample of its own. */
	place->sample.count = 0;
}

const struct raw_sample *waker_table_take(
	struct waker_table *table, const struct raw_sample *sample)
{
	struct waker *place = place_of(table, sample->address);

	if (sample->address == 0 || place->sample.address != sample->address)
		return NULL;
	place->sample.address = 0;
	return &place->sample;
}
