/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One compilation unit and its DIEs, read one after the other as they stand in .debug_info: each is
 * looked at once, however many siblings are passed over, which libdw's own walk does not promise.
 * libdw answers what needs more than the DIE itself: indexed strings and addresses, ranges.
 * A value object that borrows everything.
 */
#pragma once

#include "extract/dwarf_abbreviations.h"
#include "extract/dwarf_sections.h"

#include <elfutils/libdw.h>

struct dwarf_unit {
	Dwarf_CU *cu;
	const struct dwarf_sections *sections;
	const struct dwarf_abbreviations *abbreviations;
	const uint8_t *header, *first_die, *end;
	struct dwarf_encoding encoding;
	bool is_swapped;
	bool has_alternate; /* else what is said to be in the alternate file is not there */
};

struct dwarf_value {
	const uint8_t *bytes;
	int64_t constant; /* of DW_FORM_implicit_const */
	uint16_t form;
};

struct dwarf_die {
	const uint8_t *start;
	const uint8_t *next; /* behind its attributes: its first child, if it has children */
	const struct dwarf_abbreviation *abbreviation; /* NULL: the end of a list of siblings */
	uint32_t present;			       /* bits of enum dwarf_attribute */
	struct dwarf_value values[DWARF_ATTRIBUTES];   /* of those present */
};

/*
 * The unit whose first DIE is `cu_die`. `abbreviations` are read anew if need be and are the unit's
 * as long as it is used. Returns 0; -EBADMSG it makes no sense; -ENOMEM.
 */
int dwarf_unit_open(struct dwarf_unit *ret_unit, const struct dwarf_sections *sections,
	struct dwarf_abbreviations *abbreviations, Dwarf_Die *cu_die);

/* The DIE at `position`, which is within the unit. Returns 0 or -EBADMSG. */
int dwarf_unit_read_die(
	const struct dwarf_unit *unit, const uint8_t *position, struct dwarf_die *ret_die);

/* As above, but a DIE of DWARF_KIND_OTHER may lack its attributes; much faster. */
int dwarf_unit_scan_die(
	const struct dwarf_unit *unit, const uint8_t *position, struct dwarf_die *ret_die);

static inline bool dwarf_die_has(const struct dwarf_die *die, enum dwarf_attribute attribute)
{
	return die->present >> attribute & 1;
}

/* Values of attributes that the DIE has. False: it has another form, or none that makes sense. */
bool dwarf_unit_constant(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_value);
bool dwarf_unit_address(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_address);
/* Of a reference into this unit. */
bool dwarf_unit_reference(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, const uint8_t **ret_target);
/* Borrowed from the file; NULL: none. */
const char *dwarf_unit_string(
	const struct dwarf_unit *unit, const struct dwarf_die *die, enum dwarf_attribute attribute);

/* For libdw. */
Dwarf_Attribute dwarf_unit_attribute(
	const struct dwarf_unit *unit, const struct dwarf_die *die, enum dwarf_attribute attribute);
Dwarf_Die dwarf_unit_die(const struct dwarf_unit *unit, const struct dwarf_die *die);
