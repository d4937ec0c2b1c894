/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/dwarf_functions.h"

#include "base/array.h"
#include "dwarf/dwarf_range_list.h"
#include "symbol/symbol_file.h"

#include <errno.h>
#include <stdlib.h>

enum {
	DEPTH_MAX = 1024, /* levels of DIEs; deeper ones are skipped */
	NESTED_MAX = 1 << 16,
	/* How often a unit may be read again for nested functions. */
	UNIT_PASSES_MAX = 8,
};

/* The context of the DIEs of a depth. */
struct level {
	uint32_t frame; /* the innermost, if a function is open */
	bool is_in_function;
};

struct walk {
	struct dwarf_functions *functions;
	const struct dwarf_unit *unit;
	struct line_table *lines;
	bool has_code_in_types;
	bool is_function_open; /* in the builder */
	bool is_damaged;       /* something was skipped */
	uint64_t bytes_left;   /* remaining to be read */
	size_t depth;
	size_t function_depth; /* of the open function's DIE */
	size_t skipped_depth;  /* DIEs of this depth and deeper are skipped */
	struct level levels[DEPTH_MAX];
};

void dwarf_functions_init(struct dwarf_functions *functions, struct symbol_builder *builder,
	struct dwarf_names *names, uint64_t ranges_max)
{
	*functions = (struct dwarf_functions){
		.builder = builder,
		.names = names,
		.ranges_left = ranges_max,
	};
}

void dwarf_functions_done(struct dwarf_functions *functions)
{
	free(functions->nested);
	functions->nested = NULL;
}

static bool has_code(const struct dwarf_die *die)
{
	return dwarf_die_has(die, DWARF_RANGES) ||
	       (dwarf_die_has(die, DWARF_LOW_PC) && dwarf_die_has(die, DWARF_HIGH_PC));
}

static int add_range_list(struct walk *walk, const struct dwarf_die *die, uint32_t frame)
{
	struct dwarf_functions *functions = walk->functions;
	struct dwarf_range_list list;
	uint64_t start, end;
	int r = 1, added;

	if (dwarf_range_list_open(&list, walk->unit, die) < 0) {
		walk->is_damaged = true;
		return 0;
	}
	while (functions->ranges_left > 0 && (r = dwarf_range_list_next(&list, &start, &end)) > 0) {
		functions->ranges_left--;
		added = symbol_builder_add_range(functions->builder, frame, start, end);
		if (added < 0)
			return added;
	}
	if (r != 0)
		walk->is_damaged = true;
	return 0;
}

static int add_ranges(struct walk *walk, const struct dwarf_die *die, uint32_t frame)
{
	struct symbol_builder *builder = walk->functions->builder;
	uint64_t start, end, size;

	/* With DW_AT_ranges, DW_AT_low_pc is the base of its addresses. */
	if (dwarf_die_has(die, DWARF_RANGES))
		return add_range_list(walk, die, frame);
	if (dwarf_unit_address(walk->unit, die, DWARF_LOW_PC, &start)) {
		if (dwarf_unit_address(walk->unit, die, DWARF_HIGH_PC, &end))
			return symbol_builder_add_range(builder, frame, start, end);
		if (dwarf_unit_constant(walk->unit, die, DWARF_HIGH_PC, &size) &&
			size <= UINT64_MAX - start)
			return symbol_builder_add_range(builder, frame, start, start + size);
	}
	walk->is_damaged = true;
	return 0;
}

static uint32_t call_value(
	const struct walk *walk, const struct dwarf_die *die, enum dwarf_attribute attribute)
{
	uint64_t value;

	if (!dwarf_die_has(die, attribute) ||
		!dwarf_unit_constant(walk->unit, die, attribute, &value) || value > UINT32_MAX)
		return 0;
	return (uint32_t)value;
}

static int find_call(struct walk *walk, const struct dwarf_die *die, uint64_t *ret_place)
{
	uint32_t file = 0;
	int r;

	if (dwarf_die_has(die, DWARF_CALL_FILE)) {
		r = line_table_file(walk->lines, call_value(walk, die, DWARF_CALL_FILE), &file);
		if (r < 0)
			return r;
	}
	*ret_place = symbol_place_pack(file, call_value(walk, die, DWARF_CALL_LINE),
		call_value(walk, die, DWARF_CALL_COLUMN));
	return 0;
}

static int close_function(struct walk *walk)
{
	if (!walk->is_function_open)
		return 0;
	walk->is_function_open = false;
	return symbol_builder_end_function(walk->functions->builder);
}

static int open_function(struct walk *walk, const struct dwarf_die *die, struct level *level)
{
	uint32_t name;
	int r;

	r = dwarf_names_find(walk->functions->names, walk->unit, die, &name);
	if (r == 0)
		r = symbol_builder_begin_function(walk->functions->builder, name, &level->frame);
	if (r < 0)
		return r;
	walk->is_function_open = true;
	walk->function_depth = walk->depth;
	return add_ranges(walk, die, level->frame);
}

