/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/dwarf_info.h"

#include "dwarf/dwarf_split.h"
#include "dwarf/dwarf_unit.h"
#include "extract/dwarf_functions.h"
#include "extract/dwarf_names.h"
#include "extract/line_table.h"

#include "base/array.h"
#include "base/hash_index.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

enum {
	UNITS_MAX = 1 << 20,	   /* 8 MiB of `programs` */
	SPLIT_UNITS_MAX = 1 << 22, /* examined in the search for the right ones */
	RANGES_MAX =
		1 << 26, /* beyond the bytes of .debug_info, for units whose DIEs are elsewhere */
};

/* The pages of the files are released after so many bytes of units. */
#define RELEASED_BYTES (2 << 20)

/* Of split units read: hostile skeletons may all name one big unit. */
#define SPLIT_BYTES_MAX (16ULL << 30)

struct reader {
	struct symbol_builder *builder; /* borrowed, as the next lines */
	const struct dwarf_file *file, *alternate_file;
	const struct dwarf_sections *sections, *alternate; /* NULL: no alternate file */
	struct dwarf_split_files *split_files;		   /* borrowed */
	struct dwarf_abbreviations abbreviations, split_abbreviations;
	struct dwarf_names names;
	struct dwarf_functions functions;
	struct line_table lines;
	uint64_t *programs; /* offsets in .debug_line of programs that were run; each runs once */
	size_t program_count, program_capacity;
	struct hash_index program_index;
	uint64_t split_units_left, split_bytes_left;
	bool lacks_split;
	bool has_units, has_readable_units; /* of code */
};

static void reader_done(struct reader *reader)
{
	dwarf_abbreviations_done(&reader->abbreviations);
	dwarf_abbreviations_done(&reader->split_abbreviations);
	dwarf_names_done(&reader->names);
	dwarf_functions_done(&reader->functions);
	line_table_done(&reader->lines);
	free(reader->programs);
	hash_index_done(&reader->program_index);
}

static int reader_init(struct reader *reader, struct symbol_builder *builder,
	const struct dwarf_file *file, const struct dwarf_file *alternate_file,
	struct dwarf_split_files *split_files)
{
	const struct dwarf_sections *sections = &file->sections;
	const struct dwarf_sections *alternate =
		alternate_file->sections.info.position ? &alternate_file->sections : NULL;

	*reader = (struct reader){
		.builder = builder,
		.file = file,
		.alternate_file = alternate_file,
		.sections = sections,
		.alternate = alternate,
		.split_files = split_files,
		.split_units_left = SPLIT_UNITS_MAX,
		.split_bytes_left = SPLIT_BYTES_MAX,
	};
	if (!sections->info.position || !sections->abbrev.position)
		return -ENODATA;
	if (alternate)
		symbol_builder_add_contents(builder, PILOTLIGHT_SYMBOL_HAS_ALTERNATE);
	dwarf_abbreviations_init(&reader->abbreviations);
	dwarf_abbreviations_init(&reader->split_abbreviations);
	/* Units may share abbreviations and names; honest ones rarely do. */
	line_table_init(&reader->lines, builder, 2 * dwarf_bytes_left(&sections->line));
	dwarf_functions_init(&reader->functions, builder, &reader->names,
		dwarf_bytes_left(&sections->info) + RANGES_MAX);
	return dwarf_names_init(&reader->names, builder, sections, alternate);
}

static bool is_program(const void *owner, uint32_t id, const void *key)
{
	const struct reader *reader = owner;

	return reader->programs[id] == *(const uint64_t *)key;
}

/* Is this the first unit with this line program? Returns 1, 0 or -ENOMEM. */
static int claim_program(struct reader *reader, uint64_t offset)
{
	uint64_t hash = hash_pair(offset, 0);
	int r;

	if (hash_index_find(&reader->program_index, hash, is_program, reader, &offset) !=
		HASH_INDEX_NONE)
		return 0;
	r = hash_index_reserve(&reader->program_index);
	if (r == 0)
		r = ARRAY_RESERVE(reader->programs, &reader->program_capacity,
			reader->program_count + 1, UNITS_MAX);
	if (r < 0)
		return -ENOMEM;
	reader->programs[reader->program_count] = offset;
	hash_index_insert(&reader->program_index, hash, (uint32_t)reader->program_count++);
	return 1;
}

