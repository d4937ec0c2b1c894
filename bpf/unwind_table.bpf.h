/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looking up a rule in an unwind table (pilotlight/unwind.h). Compiles for the host too, where it
 * is tested. Whoever includes this says first where the shared arrays are: unwind_page(),
 * unwind_line(), unwind_rule() and unwind_escape() return the entry of that number, or NULL beyond
 * the end.
 */
#pragma once

#include "pilotlight/walk.h"

static __always_inline const __u32 *unwind_page(__u32 number);
static __always_inline const struct pilotlight_unwind_line *unwind_line(__u32 number);
static __always_inline const struct pilotlight_unwind_rule *unwind_rule(__u32 number);
static __always_inline const struct pilotlight_unwind_escape *unwind_escape(__u32 number);

enum {
	/* A page has a row for each byte at most, in lines of 20. */
	UNWIND_LINE_STEPS = 8,
	UNWIND_ESCAPE_STEPS = 21,
};
_Static_assert((1 << PILOTLIGHT_UNWIND_PAGE_SHIFT) / PILOTLIGHT_UNWIND_LINE_ROWS + 2 <=
		       1 << UNWIND_LINE_STEPS,
	"the search of a page's lines ends");
_Static_assert(
	PILOTLIGHT_UNWIND_ESCAPES_MAX < 1 << UNWIND_ESCAPE_STEPS, "the search of escapes ends");

/* The rule of a row whose id is the escape; NULL: the table is not what it should be. */
static __always_inline const struct pilotlight_unwind_rule *unwind_escaped_rule(
	const struct pilotlight_walk_file *file, __u32 row)
{
	__u32 low = 0, high = file->escape_count;

	for (int i = 0; i < UNWIND_ESCAPE_STEPS && low < high; i++) {
		__u32 middle = low + (high - low) / 2;
		const struct pilotlight_unwind_escape *escape =
			unwind_escape(file->escapes_at + middle);

		if (!escape)
			return 0;
		if (escape->row == row)
			return escape->rule < file->rule_count
				       ? unwind_rule(file->rules_at + escape->rule)
				       : 0;
		if (escape->row < row)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

/*
 * a <= b, for numbers below 2^31, without a branch, which would be mispredicted, and which the
 * verifier would follow both ways each time. The compiler must not see what it is.
 */
static __always_inline __u32 is_at_most(__u32 a, __u32 b)
{
	__u32 difference = a - b - 1;

	__asm__ volatile("" : "+r"(difference));
	return difference >> 31;
}

/* The rule for the code at a file offset; NULL: no function is known there. */
static __always_inline const struct pilotlight_unwind_rule *unwind_find_rule(
	const struct pilotlight_walk_file *file, __u64 offset)
{
	__u64 page = (offset >> PILOTLIGHT_UNWIND_PAGE_SHIFT) - file->first_page;
	const struct pilotlight_unwind_line *line;
	const __u32 *first, *last;
	__u32 low, high, delta, row = 0;

	if (page >= file->page_count)
		return 0;
	first = unwind_page(file->pages_at + (__u32)page);
	last = unwind_page(file->pages_at + (__u32)page + 1);
	if (!first || !last)
		return 0;
	low = *first;
	high = *last;
	for (int i = 0; i < UNWIND_LINE_STEPS && low < high; i++) {
		__u32 middle = low + (high - low + 1) / 2;

		line = unwind_line(file->lines_at + middle);
		if (!line)
			return 0;
		if (line->base <= offset)
			low = middle;
		else
			high = middle - 1;
	}
	line = unwind_line(file->lines_at + low);
	if (!line || line->base > offset)
		return 0;

	delta = (__u32)offset - line->base;
	if (delta > PILOTLIGHT_UNWIND_DELTA_MAX)
		delta = PILOTLIGHT_UNWIND_DELTA_MAX;
	for (int i = 1; i < PILOTLIGHT_UNWIND_LINE_ROWS; i++)
		row += is_at_most(line->deltas[i], delta);
	if (row >= PILOTLIGHT_UNWIND_LINE_ROWS)
		return 0;
	if (line->rules[row] == PILOTLIGHT_UNWIND_ESCAPE)
		return unwind_escaped_rule(file, low * PILOTLIGHT_UNWIND_LINE_ROWS + row);
	return unwind_rule(file->rules_at + line->rules[row]);
}
