/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The sampler's lookup in a table as it is in a symbol file, held against the table's rows. */
#pragma once

#include "tests/unwind/unwind_rows.h"

#include <stdbool.h>
#include <stddef.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/unwind_table.bpf.h"

static struct unwind_table searched;

static __always_inline const __u32 *unwind_page(__u32 number)
{
	return number <= searched.summary->page_count ? &searched.pages[number] : NULL;
}

static __always_inline const struct pilotlight_unwind_line *unwind_line(__u32 number)
{
	return number < searched.summary->line_count ? &searched.lines[number] : NULL;
}

static __always_inline const struct pilotlight_unwind_rule *unwind_rule(__u32 number)
{
	return number < searched.summary->rule_count ? &searched.rules[number] : NULL;
}

static __always_inline const struct pilotlight_unwind_escape *unwind_escape(__u32 number)
{
	return number < searched.summary->escape_count ? &searched.escapes[number] : NULL;
}

/* The rule of a file offset, or NULL. */
static inline const struct pilotlight_unwind_rule *sampler_lookup(
	const struct unwind_table *table, uint64_t offset)
{
	const struct pilotlight_unwind_summary *summary = table->summary;
	const struct pilotlight_walk_file file = {
		.first_page = summary->first_page,
		.page_count = summary->page_count,
		.line_count = summary->line_count,
		.rule_count = summary->rule_count,
		.escape_count = summary->escape_count,
	};

	searched = *table;
	return unwind_rule(unwind_find_number(&file, offset));
}

/* Around the start of every row: the row before ends there. Nothing is found outside the rows. */
static inline bool sampler_lookup_is_right(const struct unwind_table *table)
{
	struct unwind_row_cursor cursor = { .table = table };
	const struct pilotlight_unwind_rule *before = NULL;
	struct unwind_row row = { 0 };
	uint32_t rows = 0;

	while (unwind_row_cursor_next(&cursor, &row)) {
		rows++;
		if (row.end < row.start ||
			(row.start > 0 && sampler_lookup(table, row.start - 1) != before) ||
			(row.end > row.start &&
				(sampler_lookup(table, row.start) != row.rule ||
					sampler_lookup(table, row.end - 1) != row.rule)))
			return false;
		before = row.rule;
	}
	return rows == table->summary->row_count && !sampler_lookup(table, row.end) &&
	       !sampler_lookup(table, UINT64_MAX) && !sampler_lookup(table, 1ULL << 32 | row.start);
}
