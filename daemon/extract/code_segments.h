/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The segments of a binary that are code, and so its valid vaddrs. A value object. */
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

/*
 * Sorts the segments and drops empty ones. Returns 0; -EFBIG they span 4 GiB or more, or reach the
 * end of the address space; -ENODATA there are none.
 */
int code_segments_init(struct code_segments *segments, const struct symbol_builder_code *code);

/* Returns the end of the segment that contains the vaddr; 0: none does. */
uint64_t code_segments_end(const struct code_segments *segments, uint64_t vaddr);

/*
 * Does the vaddr stand for discarded code, so that it is no loss? Linkers write 0, 1, -1 or -2 of
 * either width there, and debug information adds offsets to it. After 0 that is anything below the
 * base, because code may begin at the second page.
 */
bool code_segments_is_tombstone(const struct code_segments *segments, uint64_t vaddr);

/* Do both ends lie in one segment? False for empty ranges. */
bool code_segments_hold(const struct code_segments *segments, uint64_t start, uint64_t end);
