/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Builds DWARF sections of some kilobytes, DIE by DIE. */
#pragma once

#include "dwarf/dwarf_sections.h"

#include <assert.h>
#include <dwarf.h>
#include <stdint.h>
#include <string.h>

enum { DWARF_FIXTURE_BYTES = 16 * 1024 };

struct section_bytes {
	uint8_t bytes[DWARF_FIXTURE_BYTES];
	size_t size;
};

static inline void put(struct section_bytes *section, uint64_t value, size_t size)
{
	assert(section->size + size <= sizeof(section->bytes));
	for (size_t i = 0; i < size; i++)
		section->bytes[section->size++] = (uint8_t)(i < 8 ? value >> (8 * i) : 0);
}

static inline void put_text(struct section_bytes *section, const char *text)
{
	assert(section->size + strlen(text) < sizeof(section->bytes));
	memcpy(section->bytes + section->size, text, strlen(text) + 1);
	section->size += strlen(text) + 1;
}

static inline void put_uleb(struct section_bytes *section, uint64_t value)
{
	do {
		put(section, (value & 0x7f) | (value > 0x7f ? 0x80 : 0), 1);
		value >>= 7;
	} while (value > 0);
}

static inline void patch(
	struct section_bytes *section, size_t position, uint64_t value, size_t size)
{
	size_t end = section->size;

	section->size = position;
	put(section, value, size);
	section->size = end;
}

/* The abbreviations. Those with a plural name have children. */
enum {
	UNIT = 1,	   /* name, comp_dir, language, stmt_list */
	FUNCTIONS,	   /* name, low_pc, high_pc */
	FUNCTION,	   /* the same */
	INLINED_CALLS,	   /* abstract_origin, low_pc, high_pc, call_file, call_line, call_column */
	INLINED_CALL,	   /* the same */
	ABSTRACT,	   /* a function: name, linkage_name */
	ABSTRACT_OF,	   /* a function: specification */
	BLOCKS,		   /* no attributes */
	TYPES,		   /* a class: sibling */
	TYPES_OF_NOBODY,   /* a class: no attributes */
	ENUMERATION,	   /* no attributes */
	FUNCTION_OF,	   /* specification, low_pc, high_pc */
	NAMED_FUNCTION_OF, /* name, specification, low_pc, high_pc */
	FUNCTION_IN_RANGES,    /* name, ranges */
	VARIABLE,	       /* name, an expression */
	FUNCTION_ELSEWHERE,    /* DW_FORM_ref_addr of an abstract one, low_pc, high_pc */
	FUNCTION_IN_ALTERNATE, /* DW_FORM_GNU_ref_alt, low_pc, high_pc */
	FUNCTION_TO_END,       /* name, low_pc, high_pc as an address */
	PARTIAL_UNIT,	       /* no attributes */
	UNIT_WITHOUT_LINES,    /* no attributes */
	DEEPER,		       /* a block in a form that nobody knows */
	SKELETON,	       /* a unit: dwo_name, comp_dir, low_pc, addr_base */
	SKELETON_WITH_ID,      /* a unit of DWARF 4: the same, dwo_id, ranges_base */
};

struct dwarf_fixture {
	struct section_bytes info, abbrev, line, ranges, addr, str, str_offsets;
	uint16_t version;
	bool is_64_bit; /* the format */
	uint8_t unit_type;
	bool has_no_ranges; /* the section is missing */
	size_t unit;	    /* where the open one begins in `info` */
};

static inline void put_abbreviation(struct dwarf_fixture *fixture, uint64_t code, uint64_t tag,
	bool has_children, const uint16_t *attributes)
{
	put_uleb(&fixture->abbrev, code);
	put_uleb(&fixture->abbrev, tag);
	put(&fixture->abbrev, has_children, 1);
	for (; *attributes; attributes += 2) {
		put_uleb(&fixture->abbrev, attributes[0]);
		put_uleb(&fixture->abbrev, attributes[1]);
	}
	put(&fixture->abbrev, 0, 2);
}

#define ATTRIBUTES(...) ((const uint16_t[]){ __VA_ARGS__ __VA_OPT__(, ) 0 })
#define PC_RANGE	DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc, DW_FORM_data4
#define CALL_PLACE                                                                         \
	DW_AT_call_file, DW_FORM_data1, DW_AT_call_line, DW_FORM_data1, DW_AT_call_column, \
		DW_FORM_udata

