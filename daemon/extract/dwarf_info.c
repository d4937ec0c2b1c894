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
	UNITS_MAX = 192 * 1024, /* libdw keeps a kilobyte of each */
	/* What libdw may keep of abbreviations, some 50 bytes each, before it begins anew. */
	ABBREVIATIONS_KEPT_MAX = 1 << 19,
	FOREIGN_DIE_COST = 8,	   /* in abbreviations: of a DIE of another unit */
	PIECE_UNITS_MAX = 1 << 22, /* that are looked at, in search of the right ones */
	RANGES_MAX =
		1 << 26, /* beyond the bytes of .debug_info, for units whose DIEs are elsewhere */
};

/* Of units in pieces: many skeletons may name one, and honest ones do not. */
#define PIECE_BYTES_MAX (16ULL << 30)

struct reader {
	struct symbol_builder *builder; /* borrowed, as the next two */
	Elf *elf, *alternate_elf;
	Dwarf *dwarf, *alternate;
	struct dwarf_pieces *pieces; /* borrowed */
	struct dwarf_sections sections;
	struct dwarf_abbreviations abbreviations, piece_abbreviations;
	struct dwarf_names names;
	struct dwarf_functions functions;
	struct line_table lines;
	uint64_t *programs; /* offsets in .debug_line that were run; each once */
	size_t program_count, program_capacity;
	struct hash_index program_index;
	uint64_t kept; /* abbreviations that libdw may hold */
	uint64_t piece_units_left, piece_bytes_left;
	bool lacks_pieces;
};

/* What is known of the unit that is being read. */
struct unit {
	Dwarf_Die die; /* the first of it */
	uint8_t type;  /* DW_UT_… */
};

static void close_dwarf(struct reader *reader)
{
	(void)dwarf_end(reader->dwarf);
	(void)dwarf_end(reader->alternate);
	reader->dwarf = reader->alternate = NULL;
}

static int open_dwarf(struct reader *reader)
{
	reader->dwarf = dwarf_begin_elf(reader->elf, DWARF_C_READ, NULL);
	if (!reader->dwarf)
		return -ENOEXEC;
	if (!reader->alternate_elf)
		return 0;
	reader->alternate = dwarf_begin_elf(reader->alternate_elf, DWARF_C_READ, NULL);
	if (reader->alternate) {
		dwarf_setalt(reader->dwarf, reader->alternate);
		symbol_builder_add_contents(reader->builder, PILOTLIGHT_SYMBOL_HAS_ALTERNATE);
	}
	return 0;
}

static void reader_done(struct reader *reader)
{
	close_dwarf(reader);
	dwarf_abbreviations_done(&reader->abbreviations);
	dwarf_abbreviations_done(&reader->piece_abbreviations);
	dwarf_names_done(&reader->names);
	dwarf_functions_done(&reader->functions);
	line_table_done(&reader->lines);
	free(reader->programs);
	hash_index_done(&reader->program_index);
}

static int reader_init(struct reader *reader, struct symbol_builder *builder, Elf *elf,
	Elf *alternate, struct dwarf_pieces *pieces)
{
	uint64_t line_bytes, info_bytes;
	int r;

	*reader = (struct reader){
		.builder = builder,
		.elf = elf,
		.alternate_elf = alternate,
		.pieces = pieces,
		.piece_units_left = PIECE_UNITS_MAX,
		.piece_bytes_left = PIECE_BYTES_MAX,
	};
	r = dwarf_sections_find(elf, false, &reader->sections);
	if (r < 0)
		return r;
	if (!reader->sections.info.position || !reader->sections.abbrev.position)
		return -ENODATA;
	line_bytes = dwarf_bytes_left(&reader->sections.line);
	info_bytes = dwarf_bytes_left(&reader->sections.info);
	dwarf_abbreviations_init(&reader->abbreviations);
	dwarf_abbreviations_init(&reader->piece_abbreviations);
	/* Units may share what they name; honest ones do so rarely. */
	line_table_init(&reader->lines, builder, 2 * line_bytes);
	dwarf_functions_init(&reader->functions, builder, &reader->names, info_bytes + RANGES_MAX);
	r = dwarf_names_init(&reader->names, builder);
	return r < 0 ? r : open_dwarf(reader);
}

