/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One compilation unit and its DIEs, read one after the other as they stand in .debug_info. Each
 * DIE is looked at once, however many siblings are passed over.
 *
 * A unit's first DIE has bases: where the unit's addresses, string offsets and range lists begin in
 * sections that all units share. A split unit takes its addresses from its skeleton, the unit in
 * the main file that stands for it. A value object that borrows everything.
 */
#pragma once

#include "dwarf/dwarf_abbreviations.h"
#include "dwarf/dwarf_sections.h"

struct dwarf_unit {
	const struct dwarf_sections *sections;
	const struct dwarf_sections *alternate; /* of the file that dwz made; NULL: none */
	const struct dwarf_abbreviations *abbreviations;
	const uint8_t *header, *first_die, *end;
	struct dwarf_encoding encoding;
	uint8_t type; /* DW_UT_…; before DWARF 5 by the first DIE */
	bool is_split;
	bool has_id;
	uint64_t id;		       /* a skeleton and its split unit have the same one */
	uint64_t abbreviations_offset; /* in their section */
	/* Each begins at the unit's base, and is empty if the base makes no sense. */
	struct dwarf_bytes addresses, string_offsets;
	struct dwarf_bytes range_lists; /* DWARF 5: the offsets of numbered lists */
	struct dwarf_bytes ranges; /* DWARF 4: .debug_ranges, as the unit counts offsets in it */
	struct dwarf_bytes split_ranges; /* of a skeleton: `ranges` of its split unit */
	uint64_t base_address;		 /* that ranges are relative to */
};

struct dwarf_value {
	const uint8_t *bytes;
	int64_t constant; /* of DW_FORM_implicit_const */
	uint16_t form;
	uint16_t value_bytes; /* or DWARF_SIZE_VARIES */
	uint8_t class;
};

struct dwarf_die {
	const uint8_t *start;
	const uint8_t *next; /* behind its attributes: its first child, if it has children */
	const struct dwarf_abbreviation *abbreviation; /* NULL: the end of a list of siblings */
	uint32_t present;			       /* bits of enum dwarf_attribute */
	struct dwarf_value values[DWARF_ATTRIBUTES];   /* of those present */
};

/* Reads the unit's header at `header` in .debug_info. Returns 0; -EBADMSG malformed. */
int dwarf_unit_open(
	struct dwarf_unit *ret_unit, const struct dwarf_sections *sections, const uint8_t *header);

/*
 * Reads the abbreviations and the first DIE. Then the unit's DIEs are readable, until
 * `abbreviations` read another table. `skeleton` is for a split unit, else NULL. Returns 0;
 * -EBADMSG malformed; -ENOMEM.
 */
int dwarf_unit_load(struct dwarf_unit *unit, struct dwarf_abbreviations *abbreviations,
	const struct dwarf_unit *skeleton, struct dwarf_die *ret_first);

/* Reads the DIE at `position`, which is within the unit. Returns 0 or -EBADMSG. */
int dwarf_unit_read_die(
	const struct dwarf_unit *unit, const uint8_t *position, struct dwarf_die *ret_die);

/* As above, but may omit the attributes of a DIE of DWARF_KIND_OTHER; much faster. */
int dwarf_unit_scan_die(
	const struct dwarf_unit *unit, const uint8_t *position, struct dwarf_die *ret_die);

static inline bool dwarf_die_has(const struct dwarf_die *die, enum dwarf_attribute attribute)
{
	return die->present >> attribute & 1;
}

/* Return the value of an attribute that the DIE has. False: another form, or no valid value. */
bool dwarf_unit_constant(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_value);
bool dwarf_unit_address(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_address);
/* Returns the number of an address, a string or a list of ranges. */
bool dwarf_unit_index(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_index);
/* Returns the address of that number. */
bool dwarf_unit_numbered_address(
	const struct dwarf_unit *unit, uint64_t number, uint64_t *ret_address);
/* Returns the target of a reference into this unit. */
bool dwarf_unit_reference(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, const uint8_t **ret_target);
/*
 * Returns the target of a reference to another unit: an offset in .debug_info of this file or of
 * the alternate file.
 */
bool dwarf_unit_far_reference(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, bool *ret_is_alternate, uint64_t *ret_offset);
/* Is the string in the alternate file? */
bool dwarf_unit_has_alternate_string(const struct dwarf_die *die, enum dwarf_attribute attribute);
/* Returns a string that the file owns; NULL: none. */
const char *dwarf_unit_string(
	const struct dwarf_unit *unit, const struct dwarf_die *die, enum dwarf_attribute attribute);
