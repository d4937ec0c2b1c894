/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Builds a split DWARF file beside a main file of dwarf_fixture.h, and packages of split files. The
 * opener returns the split file for every path.
 */
#pragma once

#include "base/cleanup.h"
#include "dwarf/dwarf_package.h"
#include "dwarf/dwarf_split_files.h"
#include "tests/dwarf/dwarf_fixture.h"
#include "tests/dwarf/section_fixture.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

/* The abbreviations of a split file. */
enum {
	SPLIT_UNIT = 1,		  /* language; with DWARF 4 dwo_id */
	SPLIT_FUNCTIONS,	  /* the number of a name, that of low_pc, high_pc; has children */
	SPLIT_FUNCTION_IN_RANGES, /* name, where the list of ranges is, or its number */
	SPLIT_ABSTRACT,		  /* name */
	SPLIT_ABSTRACT_OF,	  /* abstract_origin */
	SPLIT_INLINED,		  /* abstract_origin, the number of low_pc, high_pc */
	SPLIT_FUNCTION_OF,	  /* the same, a function */
	SPLIT_FUNCTION_ELSEWHERE, /* abstract_origin of another unit, the number of low_pc, high_pc
				   */
	SPLIT_TYPE_UNIT,	  /* no attributes */
};

enum { SPLIT_ID = 0x77 };

struct split_fixture {
	struct dwarf_fixture main;
	struct section_bytes info, abbrev, str, str_offsets, rnglists, index;
	uint16_t version;
	size_t unit; /* where the present one begins in `info` */
	struct fixture elf;
	struct dwarf_split_opener opener;
	bool has_no_file;
	size_t opened;	/* how often */
	char path[256]; /* the last one */
};

static inline void put_split_abbreviation(
	struct split_fixture *s, uint64_t code, uint64_t tag, bool has_children, const uint16_t *at)
{
	put_uleb(&s->abbrev, code);
	put_uleb(&s->abbrev, tag);
	put(&s->abbrev, has_children, 1);
	for (; *at; at += 2) {
		put_uleb(&s->abbrev, at[0]);
		put_uleb(&s->abbrev, at[1]);
	}
	put(&s->abbrev, 0, 2);
}

static inline void put_split_abbreviations(struct split_fixture *s)
{
	const bool is_gnu = s->version < 5;
	const uint16_t string = is_gnu ? DW_FORM_GNU_str_index : DW_FORM_strx1;
	const uint16_t address = is_gnu ? DW_FORM_GNU_addr_index : DW_FORM_addrx;

	put_split_abbreviation(s, SPLIT_UNIT, DW_TAG_compile_unit, true,
		is_gnu ? ATTRIBUTES(DW_AT_language, DW_FORM_data1, DW_AT_GNU_dwo_id, DW_FORM_data8)
		       : ATTRIBUTES(DW_AT_language, DW_FORM_data1));
	put_split_abbreviation(s, SPLIT_FUNCTIONS, DW_TAG_subprogram, true,
		ATTRIBUTES(
			DW_AT_name, string, DW_AT_low_pc, address, DW_AT_high_pc, DW_FORM_data4));
	put_split_abbreviation(s, SPLIT_FUNCTION_IN_RANGES, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_name, DW_FORM_string, DW_AT_ranges,
			is_gnu ? DW_FORM_sec_offset : DW_FORM_rnglistx));
	put_split_abbreviation(
		s, SPLIT_ABSTRACT, DW_TAG_subprogram, false, ATTRIBUTES(DW_AT_name, DW_FORM_strp));
	put_split_abbreviation(s, SPLIT_ABSTRACT_OF, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_abstract_origin, DW_FORM_ref4));
	put_split_abbreviation(s, SPLIT_INLINED, DW_TAG_inlined_subroutine, false,
		ATTRIBUTES(DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, address,
			DW_AT_high_pc, DW_FORM_data4));
	put_split_abbreviation(s, SPLIT_FUNCTION_OF, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_abstract_origin, DW_FORM_ref4, DW_AT_low_pc, address,
			DW_AT_high_pc, DW_FORM_data4));
	put_split_abbreviation(s, SPLIT_FUNCTION_ELSEWHERE, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_abstract_origin, DW_FORM_ref_addr, DW_AT_low_pc, address,
			DW_AT_high_pc, DW_FORM_data4));
	put_split_abbreviation(s, SPLIT_TYPE_UNIT, DW_TAG_type_unit, false, ATTRIBUTES());
	put(&s->abbrev, 0, 1);
}

