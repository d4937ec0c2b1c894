/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_packing.h"

#include "base/cleanup.h"
#include "base/scratch.h"

#include <errno.h>
#include <stdlib.h>

struct rule_use {
	uint32_t rule;
	uint32_t rows;
};

void unwind_packing_done(struct unwind_packing *packing)
{
	scratch_array_done(&packing->pages);
	scratch_array_done(&packing->lines);
	scratch_array_done(&packing->escapes);
	free(packing->rules);
	*packing = (struct unwind_packing){ 0 };
}

/* Sorts by descending use; of equal use, by the old id. */
static uint64_t key_of(const void *item)
{
	return UINT32_MAX - ((const struct rule_use *)item)->rows;
}

static int sort_uses(const struct unwind_rows *rows, struct scratch_array *uses)
{
	static const scratch_sort_key keys[] = { key_of };
	const struct unwind_rows_item *items = rows->items.items;
	struct rule_use *use;
	int r;

	r = scratch_array_reserve(uses, rows->rules.count);
	if (r < 0)
		return r;
	use = uses->items;
	uses->count = rows->rules.count;
	for (size_t i = 0; i < uses->count; i++)
		use[i].rule = (uint32_t)i;
	for (size_t i = 0; i < rows->items.count; i++)
		use[items[i].rule].rows++;
	return scratch_sort(uses, keys, 1);
}

/* Sorts the rules that are used; ret_ids maps old ids to new ones. */
static int order_rules(struct unwind_packing *packing, const struct unwind_rows *rows,
	struct scratch *scratch, uint32_t **ret_ids)
{
	_cleanup_(scratch_array_done) struct scratch_array uses = { 0 };
	_cleanup_free_ uint32_t *ids = calloc(rows->rules.count, sizeof(*ids));
	const struct rule_use *use;
	uint32_t used = 0;
	int r;

	packing->rules = calloc(rows->rules.count, sizeof(*packing->rules));
	if (!ids || !packing->rules)
		return -ENOMEM;
	r = scratch_array_init(
		&uses, scratch, sizeof(struct rule_use), PILOTLIGHT_UNWIND_RULES_MAX);
	if (r == 0)
		r = sort_uses(rows, &uses);
	if (r < 0)
		return r;
	use = uses.items;
	for (; used < uses.count && use[used].rows > 0; used++) {
		packing->rules[used] = rows->rules.rules[use[used].rule];
		ids[use[used].rule] = used;
	}
	packing->summary.rule_count = used;
	*ret_ids = TAKE_PTR(ids);
	return 0;
}

static int add_escape(struct unwind_packing *packing, uint32_t row, uint32_t rule)
{
	const struct pilotlight_unwind_escape escape = { .row = row, .rule = rule };

	return scratch_array_append(&packing->escapes, &escape, sizeof(escape));
}

/* Packs as many of `count` rows as fit in a line. Returns their number, or -errno. */
static int fill_line(struct unwind_packing *packing, const struct unwind_rows_item *items,
	size_t count, const uint32_t *ids)
{
	struct pilotlight_unwind_line *line;
	int r, used = 0;

	r = scratch_array_grow(&packing->lines);
	if (r < 0)
		return r;
	line = (struct pilotlight_unwind_line *)packing->lines.items + packing->lines.count;
	*line = (struct pilotlight_unwind_line){ .base = items[0].offset };
	for (size_t i = 0; i < PILOTLIGHT_UNWIND_LINE_ROWS; i++)
		line->deltas[i] = PILOTLIGHT_UNWIND_DELTA_UNUSED;
	for (; used < PILOTLIGHT_UNWIND_LINE_ROWS && (size_t)used < count; used++) {
		uint32_t delta = items[used].offset - line->base, rule = ids[items[used].rule];

		if (delta > PILOTLIGHT_UNWIND_DELTA_MAX)
			break;
		line->deltas[used] = (uint16_t)delta;
		line->rules[used] = PILOTLIGHT_UNWIND_ESCAPE;
		if (rule < PILOTLIGHT_UNWIND_ESCAPE)
			line->rules[used] = (uint8_t)rule;
		else
			r = add_escape(packing,
				(uint32_t)packing->lines.count * PILOTLIGHT_UNWIND_LINE_ROWS +
					(uint32_t)used,
				rule);
		if (r < 0)
			return r;
		packing->summary.unsupported_rows +=
			packing->rules[rule].kind == PILOTLIGHT_UNWIND_UNSUPPORTED;
		packing->summary.inferred_rows +=
			packing->rules[rule].kind == PILOTLIGHT_UNWIND_INFERRED;
	}
	packing->lines.count++;
	return used;
}

static int fill_lines(
	struct unwind_packing *packing, const struct unwind_rows *rows, const uint32_t *ids)
{
	const struct unwind_rows_item *items = rows->items.items;
	size_t count = rows->items.count;

	for (size_t i = 0; i < count;) {
		int r = fill_line(packing, items + i, count - i, ids);

		if (r < 0)
			return r;
		i += (size_t)r;
	}
	packing->summary.row_count = (uint32_t)count;
	packing->summary.line_count = (uint32_t)packing->lines.count;
	packing->summary.escape_count = (uint32_t)packing->escapes.count;
	return 0;
}

static int fill_pages(struct unwind_packing *packing, uint32_t last_offset)
{
	const struct pilotlight_unwind_line *lines = packing->lines.items;
	struct pilotlight_unwind_summary *summary = &packing->summary;
	uint32_t line = 0;
	uint32_t *pages;
	int r;

	summary->first_page = lines[0].base >> PILOTLIGHT_UNWIND_PAGE_SHIFT;
	summary->page_count =
		(last_offset >> PILOTLIGHT_UNWIND_PAGE_SHIFT) - summary->first_page + 1;
	r = scratch_array_reserve(&packing->pages, (size_t)summary->page_count + 1);
	if (r < 0)
		return r;
	pages = packing->pages.items;
	for (uint32_t i = 0; i <= summary->page_count; i++) {
		uint64_t start = ((uint64_t)summary->first_page + i)
				 << PILOTLIGHT_UNWIND_PAGE_SHIFT;

		while (line + 1 < packing->lines.count && lines[line + 1].base <= start)
			line++;
		pages[i] = line;
	}
	packing->pages.count = (size_t)summary->page_count + 1;
	return 0;
}

int unwind_packing_build(
	struct unwind_packing *packing, const struct unwind_rows *rows, struct scratch *scratch)
{
	const struct unwind_rows_item *items = rows->items.items;
	_cleanup_free_ uint32_t *ids = NULL;
	int r;

	if (rows->items.count == 0)
		return 0;
	r = order_rules(packing, rows, scratch, &ids);
	if (r == 0)
		r = scratch_array_init(&packing->pages, scratch, sizeof(uint32_t),
			PILOTLIGHT_UNWIND_PAGES_MAX + 1);
	if (r == 0)
		r = scratch_array_init(&packing->lines, scratch,
			sizeof(struct pilotlight_unwind_line), PILOTLIGHT_UNWIND_LINES_MAX);
	if (r == 0)
		r = scratch_array_init(&packing->escapes, scratch,
			sizeof(struct pilotlight_unwind_escape), PILOTLIGHT_UNWIND_ESCAPES_MAX);
	if (r == 0)
		r = fill_lines(packing, rows, ids);
	if (r == 0)
		r = fill_pages(packing, items[rows->items.count - 1].offset);
	return r;
}
