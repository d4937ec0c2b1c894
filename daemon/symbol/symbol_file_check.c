/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_file_check.h"

#include "base/cleanup.h"
#include "pilotlight/runtime.h"
#include "pilotlight/unwind.h"

#include <endian.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include <xxhash.h>

/* Tables are used in place, and big-endian machines are not tested. */
_Static_assert(BYTE_ORDER == LITTLE_ENDIAN, "symbol files are little-endian");

enum {
	SHIFT_MAX = 31,
	HASHED_BYTES = 1 << 20, /* at a time */
};

static const uint32_t entry_bytes[SYMBOL_FILE_SECTION_IDS] = {
	[PILOTLIGHT_SYMBOL_SEGMENTS] = sizeof(struct pilotlight_symbol_segment),
	[PILOTLIGHT_SYMBOL_BOUNDARIES] = sizeof(struct pilotlight_symbol_boundary),
	[PILOTLIGHT_SYMBOL_BOUNDARY_INDEX] = sizeof(uint32_t),
	[PILOTLIGHT_SYMBOL_FRAMES] = sizeof(struct pilotlight_symbol_frame),
	[PILOTLIGHT_SYMBOL_ROWS] = sizeof(struct pilotlight_symbol_row),
	[PILOTLIGHT_SYMBOL_ROW_INDEX] = sizeof(uint32_t),
	[PILOTLIGHT_SYMBOL_FILES] = sizeof(uint32_t),
	[PILOTLIGHT_SYMBOL_STRINGS] = 1,
	[PILOTLIGHT_SYMBOL_UNWIND] = sizeof(struct pilotlight_unwind_summary),
	[PILOTLIGHT_SYMBOL_UNWIND_PAGES] = sizeof(uint32_t),
	[PILOTLIGHT_SYMBOL_UNWIND_LINES] = sizeof(struct pilotlight_unwind_line),
	[PILOTLIGHT_SYMBOL_UNWIND_RULES] = sizeof(struct pilotlight_unwind_rule),
	[PILOTLIGHT_SYMBOL_UNWIND_ESCAPES] = sizeof(struct pilotlight_unwind_escape),
	[PILOTLIGHT_SYMBOL_RUNTIME] = sizeof(struct pilotlight_runtime),
};

static const struct pilotlight_symbol_section *sections_of(const void *bytes)
{
	return (const struct pilotlight_symbol_section *)((const uint8_t *)bytes +
							  sizeof(struct pilotlight_symbol_header));
}

static bool has_right_header_hash(const struct pilotlight_symbol_header *header)
{
	struct {
		struct pilotlight_symbol_header header;
		struct pilotlight_symbol_section sections[PILOTLIGHT_SYMBOL_SECTIONS_MAX];
	} copy;
	size_t bytes = sizeof(*header) + header->section_count * sizeof(copy.sections[0]);

	memcpy(&copy, header, bytes);
	copy.header.header_hash = 0;
	return XXH3_64bits(&copy, bytes) == header->header_hash;
}

static bool is_identity_sound(const struct pilotlight_symbol_header *header)
{
	if (header->identity_kind < PILOTLIGHT_SYMBOL_BUILD_ID ||
		header->identity_kind > PILOTLIGHT_SYMBOL_OWNED)
		return false;
	if (header->identity_bytes == 0 || header->identity_bytes > sizeof(header->identity))
		return false;
	for (size_t i = header->identity_bytes; i < sizeof(header->identity); i++)
		if (header->identity[i] != 0)
			return false;
	return true;
}

int symbol_file_check_header(const void *bytes, uint64_t size)
{
	const struct pilotlight_symbol_header *header = bytes;

	if (size < sizeof(*header) || size > SYMBOL_FILE_BYTES_MAX)
		return -EBADMSG;
	if (memcmp(header->magic, PILOTLIGHT_SYMBOL_MAGIC, sizeof(header->magic)) != 0)
		return -EBADMSG;
	if (header->version != PILOTLIGHT_SYMBOL_VERSION)
		return -EPROTONOSUPPORT;
	if (header->header_bytes != sizeof(*header) || header->file_bytes != size)
		return -EBADMSG;
	if (header->section_count > PILOTLIGHT_SYMBOL_SECTIONS_MAX ||
		header->section_count >
			(size - sizeof(*header)) / sizeof(struct pilotlight_symbol_section))
		return -EBADMSG;
	if (!has_right_header_hash(header) || !is_identity_sound(header))
		return -EBADMSG;
	if (header->rank > PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE ||
		header->failure >= PILOTLIGHT_SYMBOL_FAILURES)
		return -EBADMSG;
	if (header->boundary_shift > SHIFT_MAX || header->row_shift > SHIFT_MAX)
		return -EBADMSG;
	if (strnlen(header->origin, sizeof(header->origin)) == sizeof(header->origin))
		return -EBADMSG;
	return 0;
}