static inline void put_functions(struct dwarf_fixture *f)
{
	put_abbreviation(f, FUNCTIONS, DW_TAG_subprogram, true,
		ATTRIBUTES(DW_AT_name, DW_FORM_string, PC_RANGE));
	put_abbreviation(f, FUNCTION, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_name, DW_FORM_string, PC_RANGE));
	put_abbreviation(f, ABSTRACT, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_name, DW_FORM_string, DW_AT_linkage_name, DW_FORM_string));
	put_abbreviation(f, ABSTRACT_OF, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_specification, DW_FORM_ref4));
	put_abbreviation(f, FUNCTION_OF, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_specification, DW_FORM_ref4, PC_RANGE));
	put_abbreviation(f, NAMED_FUNCTION_OF, DW_TAG_subprogram, false,
		ATTRIBUTES(
			DW_AT_name, DW_FORM_string, DW_AT_specification, DW_FORM_ref4, PC_RANGE));
	put_abbreviation(f, FUNCTION_IN_RANGES, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_name, DW_FORM_string, DW_AT_ranges,
			f->version < 4 ? DW_FORM_data4 : DW_FORM_sec_offset));
	put_abbreviation(f, FUNCTION_ELSEWHERE, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_abstract_origin, DW_FORM_ref_addr, PC_RANGE));
	put_abbreviation(f, FUNCTION_IN_ALTERNATE, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_abstract_origin, DW_FORM_GNU_ref_alt, PC_RANGE));
	put_abbreviation(f, FUNCTION_TO_END, DW_TAG_subprogram, false,
		ATTRIBUTES(DW_AT_name, DW_FORM_string, DW_AT_low_pc, DW_FORM_addr, DW_AT_high_pc,
			DW_FORM_addr));
}

static inline void put_skeletons(struct dwarf_fixture *f)
{
	put_abbreviation(f, SKELETON, DW_TAG_skeleton_unit, false,
		ATTRIBUTES(DW_AT_dwo_name, DW_FORM_string, DW_AT_comp_dir, DW_FORM_string,
			DW_AT_low_pc, DW_FORM_addr, DW_AT_addr_base, DW_FORM_sec_offset));
	put_abbreviation(f, SKELETON_WITH_ID, DW_TAG_compile_unit, false,
		ATTRIBUTES(DW_AT_GNU_dwo_name, DW_FORM_string, DW_AT_comp_dir, DW_FORM_string,
			DW_AT_low_pc, DW_FORM_addr, DW_AT_GNU_addr_base, DW_FORM_sec_offset,
			DW_AT_GNU_dwo_id, DW_FORM_data8, DW_AT_GNU_ranges_base,
			DW_FORM_sec_offset));
}

static inline void put_abbreviations(struct dwarf_fixture *f)
{
	put_abbreviation(f, UNIT, DW_TAG_compile_unit, true,
		ATTRIBUTES(DW_AT_name, DW_FORM_string, DW_AT_comp_dir, DW_FORM_string,
			DW_AT_language, DW_FORM_data1, DW_AT_stmt_list,
			f->version < 4 ? DW_FORM_data4 : DW_FORM_sec_offset));
	put_functions(f);
	put_abbreviation(f, INLINED_CALLS, DW_TAG_inlined_subroutine, true,
		ATTRIBUTES(DW_AT_abstract_origin, DW_FORM_ref4, PC_RANGE, CALL_PLACE));
	put_abbreviation(f, INLINED_CALL, DW_TAG_inlined_subroutine, false,
		ATTRIBUTES(DW_AT_abstract_origin, DW_FORM_ref4, PC_RANGE, CALL_PLACE));
	put_abbreviation(f, BLOCKS, DW_TAG_lexical_block, true, ATTRIBUTES());
	put_abbreviation(
		f, TYPES, DW_TAG_class_type, true, ATTRIBUTES(DW_AT_sibling, DW_FORM_ref4));
	put_abbreviation(f, TYPES_OF_NOBODY, DW_TAG_class_type, true, ATTRIBUTES());
	put_abbreviation(f, ENUMERATION, DW_TAG_enumeration_type, true, ATTRIBUTES());
	put_abbreviation(f, VARIABLE, DW_TAG_variable, false,
		ATTRIBUTES(DW_AT_name, DW_FORM_string, DW_AT_location, DW_FORM_block1));
	put_abbreviation(f, PARTIAL_UNIT, DW_TAG_partial_unit, true, ATTRIBUTES());
	put_abbreviation(f, UNIT_WITHOUT_LINES, DW_TAG_compile_unit, true, ATTRIBUTES());
	put_abbreviation(f, DEEPER, DW_TAG_lexical_block, true, ATTRIBUTES(DW_AT_name, 0x7f));
	put_skeletons(f);
	put(&f->abbrev, 0, 1);
}

static inline void put_offset(
	struct dwarf_fixture *f, struct section_bytes *section, uint64_t value)
{
	put(section, value, f->is_64_bit ? 8 : 4);
}

