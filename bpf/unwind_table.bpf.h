/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Looks up the rule for a file offset in an unwind table (pilotlight/unwind.h): the page gives a
 * range of lines, a binary search finds the line, and counting its deltas finds the row. That
 * touches about two cold cache lines per frame. It also compiles for the host, where it is tested.
 *
 * The includer defines where the shared arrays are: unwind_page(), unwind_line(), unwind_rule() and
 * unwind_escape() return the entry of that number, or NULL beyond the end.
 */
#pragma once

#include "branchless.bpf.h"
#include "pilotlight/walk.h"

static __always_inline const __u32 *unwind_page(__u32 number);
static __always_inline const struct pilotlight_unwind_line *unwind_line(__u32 number);
static __always_inline const struct pilotlight_unwind_rule *unwind_rule(__u32 number);
static __always_inline const struct pilotlight_unwind_escape *unwind_escape(__u32 number);

enum {
	/* A page has at most one row per byte, in lines of 20 rows. */
	UNWIND_LINE_STEPS = 8,
	UNWIND_ESCAPE_STEPS = 21,
};
_Static_assert((1 << PILOTLIGHT_UNWIND_PAGE_SHIFT) / PILOTLIGHT_UNWIND_LINE_ROWS + 2 <=
		       1 << UNWIND_LINE_STEPS,
	"the search of a page's lines ends");
_Static_assert(
	PILOTLIGHT_UNWIND_ESCAPES_MAX < 1 << UNWIND_ESCAPE_STEPS, "the search of escapes ends");

/* In place of a rule's number: there is no rule. It is beyond the end of any array. */
#define UNWIND_NO_RULE (~0U)

/* The number of the rule of a row whose id is the escape. UNWIND_NO_RULE if the table is
 * malformed. */
static __always_inline __u32 unwind_escaped_number(
	const struct pilotlight_walk_file *file, __u32 row)
{
	const struct pilotlight_unwind_escape *escape;
	__u32 first = file->escapes_at, count = file->escape_count;

	if (count == 0)
		return UNWIND_NO_RULE;
	/* Invariant: the last escape that is not behind the row is one of `count` from `first`. */
	for (int i = 0; i < UNWIND_ESCAPE_STEPS && count > 1; i++) {
		__u32 half = count / 2;

		escape = unwind_escape(first + half);
		if (!escape)
			return UNWIND_NO_RULE;
		first += half * is_at_most(escape->row, row);
		count -= half;
	}
	escape = unwind_escape(first);
	if (!escape || escape->row != row || escape->rule >= file->rule_count)
		return UNWIND_NO_RULE;
	return file->rules_at + escape->rule;
}

/* The number of the rule for the code at a file offset. UNWIND_NO_RULE if no function is known
 * there. */
static __always_inline __u32 unwind_find_number(
	const struct pilotlight_walk_file *file, __u64 offset)
{
	__u64 page = (offset >> PILOTLIGHT_UNWIND_PAGE_SHIFT) - file->first_page;
	const struct pilotlight_unwind_line *line;
	const __u32 *first, *last;
	__u32 low, count, delta, row = 0;

	if (page >= file->page_count)
		return UNWIND_NO_RULE;
	first = unwind_page(file->pages_at + (__u32)page);
	last = unwind_page(file->pages_at + (__u32)page + 1);
	if (!first || !last)
		return UNWIND_NO_RULE;
	low = *first;
	if (*last < low)
		return UNWIND_NO_RULE;
	count = *last - low + 1;
	for (int i = 0; i < UNWIND_LINE_STEPS && count > 1; i++) {
		__u32 half = count / 2;

		line = unwind_line(file->lines_at + low + half);
		if (!line)
			return UNWIND_NO_RULE;
		low += half * is_at_most(line->base, offset);
		count -= half;
	}
	line = unwind_line(file->lines_at + low);
	if (!line || line->base > offset)
		return UNWIND_NO_RULE;

	delta = (__u32)offset - line->base;
	if (delta > PILOTLIGHT_UNWIND_DELTA_MAX)
		delta = PILOTLIGHT_UNWIND_DELTA_MAX;
	for (int i = 1; i < PILOTLIGHT_UNWIND_LINE_ROWS; i++)
		row += is_at_most(line->deltas[i], delta);
	if (row >= PILOTLIGHT_UNWIND_LINE_ROWS)
		return UNWIND_NO_RULE;
	if (line->rules[row] == PILOTLIGHT_UNWIND_ESCAPE)
		return unwind_escaped_number(file, low * PILOTLIGHT_UNWIND_LINE_ROWS + row);
	return file->rules_at + line->rules[row];
}
