/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The abbreviations of a compilation unit: the kinds of its DIEs and their attributes (DWARF 5,
 * 7.5.3). Only DIEs and attributes that lead to names of code are distinguished. Bounded; a table
 * is kept while successive units share it. One owner.
 */
#pragma once

#include "dwarf/dwarf_bytes.h"

#include <stddef.h>
#include <stdint.h>

/* The attributes that we read; all others are DWARF_ATTRIBUTES. */
enum dwarf_attribute {
	DWARF_SIBLING,
	DWARF_NAME,
	DWARF_LINKAGE_NAME,
	DWARF_ORIGIN,
	DWARF_SPECIFICATION,
	DWARF_LOW_PC,
	DWARF_HIGH_PC,
	DWARF_RANGES,
	DWARF_CALL_FILE,
	DWARF_CALL_LINE,
	DWARF_CALL_COLUMN,
	DWARF_STMT_LIST,
	DWARF_COMP_DIR,
	DWARF_LANGUAGE,
	DWARF_DWO_NAME,
	DWARF_DWO_ID,
	DWARF_ADDR_BASE,
	DWARF_ENTRY_PC,
	DWARF_RANGES_BASE,
	DWARF_RNGLISTS_BASE,
	DWARF_STR_OFFSETS_BASE,
	DWARF_ATTRIBUTES,
};

enum dwarf_attribute dwarf_attribute_of(unsigned int at);

/* The role of a DIE in the search for code. */
enum dwarf_kind {
	DWARF_KIND_OTHER,
	DWARF_KIND_FUNCTION,
	DWARF_KIND_INLINED,
	DWARF_KIND_TYPE,     /* may contain member functions */
	DWARF_KIND_CODELESS, /* never contains code */
	DWARF_KIND_PARTIAL_UNIT,
};

/* The parameters that sizes of values depend on. */
struct dwarf_encoding {
	uint16_t version;
	uint8_t address_bytes;
	uint8_t offset_bytes; /* 4, or 8 in the 64-bit format */
};

/* The meaning of a value, where it is a number. */
enum dwarf_class {
	DWARF_CLASS_OTHER,
	DWARF_CLASS_ADDRESS,
	DWARF_CLASS_CONSTANT,	   /* or an offset in a section */
	DWARF_CLASS_INDEX,	   /* of an address, a string or a list of ranges */
	DWARF_CLASS_REFERENCE,	   /* in the unit */
	DWARF_CLASS_FAR_REFERENCE, /* in .debug_info */
	DWARF_CLASS_ALTERNATE_REFERENCE,
};

enum { DWARF_SIZE_VARIES = UINT16_MAX };

struct dwarf_attribute_spec {
	int64_t constant;     /* of DW_FORM_implicit_const */
	uint16_t form;	      /* a standard one in place of GNU's */
	uint16_t value_bytes; /* or DWARF_SIZE_VARIES */
	uint8_t class;
	uint8_t attribute;
};

struct dwarf_abbreviation {
	uint64_t code;
	uint32_t first_spec;
	uint16_t spec_count;
	uint16_t values_bytes; /* of all together, or DWARF_SIZE_VARIES */
	uint8_t kind;
	bool has_children;
};

struct dwarf_abbreviations {
	struct dwarf_abbreviation *items; /* by ascending code */
	size_t count, capacity;
	struct dwarf_attribute_spec *specs;
	size_t spec_count, spec_capacity;
	const uint8_t *source; /* the bytes of this table; NULL: no table */
	struct dwarf_encoding encoding;
	uint64_t budget_bytes; /* remaining to be read, for all tables */
};

void dwarf_abbreviations_init(struct dwarf_abbreviations *abbreviations);
void dwarf_abbreviations_done(struct dwarf_abbreviations *abbreviations);

/* Forgets the table, whose bytes are about to go. */
void dwarf_abbreviations_forget(struct dwarf_abbreviations *abbreviations);

/*
 * Reads the table at `offset` of .debug_abbrev, unless it is the current one. Returns 0; -EBADMSG
 * malformed or too big; -ENOMEM. After an error it is empty.
 */
int dwarf_abbreviations_read(struct dwarf_abbreviations *abbreviations,
	const struct dwarf_bytes *section, uint64_t offset, struct dwarf_encoding encoding);

/* Returns NULL if there is none. */
const struct dwarf_abbreviation *dwarf_abbreviations_search(
	const struct dwarf_abbreviations *abbreviations, uint64_t code);

static inline const struct dwarf_abbreviation *dwarf_abbreviations_find(
	const struct dwarf_abbreviations *abbreviations, uint64_t code)
{
	/* Codes are nearly always 1, 2, 3 and so on. */
	if (code - 1 < abbreviations->count && abbreviations->items[code - 1].code == code)
		return &abbreviations->items[code - 1];
	return dwarf_abbreviations_search(abbreviations, code);
}