/* Returns its number. */
static inline uint64_t put_split_string(struct split_fixture *s, const char *text)
{
	if (s->str_offsets.size == 0 && s->version >= 5)
		put(&s->str_offsets, 0, 8);
	put(&s->str_offsets, s->str.size, 4);
	put_text(&s->str, text);
	return s->str_offsets.size / 4 - (s->version >= 5 ? 3 : 1);
}

/* Returns its number. */
static inline uint64_t put_address(struct split_fixture *s, uint64_t address)
{
	if (s->main.addr.size == 0)
		put(&s->main.addr, 0, 8); /* a header, or a unit before */
	put(&s->main.addr, address, 8);
	return s->main.addr.size / 8 - 2;
}

/* Of a type: DW_UT_split_compile or DW_UT_split_type; of DWARF 4 that is none. */
static inline void begin_split_unit(struct split_fixture *s, uint8_t type, uint64_t id)
{
	if (s->abbrev.size == 0)
		put_split_abbreviations(s);
	s->unit = s->info.size;
	put(&s->info, 0, 4);
	put(&s->info, s->version, 2);
	if (s->version >= 5) {
		put(&s->info, type, 1);
		put(&s->info, 8, 1);
	}
	put(&s->info, 0, 4);
	if (s->version < 5)
		put(&s->info, 8, 1);
	else
		put(&s->info, id, 8);
	if (type == DW_UT_split_type) {
		put(&s->info, 0, 4);
		put_uleb(&s->info, SPLIT_TYPE_UNIT);
		return;
	}
	put_uleb(&s->info, SPLIT_UNIT);
	put(&s->info, DW_LANG_C99, 1);
	if (s->version < 5)
		put(&s->info, id, 8);
}

static inline void end_split_unit(struct split_fixture *s)
{
	patch(&s->info, s->unit, s->info.size - s->unit - 4, 4);
}

/* Returns its offset in the unit. */
static inline size_t put_split_die(struct split_fixture *s, uint64_t code)
{
	size_t offset = s->info.size - s->unit;

	put_uleb(&s->info, code);
	return offset;
}

/* Has children. */
static inline void put_split_functions(
	struct split_fixture *s, const char *name, uint64_t start, uint64_t size)
{
	(void)put_split_die(s, SPLIT_FUNCTIONS);
	put_uleb(&s->info, put_split_string(s, name));
	put_uleb(&s->info, put_address(s, start));
	put(&s->info, size, 4);
}

static inline size_t put_split_abstract(struct split_fixture *s, const char *name)
{
	size_t offset = put_split_die(s, SPLIT_ABSTRACT);

	put(&s->info, s->str.size, 4);
	put_text(&s->str, name);
	return offset;
}

/* SPLIT_INLINED, SPLIT_FUNCTION_OF, SPLIT_FUNCTION_ELSEWHERE. */
static inline void put_split_code_of(
	struct split_fixture *s, uint64_t code, size_t origin, uint64_t start, uint64_t size)
{
	(void)put_split_die(s, code);
	put(&s->info, origin, 4);
	put_uleb(&s->info, put_address(s, start));
	put(&s->info, size, 4);
}

/* A split file of one function of 16 bytes with 4 of an inlined one at its start. */
static inline void put_small_split(struct split_fixture *s, uint64_t id, uint64_t start)
{
	size_t origin;

	begin_split_unit(s, DW_UT_split_compile, id);
	origin = put_split_abstract(s, "within");
	put_split_functions(s, "function", start, 0x10);
	put_split_code_of(s, SPLIT_INLINED, origin, start, 4);
	put(&s->info, 0, 2);
	end_split_unit(s);
}

/* Adds the skeleton unit to the main file. Its addresses are relative to `low_pc`. */
static inline void put_skeleton(
	struct split_fixture *s, const char *name, uint64_t id, uint64_t low_pc)
{
	struct dwarf_fixture *f = &s->main;

	f->version = s->version;
	f->unit_type = DW_UT_skeleton;
	begin_unit(f);
	if (s->version >= 5)
		put(&f->info, id, 8);
	(void)put_die(f, s->version >= 5 ? SKELETON : SKELETON_WITH_ID);
	put_text(&f->info, name);
	put_text(&f->info, "/src");
	put(&f->info, low_pc, 8);
	put_offset(f, &f->info, 8);
	if (s->version < 5) {
		put(&f->info, id, 8);
		put_offset(f, &f->info, 0);
	}
	end_unit(f);
}