static int read_lines(
	struct reader *reader, const struct dwarf_unit *unit, const struct dwarf_die *die)
{
	const char *folder = NULL;
	uint64_t offset;
	int r;

	line_table_clear(&reader->lines);
	if (!dwarf_die_has(die, DWARF_STMT_LIST) ||
		!dwarf_unit_constant(unit, die, DWARF_STMT_LIST, &offset))
		return 0;
	if (dwarf_die_has(die, DWARF_COMP_DIR))
		folder = dwarf_unit_string(unit, die, DWARF_COMP_DIR);
	r = line_table_open(&reader->lines, reader->sections, offset, folder ? folder : "");
	if (r < 0)
		return r;
	r = claim_program(reader, offset);
	return r <= 0 ? r : line_table_read_rows(&reader->lines);
}

/* In C and C++, functions in types are declared there and defined elsewhere. */
static bool has_code_in_types(const struct dwarf_unit *unit, const struct dwarf_die *die)
{
	uint64_t language;

	if (!dwarf_die_has(die, DWARF_LANGUAGE) ||
		!dwarf_unit_constant(unit, die, DWARF_LANGUAGE, &language))
		return true;
	switch (language) {
	case DW_LANG_C89:
	case DW_LANG_C:
	case DW_LANG_C99:
	case DW_LANG_C11:
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return false;
	default:
		return true;
	}
}

/* Opens the unit of `split`. Its bytes may replace those of another file, so old tables go. */
static int open_split_unit(struct reader *reader, const struct dwarf_unit *skeleton,
	const struct dwarf_sections *split, struct dwarf_unit *unit, struct dwarf_die *first)
{
	uint64_t bytes;
	int r;

	dwarf_names_forget(&reader->names);
	dwarf_abbreviations_forget(&reader->split_abbreviations);
	r = dwarf_split_find(split, skeleton, &reader->split_abbreviations,
		&reader->split_units_left, unit, first);
	if (r < 0)
		return r;
	bytes = (uint64_t)(unit->end - unit->header);
	if (bytes > reader->split_bytes_left)
		return -EBADMSG;
	reader->split_bytes_left -= bytes;
	return 0;
}

static int find_in_package(struct reader *reader, const struct dwarf_unit *skeleton,
	struct dwarf_sections *split, struct dwarf_unit *unit, struct dwarf_die *first)
{
	int r = dwarf_split_files_find_packaged(reader->split_files, skeleton->id, split);

	return r < 0 ? r : open_split_unit(reader, skeleton, split, unit, first);
}

static int find_in_file(struct reader *reader, const struct dwarf_unit *skeleton,
	const struct dwarf_die *die, struct dwarf_sections *split, struct dwarf_unit *unit,
	struct dwarf_die *first)
{
	const char *name = NULL, *folder = NULL;
	int r;

	if (dwarf_die_has(die, DWARF_DWO_NAME))
		name = dwarf_unit_string(skeleton, die, DWARF_DWO_NAME);
	if (dwarf_die_has(die, DWARF_COMP_DIR))
		folder = dwarf_unit_string(skeleton, die, DWARF_COMP_DIR);
	r = name ? dwarf_split_files_find_file(
			   reader->split_files, folder ? folder : "", name, split)
		 : -EBADMSG;
	if (r < 0)
		return r;
	do
		r = open_split_unit(reader, skeleton, split, unit, first);
	while (r == -ENOENT && dwarf_split_files_next_info(reader->split_files, split));
	return r;
}

/* Returns 0; -EBADMSG the split unit is missing or malformed; or an error that ends the read. */
static int read_split_unit(
	struct reader *reader, const struct dwarf_unit *skeleton, const struct dwarf_die *die)
{
	struct dwarf_sections split;
	struct dwarf_unit unit;
	struct dwarf_die first;
	int r;