static int add_inlined(struct walk *walk, const struct dwarf_die *die, struct level *level)
{
	uint64_t call;
	uint32_t name;
	int r;

	r = dwarf_names_find(walk->functions->names, walk->unit, die, &name);
	if (r == 0)
		r = find_call(walk, die, &call);
	if (r == 0)
		r = symbol_builder_add_inlined(
			walk->functions->builder, level->frame, name, call, &level->frame);
	return r < 0 ? r : add_ranges(walk, die, level->frame);
}

/* Notes a nested function for later, because the builder takes one at a time. */
static int postpone(struct walk *walk, const struct dwarf_die *die)
{
	struct dwarf_functions *functions = walk->functions;
	int r;

	r = ARRAY_RESERVE(functions->nested, &functions->nested_capacity,
		functions->nested_count + 1, NESTED_MAX);
	if (r == -E2BIG) {
		walk->is_damaged = true;
		return 0;
	}
	if (r < 0)
		return r;
	functions->nested[functions->nested_count++] = die->start;
	return 0;
}

/* Skips everything below the DIE, at once if it names its sibling. */
static void skip_children(struct walk *walk, struct dwarf_die *die)
{
	const uint8_t *sibling;

	walk->skipped_depth = walk->depth + 1;
	if (!die->abbreviation->has_children || !dwarf_die_has(die, DWARF_SIBLING))
		return;
	/* The byte before a sibling ends the list of children. A sibling elsewhere is ignored. */
	if (dwarf_unit_reference(walk->unit, die, DWARF_SIBLING, &sibling) && sibling > die->next &&
		sibling[-1] == 0)
		die->next = sibling - 1;
}

static int visit(struct walk *walk, struct dwarf_die *die, struct level *level)
{
	int r;

	switch (die->abbreviation->kind) {
	case DWARF_KIND_CODELESS:
		skip_children(walk, die);
		return 0;
	case DWARF_KIND_TYPE:
		/* Types within functions contain code: local classes and closures. */
		if (!walk->has_code_in_types && !level->is_in_function)
			skip_children(walk, die);
		return 0;
	case DWARF_KIND_FUNCTION:
		level->is_in_function = true;
		if (!has_code(die))
			return 0;
		if (!walk->is_function_open)
			return open_function(walk, die, level);
		r = postpone(walk, die);
		skip_children(walk, die);
		return r;
	case DWARF_KIND_INLINED:
		return walk->is_function_open && has_code(die) ? add_inlined(walk, die, level) : 0;
	default:
		return 0;
	}
}

static void descend(struct walk *walk, const struct level *level)
{
	walk->depth++;
	if (walk->depth >= walk->skipped_depth)
		return;
	if (walk->depth == DEPTH_MAX) {
		walk->is_damaged = true;
		walk->skipped_depth = walk->depth;
		return;
	}
	walk->levels[walk->depth] = *level;
}

/* Reads one DIE, or the end of a list of siblings. */
static int step(struct walk *walk, const uint8_t **position)
{
	struct level level = { 0 };
	struct dwarf_die die;
	int r;

	if (walk->is_function_open && walk->depth <= walk->function_depth) {
		r = close_function(walk);
		if (r < 0)
			return r;
	}
	r = dwarf_unit_scan_die(walk->unit, *position, &die);
	if (r < 0)
		return r;
	if ((uint64_t)(die.next - *position) > walk->bytes_left)
		return -EBADMSG;
	walk->bytes_left -= (uint64_t)(die.next - *position);

	if (!die.abbreviation) {
		if (walk->depth > 0)
			walk->depth--;
		*position = die.next;
		return 0;
	}
	if (walk->depth < walk->skipped_depth) {
		walk->skipped_depth = SIZE_MAX;
		level = walk->levels[walk->depth];
		r = visit(walk, &die, &level);
		if (r < 0)
			return r;
	}
	if (die.abbreviation->has_children)
		descend(walk, &level);
	*position = die.next;
	return 0;
}

/* Reads the DIE at `position` and everything below it, as far as it is valid. */
static int walk_tree(struct walk *walk, const uint8_t *position)
{
	int r, end;

	walk->depth = 0;
	walk->skipped_depth = SIZE_MAX;
	walk->levels[0] = (struct level){ 0 };
	do {
		r = step(walk, &position);
	} while (r == 0 && walk->depth > 0 && position < walk->unit->end);
	if (r == -EBADMSG) {
		walk->is_damaged = true;
		r = 0;
	}
	end = close_function(walk);
	return end < 0 ? end : r;
}

int dwarf_functions_read(struct dwarf_functions *functions, const struct dwarf_unit *unit,
	struct line_table *lines, bool has_code_in_types)
{
	struct walk walk = {
		.functions = functions,
		.unit = unit,
		.lines = lines,
		.has_code_in_types = has_code_in_types,
		.bytes_left = (uint64_t)(unit->end - unit->header) * UNIT_PASSES_MAX,
	};
	int r;

	functions->nested_count = 0;
	r = walk_tree(&walk, unit->first_die);
	while (r == 0 && functions->nested_count > 0)
		r = walk_tree(&walk, functions->nested[--functions->nested_count]);
	return r == 0 && walk.is_damaged ? -EBADMSG : r;
}