/* Gives back what libdw has allocated, which it does not do before its end. */
static int reopen_dwarf(struct reader *reader, struct unit *unit)
{
	Dwarf_Off offset = dwarf_dieoffset(&unit->die);
	int r;

	close_dwarf(reader);
	reader->kept = 0;
	dwarf_names_forget(&reader->names);
	dwarf_abbreviations_forget(&reader->abbreviations);
	r = open_dwarf(reader);
	if (r < 0)
		return r;
	return dwarf_offdie(reader->dwarf, offset, &unit->die) ? 0 : -ENOEXEC;
}

static bool is_program(const void *owner, uint32_t id, const void *key)
{
	const struct reader *reader = owner;

	return reader->programs[id] == *(const uint64_t *)key;
}

/* Is it the first time that a unit names this line program? Returns 1, 0 or -ENOMEM. */
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
	r = line_table_open(&reader->lines, &reader->sections, offset, folder ? folder : "");
	if (r < 0)
		return r;
	r = claim_program(reader, offset);
	return r <= 0 ? r : line_table_read_rows(&reader->lines);
}

/* In C and C++ what is in a type outside of functions is declared there and defined elsewhere. */
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

static int read_first_die(const struct dwarf_unit *unit, struct dwarf_die *die)
{
	int r = dwarf_unit_read_die(unit, unit->first_die, die);

	return r == 0 && !die->abbreviation ? -EBADMSG : r;
}

static int open_unit(
	struct reader *reader, Dwarf_Die *first_die, struct dwarf_unit *unit, struct dwarf_die *die)
{
	int r;

	r = dwarf_unit_open(unit, &reader->sections, &reader->abbreviations, first_die);
	if (r < 0)
		return r;
	unit->has_alternate = reader->alternate;
	reader->kept += reader->abbreviations.count;
	return read_first_die(unit, die);
}

/* What is in `piece`, whose bytes may have been another's before. */
static int open_piece_unit(struct reader *reader, const struct dwarf_skeleton *skeleton,
	const struct dwarf_sections *piece, struct dwarf_unit *unit)
{
	uint64_t bytes;
	int r;

	dwarf_names_forget_dies(&reader->names);
	dwarf_abbreviations_forget(&reader->piece_abbreviations);
	r = dwarf_split_find(
		piece, skeleton, &reader->piece_abbreviations, &reader->piece_units_left, unit);
	if (r < 0)
		return r;
	bytes = (uint64_t)(unit->end - unit->header);
	if (bytes > reader->piece_bytes_left)
		return -EBADMSG;
	reader->piece_bytes_left -= bytes;
	return 0;
}

static int find_in_package(struct reader *reader, const struct dwarf_skeleton *skeleton,
	struct dwarf_sections *piece, struct dwarf_unit *unit)
{
	int r = dwarf_pieces_find_packaged(reader->pieces, skeleton->id, piece);

	return r < 0 ? r : open_piece_unit(reader, skeleton, piece, unit);
}

static int find_in_file(struct reader *reader, const struct dwarf_skeleton *skeleton,
	const struct dwarf_unit *main_unit, const struct dwarf_die *die,
	struct dwarf_sections *piece, struct dwarf_unit *unit)
{
	const char *name = dwarf_unit_string(main_unit, die, DWARF_DWO_NAME);
	const char *folder = NULL;
	int r;

	if (dwarf_die_has(die, DWARF_COMP_DIR))
		folder = dwarf_unit_string(main_unit, die, DWARF_COMP_DIR);
	r = name ? dwarf_pieces_find_file(reader->pieces, folder ? folder : "", name, piece)
		 : -EBADMSG;
	if (r < 0)
		return r;
	do
		r = open_piece_unit(reader, skeleton, piece, unit);
	while (r == -ENOENT && dwarf_pieces_next_info(reader->pieces, piece));
	return r;
}

/* Returns 0; -EBADMSG the piece is not to be had, or makes no sense; or what ends the whole. */
static int read_piece(
	struct reader *reader, const struct dwarf_unit *main_unit, const struct dwarf_die *die)
{
	struct dwarf_skeleton skeleton;
	struct dwarf_sections piece;
	struct dwarf_unit unit;
	struct dwarf_die first;
	int r;

	r = dwarf_skeleton_read(&skeleton, main_unit, die);
	if (r < 0)
		return r;
	r = find_in_package(reader, &skeleton, &piece, &unit);
	if (r == -ENOENT || r == -EBADMSG)
		r = find_in_file(reader, &skeleton, main_unit, die, &piece, &unit);
	if (r == -ENOENT || r == -EBADMSG) {
		reader->lacks_pieces = true;
		return -EBADMSG;
	}
	if (r == 0)
		r = read_first_die(&unit, &first);
	if (r < 0)
		return r;
	symbol_builder_add_contents(reader->builder, PILOTLIGHT_SYMBOL_HAS_SPLIT);
	return dwarf_functions_read(
		&reader->functions, &unit, &reader->lines, has_code_in_types(&unit, &first));
}

