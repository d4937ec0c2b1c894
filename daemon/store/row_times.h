/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The times of samples, to a slice: those of a row of a window, or of a thread. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct row_time {
	uint64_t count : 48, slice : 16;
};

/* The counts with a time of a thread in a window: sums of as many windows as are merged fit. */
#define TIMES_COUNT_MAX (1ULL << 40)

enum {
	TIMES_SLICE_MAX = 1 << 16, /* eleven minutes of slices of 10 ms */
	/* Three quarters of it have room for sure: a minute has 6001 slices of 10 ms. */
	ROW_TIMES_MAX = 1 << 13,
};

/* The owner frees `items`, and may pass it for the next row. */
struct row_times {
	struct row_time *items;
	size_t count, capacity;
};

/* Adds counts to their slice: no more memory is taken than slices need. Returns 0, -ENOMEM or
 * -E2BIG. */
int row_times_add(struct row_times *times, uint32_t slice, uint64_t count);
/* Where slices of a window are in a sum of windows: so many later, and of these each is `per`. */
struct slice_shift {
	uint64_t later, per;
};
/* The same of a slice that is shifted; also -E2BIG beyond TIMES_SLICE_MAX. */
int row_times_add_shifted(
	struct row_times *times, uint32_t slice, uint64_t count, const struct slice_shift *shift);

/* Sorts them, and joins those of one slice. */
void row_times_join(struct row_times *times);