static inline void build_split(struct split_fixture *s)
{
	const struct fixture_section sections[] = {
		{ ".debug_abbrev.dwo", SHT_PROGBITS, .bytes = s->abbrev.bytes,
			.size = s->abbrev.size },
		{ ".debug_info.dwo", SHT_PROGBITS, .bytes = s->info.bytes, .size = s->info.size },
		{ ".debug_str.dwo", SHT_PROGBITS, .bytes = s->str.bytes, .size = s->str.size },
		{ ".debug_str_offsets.dwo", SHT_PROGBITS, .bytes = s->str_offsets.bytes,
			.size = s->str_offsets.size },
		{ ".debug_rnglists.dwo", SHT_PROGBITS, .bytes = s->rnglists.bytes,
			.size = s->rnglists.size },
		{ ".debug_cu_index", SHT_PROGBITS, .bytes = s->index.bytes, .size = s->index.size },
	};

	s->elf.type = ET_REL;
	fixture_build_sections(&s->elf, sections, s->index.size > 0 ? 6 : 5);
}

/* Returns the split file, or the package, as a file. */
static inline int open_built_split(struct split_fixture *s)
{
	_cleanup_close_ int fd = memfd_create("split", MFD_CLOEXEC);

	if (fd < 0 || write(fd, s->elf.bytes, s->elf.size) != (ssize_t)s->elf.size)
		return -1;
	return TAKE_FD(fd);
}

static inline int open_any_split(void *context, const char *path, int *ret_fd)
{
	struct split_fixture *s = context;
	int fd;

	s->opened++;
	(void)snprintf(s->path, sizeof(s->path), "%s", path);
	if (s->has_no_file)
		return -ENOENT;
	fd = open_built_split(s);
	if (fd < 0)
		return -EMFILE;
	*ret_fd = fd;
	return 0;
}

static inline void split_fixture_init(struct split_fixture *s, uint16_t version)
{
	memset(s, 0, sizeof(*s));
	dwarf_fixture_init(&s->main);
	s->version = version;
	s->opener = (struct dwarf_split_opener){ .open = open_any_split, .context = s };
}

/* The sections without a file around them. */
static inline struct dwarf_sections view_split(const struct split_fixture *s)
{
	return (struct dwarf_sections){
		.info = view(&s->info),
		.abbrev = view(&s->abbrev),
		.str = view(&s->str),
		.str_offsets = view(&s->str_offsets),
		.rnglists = view(&s->rnglists),
		.cu_index = view(&s->index),
	};
}

/* A row of an index: where the parts of a split unit are. */
struct index_row {
	uint64_t id;
	uint32_t info, info_bytes, abbrev, abbrev_bytes, str_offsets, str_offsets_bytes, rnglists,
		rnglists_bytes;
};

/* An index with a slot for each of `slots`, whose rows are from 1 on; id 0: the slot is free. */
static inline void put_index(
	struct split_fixture *s, const struct index_row *slots, uint32_t slot_count)
{
	static const uint32_t columns[] = { 1, 3, 6, 8 }; /* DW_SECT_… */
	struct section_bytes *index = &s->index;
	uint32_t row = 0;

	put(index, s->version < 5 ? 2 : 5, 4);
	put(index, 4, 4);
	put(index, slot_count, 4); /* no fewer units */
	put(index, slot_count, 4);
	for (uint32_t i = 0; i < slot_count; i++)
		put(index, slots[i].id, 8);
	for (uint32_t i = 0; i < slot_count; i++)
		put(index, slots[i].id ? ++row : 0, 4);
	for (size_t i = 0; i < 4; i++)
		put(index, columns[i], 4);
	for (uint32_t i = 0; i < slot_count; i++) {
		if (!slots[i].id)
			continue;
		put(index, slots[i].info, 4);
		put(index, slots[i].abbrev, 4);
		put(index, slots[i].str_offsets, 4);
		put(index, slots[i].rnglists, 4);
	}
	for (uint32_t i = 0; i < slot_count; i++)
		if (!slots[i].id)
			put(index, 0, 16);
	for (uint32_t i = 0; i < slot_count; i++) {
		if (!slots[i].id)
			continue;
		put(index, slots[i].info_bytes, 4);
		put(index, slots[i].abbrev_bytes, 4);
		put(index, slots[i].str_offsets_bytes, 4);
		put(index, slots[i].rnglists_bytes, 4);
	}
	for (uint32_t i = 0; i < slot_count; i++)
		if (!slots[i].id)
			put(index, 0, 16);
}

/* Adds an index that has all parts so far as one unit. */
static inline void put_index_of_all(struct split_fixture *s, uint64_t id)
{
	const struct index_row row = {
		.id = id,
		.info_bytes = (uint32_t)s->info.size,
		.abbrev_bytes = (uint32_t)s->abbrev.size,
		.str_offsets_bytes = (uint32_t)s->str_offsets.size,
		.rnglists_bytes = (uint32_t)s->rnglists.size,
	};

	put_index(s, &row, 1);
}