static void free_state(XXH3_state_t **state)
{
	(void)XXH3_freeState(*state);
}

static int check_hash(const uint8_t *bytes, uint64_t size, uint64_t hash, symbol_file_passed passed)
{
	_cleanup_(free_state) XXH3_state_t *state = XXH3_createState();

	if (!state || XXH3_64bits_reset(state) != XXH_OK)
		return -ENOMEM;
	for (uint64_t done = 0; done < size;) {
		size_t step = size - done < HASHED_BYTES ? (size_t)(size - done) : HASHED_BYTES;

		(void)XXH3_64bits_update(state, bytes + done, step);
		if (passed)
			passed(bytes + done, step);
		done += step;
	}
	return XXH3_64bits_digest(state) == hash ? 0 : -EBADMSG;
}

/* Overlapping sections would take more work than the length of the file. */
static int check_section(const void *bytes, uint64_t size, uint64_t *budget,
	const struct pilotlight_symbol_section *section, symbol_file_passed passed)
{
	if (section->offset % PILOTLIGHT_SYMBOL_ALIGNMENT != 0)
		return -EBADMSG;
	if (section->offset > size || section->bytes > size - section->offset)
		return -EBADMSG;
	if (section->bytes > *budget)
		return -EBADMSG;
	*budget -= section->bytes;
	return check_hash(
		(const uint8_t *)bytes + section->offset, section->bytes, section->hash, passed);
}

static int add_table(struct symbol_file_tables *tables, const void *bytes,
	const struct pilotlight_symbol_section *section)
{
	struct symbol_file_table *table = &tables->by_id[section->id];
	uint64_t count = section->bytes / entry_bytes[section->id];

	if (section->entry_bytes != entry_bytes[section->id] ||
		section->bytes % entry_bytes[section->id] != 0)
		return -EBADMSG;
	if (count > UINT32_MAX || table->entries)
		return -EBADMSG;
	if (count > 0)
		*table = (struct symbol_file_table){
			.entries = (const uint8_t *)bytes + section->offset,
			.count = (uint32_t)count,
		};
	return 0;
}

/* Does the index have a start and an end for the range of the last entry? */
static bool is_covered(
	const struct symbol_file_tables *tables, uint32_t id, uint32_t index_id, uint8_t shift)
{
	const struct symbol_file_table *table = &tables->by_id[id];
	const uint32_t *words = table->entries;
	size_t entry_words = entry_bytes[id] / sizeof(uint32_t);
	uint32_t last;

	if (table->count == 0)
		return true;
	last = words[(table->count - 1) * entry_words];
	return tables->by_id[index_id].count >= (uint64_t)(last >> shift) + 2;
}

static bool are_strings_sound(const struct symbol_file_table *strings)
{
	const char *text = strings->entries;

	return strings->count == 0 || (text[0] == '\0' && text[strings->count - 1] == '\0');
}

int symbol_file_check_sections(const void *bytes, uint64_t size, symbol_file_passed passed,
	struct symbol_file_tables *ret_tables)
{
	const struct pilotlight_symbol_header *header = bytes;
	const struct pilotlight_symbol_section *sections = sections_of(bytes);
	struct symbol_file_tables tables = { 0 };
	uint64_t budget = size;
	int r;

	for (size_t i = 0; i < header->section_count; i++) {
		r = check_section(bytes, size, &budget, &sections[i], passed);
		if (r < 0)
			return r;
		if (header->rank == PILOTLIGHT_SYMBOL_RANK_NONE && sections[i].bytes > 0)
			return -EBADMSG;
		if (sections[i].id == 0 || sections[i].id >= SYMBOL_FILE_SECTION_IDS)
			continue;
		r = add_table(&tables, bytes, &sections[i]);
		if (r < 0)
			return r;
	}
	if (tables.by_id[PILOTLIGHT_SYMBOL_SEGMENTS].count > SYMBOL_FILE_SEGMENTS_MAX ||
		!are_strings_sound(&tables.by_id[PILOTLIGHT_SYMBOL_STRINGS]))
		return -EBADMSG;
	if (!is_covered(&tables, PILOTLIGHT_SYMBOL_BOUNDARIES, PILOTLIGHT_SYMBOL_BOUNDARY_INDEX,
		    header->boundary_shift) ||
		!is_covered(&tables, PILOTLIGHT_SYMBOL_ROWS, PILOTLIGHT_SYMBOL_ROW_INDEX,
			header->row_shift))
		return -EBADMSG;
	*ret_tables = tables;
	return 0;
}