	r = find_in_package(reader, skeleton, &split, &unit, &first);
	if (r == -ENOENT || r == -EBADMSG)
		r = find_in_file(reader, skeleton, die, &split, &unit, &first);
	if (r == -ENOENT || r == -EBADMSG) {
		reader->lacks_split = true;
		return -EBADMSG;
	}
	if (r < 0)
		return r;
	symbol_builder_add_contents(reader->builder, PILOTLIGHT_SYMBOL_HAS_SPLIT);
	return dwarf_functions_read(
		&reader->functions, &unit, &reader->lines, has_code_in_types(&unit, &first));
}

/* A skeleton without its split unit may contain some of the functions. */
static int read_functions(
	struct reader *reader, const struct dwarf_unit *unit, const struct dwarf_die *die)
{
	int r, lost = 0;

	if (unit->type == DW_UT_skeleton) {
		lost = read_split_unit(reader, unit, die);
		if (lost != -EBADMSG)
			return lost;
	}
	r = dwarf_functions_read(
		&reader->functions, unit, &reader->lines, has_code_in_types(unit, die));
	return r < 0 ? r : lost;
}

/* Partial and type units have no code of their own. */
static bool may_have_code(const struct dwarf_unit *unit)
{
	return unit->type == DW_UT_compile || unit->type == DW_UT_skeleton;
}

static int read_unit(struct reader *reader, const uint8_t *header)
{
	struct dwarf_unit unit;
	struct dwarf_die die;
	int r, lines;

	r = dwarf_unit_open(&unit, reader->sections, header);
	if (r == 0 && !may_have_code(&unit))
		return 0;
	reader->has_units = true;
	unit.alternate = reader->alternate;
	if (r == 0)
		r = dwarf_unit_load(&unit, &reader->abbreviations, NULL, &die);
	if (r < 0)
		return r;
	/* Before DWARF 5, only the first DIE says what the unit is. */
	if (!may_have_code(&unit))
		return 0;
	reader->has_readable_units = true;
	lines = read_lines(reader, &unit, &die);
	if (lines < 0 && lines != -EBADMSG)
		return lines;
	r = read_functions(reader, &unit, &die);
	return r == 0 ? lines : r;
}

static int read_units(struct reader *reader)
{
	struct dwarf_bytes bytes = reader->sections->info;
	const uint8_t *released = bytes.position;
	size_t count = 0;
	int r = 0;

	while (dwarf_bytes_left(&bytes) > 0) {
		const uint8_t *header = bytes.position;
		uint8_t offset_bytes;

		(void)dwarf_bytes_take(&bytes, dwarf_bytes_unit_length(&bytes, &offset_bytes));
		/* The rest is lost; the number of its units is unknown. */
		r = bytes.is_short || count++ == UNITS_MAX ? -EBADMSG : read_unit(reader, header);
		if (r == -EBADMSG)
			symbol_builder_count_loss(reader->builder, SYMBOL_LOSS_UNIT, -ENOEXEC);
		else if (r < 0)
			return r;
		if (count > UNITS_MAX)
			break;
		if (bytes.position - released < RELEASED_BYTES)
			continue;
		dwarf_file_release_pages(reader->file);
		dwarf_file_release_pages(reader->alternate_file);
		released = bytes.position;
	}
	if (reader->has_readable_units)
		return 0;
	return reader->has_units || r < 0 ? -ENOEXEC : -ENODATA;
}

int dwarf_info_read(struct symbol_builder *builder, const struct dwarf_file *file,
	const struct dwarf_file *alternate, struct dwarf_split_files *split_files,
	struct dwarf_info_gaps *ret_gaps)
{
	struct dwarf_info_gaps gaps;
	struct reader reader;
	int r;

	r = reader_init(&reader, builder, file, alternate, split_files);
	if (r == 0)
		r = read_units(&reader);
	gaps = (struct dwarf_info_gaps){
		.alternate = reader.names.lacks_alternate,
		.split = reader.lacks_split,
	};
	reader_done(&reader);
	if (r < 0)
		return r;
	if (gaps.alternate)
		symbol_builder_count_loss(builder, SYMBOL_LOSS_UNIT, -ENOEXEC);
	*ret_gaps = gaps;
	return 0;
}
