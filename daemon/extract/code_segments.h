/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a binary's code is, and so which vaddrs it can have. A value object.
 */
#pragma once

#include "extract/symbol_builder.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_segments {
	struct pilotlight_symbol_segment segments[SYMBOL_BUILDER_SEGMENTS_MAX];
	size_t count;
	uint64_t base; /* the first byte of code */
	uint32_t span; /* bytes from there to the end of the last segment */
};

/* Sorts, and leaves out what is empty in memory. -EFBIG: they span 4 GiB or more, or reach the end
 * of the addresses; -ENODATA: there are none. */
int code_segments_init(struct code_segments *segments, const struct symbol_builder_code *code);

/* The end of the segment that the vaddr is in; 0: it is in none. */
uint64_t code_segments_end(const struct code_segments *segments, uint64_t vaddr);

/*
 * Is it what linkers leave in the place of code that they have discarded, and no loss? 0, 1, -1 or
 * -2 of either width, and what debug information counts from there; from 0 as far as the base,
 * since the code may begin with the second page.
 */
bool code_segments_is_tombstone(const struct code_segments *segments, uint64_t vaddr);

/* Do both ends lie in one segment? False for empty ranges. */
bool code_segments_hold(const struct code_segments *segments, uint64_t start, uint64_t end);
