/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_units.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

enum {
	UNITS_MAX = 1 << 20,	   /* 8 MiB */
	TABLE_ITEMS_MAX = 1 << 19, /* some 16 MiB of abbreviations and their attributes */
};

void dwarf_units_init(struct dwarf_units *units, const struct dwarf_sections *sections,
	const struct dwarf_sections *alternate)
{
	*units = (struct dwarf_units){ .sections = sections, .alternate = alternate };
	for (size_t i = 0; i < DWARF_UNITS_TABLES; i++)
		dwarf_abbreviations_init(&units->tables[i]);
	units->budget_bytes = units->tables[0].budget_bytes;
}

static void free_tables(struct dwarf_units *units)
{
	for (size_t i = 0; i < DWARF_UNITS_TABLES; i++)
		dwarf_abbreviations_done(&units->tables[i]);
	units->table_items = 0;
}

void dwarf_units_done(struct dwarf_units *units)
{
	free_tables(units);
	free(units->headers);
	*units = (struct dwarf_units){ .sections = NULL };
}

static int index_headers(struct dwarf_units *units)
{
	struct dwarf_bytes bytes = units->sections->info;
	int r;

	while (dwarf_bytes_left(&bytes) > 0) {
		const uint8_t *header = bytes.position;
		uint8_t offset_bytes;

		(void)dwarf_bytes_take(&bytes, dwarf_bytes_unit_length(&bytes, &offset_bytes));
		if (bytes.is_short)
			break;
		r = ARRAY_RESERVE(units->headers, &units->capacity, units->count + 1, UNITS_MAX);
		if (r == -E2BIG)
			break;
		if (r < 0)
			return r;
		units->headers[units->count++] = header;
	}
	units->is_indexed = true;
	return 0;
}

/* Returns the last header at or before `position`; NULL: none. */
static const uint8_t *find_header(const struct dwarf_units *units, const uint8_t *position)
{
	size_t low = 0, high = units->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (units->headers[middle] <= position)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 ? units->headers[low - 1] : NULL;
}

/* A table that was forgotten still has its memory. */
static size_t item_count(const struct dwarf_abbreviations *table)
{
	return table->capacity + table->spec_capacity;
}

static int load(struct dwarf_units *units, struct dwarf_unit *unit)
{
	uint64_t hash = unit->abbreviations_offset * 0x9e3779b97f4a7c15;
	struct dwarf_abbreviations *table = &units->tables[hash >> 56];
	struct dwarf_die first;
	int r;

	_Static_assert(DWARF_UNITS_TABLES == 1 << 8, "as many as 8 bits of a hash");
	if (units->table_items > TABLE_ITEMS_MAX)
		free_tables(units);
	units->table_items -= item_count(table);
	table->budget_bytes = units->budget_bytes;
	r = dwarf_unit_load(unit, table, NULL, &first);
	units->budget_bytes = table->budget_bytes;
	units->table_items += item_count(table);
	return r;
}

int dwarf_units_find(
	struct dwarf_units *units, const uint8_t *position, const struct dwarf_unit **ret_unit)
{
	struct dwarf_unit *unit = &units->unit;
	const uint8_t *header;
	int r = 0;

	if (!unit->sections || position < unit->first_die || position >= unit->end) {
		if (!units->is_indexed)
			r = index_headers(units);
		if (r < 0)
			return r;
		unit->sections = NULL;
		header = find_header(units, position);
		r = header ? dwarf_unit_open(unit, units->sections, header) : -ENOENT;
		if (r == 0) {
			unit->alternate = units->alternate;
			r = load(units, unit);
		}
		if (r < 0) {
			unit->sections = NULL;
			return r == -ENOMEM ? r : -ENOENT;
		}
	}
	if (position < unit->first_die || position >= unit->end)
		return -ENOENT;
	*ret_unit = unit;
	return 0;
}