/* Without its piece, a skeleton may have some of the functions itself. */
static int read_functions(struct reader *reader, const struct unit *unit,
	const struct dwarf_unit *main_unit, const struct dwarf_die *die)
{
	int r, lost = 0;

	if (unit->type == DW_UT_skeleton) {
		lost = read_piece(reader, main_unit, die);
		if (lost != -EBADMSG)
			return lost;
	}
	r = dwarf_functions_read(
		&reader->functions, main_unit, &reader->lines, has_code_in_types(main_unit, die));
	return r < 0 ? r : lost;
}

/* `*is_any_read` becomes true where it is a unit, however damaged. */
static int read_unit(struct reader *reader, struct unit *unit, bool *is_any_read)
{
	struct dwarf_unit main_unit;
	struct dwarf_die die;
	int r, lines;

	r = open_unit(reader, &unit->die, &main_unit, &die);
	if (r < 0)
		return r;
	*is_any_read = true;
	lines = read_lines(reader, &main_unit, &die);
	if (lines < 0 && lines != -EBADMSG)
		return lines;
	r = read_functions(reader, unit, &main_unit, &die);
	return r == 0 ? lines : r;
}

/* Returns 1, 0 at the end, -EBADMSG. `unit->die.cu` is the unit before, or NULL. */
static int next_unit(struct reader *reader, struct unit *unit)
{
	Dwarf_CU *cu = unit->die.cu;
	Dwarf_Half version;
	int r;

	r = dwarf_get_units(reader->dwarf, cu, &cu, &version, &unit->type, &unit->die, NULL);
	if (r != 0)
		return r < 0 ? -EBADMSG : 0;
	unit->die.cu = cu;
	return 1;
}

/* Partial and type units have no code of their own. */
static bool has_code(const struct unit *unit)
{
	return unit->die.addr && (unit->type == DW_UT_compile || unit->type == DW_UT_skeleton);
}

/* Counts the unit if it is lost. Returns 0 or what ends the whole. */
static int try_unit(struct reader *reader, struct unit *unit, bool *is_any_read)
{
	int r;

	r = read_unit(reader, unit, is_any_read);
	if (r == -EBADMSG)
		symbol_builder_count_loss(reader->builder, SYMBOL_LOSS_UNIT, -ENOEXEC);
	else if (r < 0)
		return r;
	if (reader->kept + reader->names.foreign_count * FOREIGN_DIE_COST > ABBREVIATIONS_KEPT_MAX)
		return reopen_dwarf(reader, unit);
	return 0;
}

static int read_units(struct reader *reader)
{
	bool is_any_read = false, is_any_there = false;
	struct unit unit = { .die.cu = NULL };
	int r = -EBADMSG;

	for (size_t i = 0; i < UNITS_MAX; i++) {
		r = next_unit(reader, &unit);
		if (r <= 0)
			break;
		if (!has_code(&unit))
			continue;
		is_any_there = true;
		r = try_unit(reader, &unit, &is_any_read);
		if (r < 0)
			return r;
		r = -EBADMSG;
	}
	/* What comes after is lost, and nobody knows how many units that are. */
	if (r < 0)
		symbol_builder_count_loss(reader->builder, SYMBOL_LOSS_UNIT, -ENOEXEC);
	if (is_any_read)
		return 0;
	return is_any_there || r < 0 ? -ENOEXEC : -ENODATA;
}

int dwarf_info_read(struct symbol_builder *builder, Elf *elf, Elf *alternate,
	struct dwarf_pieces *pieces, struct dwarf_info_gaps *ret_gaps)
{
	struct dwarf_info_gaps gaps;
	struct reader reader;
	int r;

	r = reader_init(&reader, builder, elf, alternate, pieces);
	if (r == 0)
		r = read_units(&reader);
	gaps = (struct dwarf_info_gaps){
		.alternate = reader.names.lacks_alternate,
		.pieces = reader.lacks_pieces,
	};
	reader_done(&reader);
	if (r < 0)
		return r;
	if (gaps.alternate)
		symbol_builder_count_loss(builder, SYMBOL_LOSS_UNIT, -ENOEXEC);
	*ret_gaps = gaps;
	return 0;
}
