/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_package.h"

#include <errno.h>

enum {
	VERSION_GNU = 2,
	VERSION_DWARF5 = 5,
	COLUMNS_MAX = 16, /* there are 8 kinds */
	/* A third of the slots are free, so a few steps find a unit or a free slot. */
	STEPS_MAX = 1024,
};

/* The contents of a column: DW_SECT_…, by version. */
enum {
	SECTION_INFO = 1,
	SECTION_ABBREV = 3,
	SECTION_LINE = 4,
	SECTION_STR_OFFSETS = 6,
	SECTION_RNGLISTS = 8, /* not in version 2 */
};

/* Takes the next bytes as a table. */
static struct dwarf_bytes take_table(struct dwarf_bytes *bytes, uint64_t size)
{
	struct dwarf_bytes table = *bytes;

	if (dwarf_bytes_take(bytes, size))
		table.end = bytes->position;
	return table;
}

/* Version 2 has 32 bits; version 5 has 16 and padding. */
static uint32_t read_version(struct dwarf_bytes *bytes)
{
	struct dwarf_bytes whole = *bytes, half = *bytes;

	if (dwarf_bytes_u32(&whole) == VERSION_GNU) {
		*bytes = whole;
		return VERSION_GNU;
	}
	*bytes = whole;
	return dwarf_bytes_u16(&half);
}

int dwarf_package_open(struct dwarf_package *ret_package, const struct dwarf_sections *sections)
{
	struct dwarf_package package = { .sections = *sections };
	struct dwarf_bytes bytes = sections->cu_index;
	uint64_t cells_bytes;

	if (!bytes.position)
		return -ENODATA;
	package.version = read_version(&bytes);
	package.column_count = dwarf_bytes_u32(&bytes);
	package.unit_count = dwarf_bytes_u32(&bytes);
	package.slot_count = dwarf_bytes_u32(&bytes);
	if (bytes.is_short ||
		(package.version != VERSION_GNU && package.version != VERSION_DWARF5) ||
		package.column_count > COLUMNS_MAX ||
		(package.slot_count & (package.slot_count - 1)) != 0)
		return -EBADMSG;
	cells_bytes = sizeof(uint32_t) * package.column_count * (uint64_t)package.unit_count;
	package.ids = take_table(&bytes, sizeof(uint64_t) * (uint64_t)package.slot_count);
	package.rows = take_table(&bytes, sizeof(uint32_t) * (uint64_t)package.slot_count);
	package.columns = take_table(&bytes, sizeof(uint32_t) * (uint64_t)package.column_count);
	package.offsets = take_table(&bytes, cells_bytes);
	package.sizes = take_table(&bytes, cells_bytes);
	if (bytes.is_short)
		return -EBADMSG;
	*ret_package = package;
	return 0;
}

static uint32_t u32_at(const struct dwarf_bytes *table, uint64_t index)
{
	struct dwarf_bytes bytes = *table;

	(void)dwarf_bytes_take(&bytes, index * sizeof(uint32_t));
	return dwarf_bytes_u32(&bytes);
}

static uint64_t u64_at(const struct dwarf_bytes *table, uint64_t index)
{
	struct dwarf_bytes bytes = *table;

	(void)dwarf_bytes_take(&bytes, index * sizeof(uint64_t));
	return dwarf_bytes_u64(&bytes);
}

/* Returns the unit's row, at least 1; 0: not found. */
static uint32_t find_row(const struct dwarf_package *package, uint64_t id)
{
	const uint64_t mask = package->slot_count - 1ULL;
	const uint64_t step = (id >> 32 & mask) | 1;
	uint64_t slot = id & mask;

	if (package->slot_count == 0)
		return 0;
	for (uint32_t i = 0; i < STEPS_MAX && i < package->slot_count; i++) {
		uint32_t row = u32_at(&package->rows, slot);

		if (row == 0 || u64_at(&package->ids, slot) == id)
			return row;
		slot = (slot + step) & mask;
	}
	return 0;
}

/* Returns NULL for sections that we do not read. */
static struct dwarf_bytes *find_section(
	const struct dwarf_package *package, struct dwarf_sections *sections, uint32_t kind)
{
	switch (kind) {
	case SECTION_INFO:
		return &sections->info;
	case SECTION_ABBREV:
		return &sections->abbrev;
	case SECTION_LINE:
		return &sections->line;
	case SECTION_STR_OFFSETS:
		return &sections->str_offsets;
	case SECTION_RNGLISTS:
		return package->version == VERSION_DWARF5 ? &sections->rnglists : NULL;
	default:
		return NULL;
	}
}

/* Returns the part [offset, offset + size) of the section. */
static int cut(struct dwarf_bytes *section, uint64_t offset, uint64_t size)
{
	if (!section->position || offset > dwarf_bytes_left(section) ||
		size > dwarf_bytes_left(section) - offset)
		return -EBADMSG;
	section->position += offset;
	section->end = section->position + size;
	return 0;
}

int dwarf_package_find(
	const struct dwarf_package *package, uint64_t id, struct dwarf_sections *ret_sections)
{
	struct dwarf_sections sections = { .str = package->sections.str };
	uint32_t row = find_row(package, id);
	uint64_t cell = (uint64_t)(row - 1ULL) * package->column_count;

	if (row == 0)
		return -ENOENT;
	if (row > package->unit_count)
		return -EBADMSG;
	for (uint32_t i = 0; i < package->column_count; i++, cell++) {
		struct dwarf_sections whole = package->sections;
		uint32_t kind = u32_at(&package->columns, i);
		uint64_t offset = u32_at(&package->offsets, cell);
		uint64_t size = u32_at(&package->sizes, cell);
		struct dwarf_bytes *part = find_section(package, &whole, kind);

		if (!part || size == 0)
			continue;
		if (cut(part, offset, size) < 0)
			return -EBADMSG;
		*find_section(package, &sections, kind) = *part;
	}
	if (!sections.info.position || !sections.abbrev.position)
		return -EBADMSG;
	*ret_sections = sections;
	return 0;
}