static inline void put_length(struct dwarf_fixture *f, struct section_bytes *section)
{
	if (f->is_64_bit)
		put(section, 0xffffffff, 4);
	put_offset(f, section, 0);
}

/* Of a unit or a line table that begins at `start`. */
static inline void patch_length(
	struct dwarf_fixture *f, struct section_bytes *section, size_t start)
{
	size_t length_bytes = f->is_64_bit ? 12 : 4;

	patch(section, start + (f->is_64_bit ? 4 : 0), section->size - start - length_bytes,
		f->is_64_bit ? 8 : 4);
}

static inline void begin_unit(struct dwarf_fixture *f)
{
	if (f->abbrev.size == 0)
		put_abbreviations(f);
	f->unit = f->info.size;
	put_length(f, &f->info);
	put(&f->info, f->version, 2);
	if (f->version >= 5) {
		put(&f->info, f->unit_type ? f->unit_type : DW_UT_compile, 1);
		put(&f->info, 8, 1);
	}
	put_offset(f, &f->info, 0);
	if (f->version < 5)
		put(&f->info, 8, 1);
}

static inline void end_unit(struct dwarf_fixture *f)
{
	patch_length(f, &f->info, f->unit);
}

/* Begins a DIE and returns its offset in the unit, for references. */
static inline size_t put_die(struct dwarf_fixture *f, uint64_t code)
{
	size_t offset = f->info.size - f->unit;

	put_uleb(&f->info, code);
	return offset;
}

static inline void put_end(struct dwarf_fixture *f)
{
	put(&f->info, 0, 1);
}

static inline void put_pc_range(struct dwarf_fixture *f, uint64_t start, uint64_t size)
{
	put(&f->info, start, 8);
	put(&f->info, size, 4);
}

static inline size_t put_unit(struct dwarf_fixture *f, uint8_t language, uint64_t lines)
{
	size_t offset = put_die(f, UNIT);

	put_text(&f->info, "a.c");
	put_text(&f->info, "/src");
	put(&f->info, language, 1);
	put_offset(f, &f->info, lines);
	return offset;
}

/* FUNCTION, FUNCTIONS. */
static inline size_t put_function(
	struct dwarf_fixture *f, uint64_t code, const char *name, uint64_t start, uint64_t size)
{
	size_t offset = put_die(f, code);

	put_text(&f->info, name);
	put_pc_range(f, start, size);
	return offset;
}

static inline size_t put_abstract(struct dwarf_fixture *f, const char *name, const char *linkage)
{
	size_t offset = put_die(f, ABSTRACT);

	put_text(&f->info, name);
	put_text(&f->info, linkage);
	return offset;
}

/* INLINED_CALL, INLINED_CALLS; `line` is its place's in file 1, and its column ten times that. */
static inline void put_inlined(struct dwarf_fixture *f, uint64_t code, size_t origin,
	uint64_t start, uint64_t size, uint8_t line)
{
	(void)put_die(f, code);
	put(&f->info, origin, 4);
	put_pc_range(f, start, size);
	put(&f->info, 1, 1);
	put(&f->info, line, 1);
	put_uleb(&f->info, 10U * line);
}

/* A unit of one function of 16 bytes. */
static inline void put_one_function(struct dwarf_fixture *f, const char *name, uint64_t start)
{
	begin_unit(f);
	(void)put_die(f, UNIT_WITHOUT_LINES);
	(void)put_function(f, FUNCTION, name, start, 0x10);
	put_end(f);
	end_unit(f);
}

static inline struct dwarf_bytes view(const struct section_bytes *section)
{
	return (struct dwarf_bytes){
		.position = section->size ? section->bytes : NULL,
		.end = section->size ? section->bytes + section->size : NULL,
	};
}

/* The sections without a file around them. */
static inline struct dwarf_sections view_sections(const struct dwarf_fixture *f)
{
	const bool has_pairs = f->version < 5;

	return (struct dwarf_sections){
		.info = view(&f->info),
		.abbrev = view(&f->abbrev),
		.line = view(&f->line),
		.str = view(&f->str),
		.str_offsets = view(&f->str_offsets),
		.addr = view(&f->addr),
		.ranges = has_pairs && !f->has_no_ranges ? view(&f->ranges)
							 : (struct dwarf_bytes){ 0 },
		.rnglists = has_pairs || f->has_no_ranges ? (struct dwarf_bytes){ 0 }
							  : view(&f->ranges),
	};
}

static inline void dwarf_fixture_init(struct dwarf_fixture *f)
{
	memset(f, 0, sizeof(*f));
	f->version = 4;
}
