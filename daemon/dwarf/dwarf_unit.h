/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One compilation unit and its DIEs, read one after the other as they stand in .debug_info: each is
 * looked at once, however many siblings are passed over, which libdw's own walk does not promise.
 * libdw answers what needs more than the DIE itself: indexed strings and addresses, ranges. Of a
 * piece of split DWARF, which libdw could only find by opening files, we know that ourselves.
 * A value object that borrows everything.
 */
#pragma once

#include "dwarf/dwarf_abbreviations.h"
#include "dwarf/dwarf_sections.h"
#include "dwarf/dwarf_skeleton.h"

#include <elfutils/libdw.h>

struct dwarf_unit {
	Dwarf_CU *cu;			       /* NULL of a piece */
	const struct dwarf_skeleton *skeleton; /* NULL but of a piece */
	const struct dwarf_sections *sections;
	const struct dwarf_abbreviations *abbreviations;
	const uint8_t *header, *first_die, *end;
	struct dwarf_encoding encoding;
	uint8_t type;		       /* DW_UT_…; DW_UT_compile before DWARF 5 */
	uint64_t id;		       /* of a skeleton or a piece, from DWARF 5 on */
	uint64_t abbreviations_offset; /* in their section */
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

/*
 * The unit of a piece whose header is at `header`, within .debug_info; what it takes from elsewhere
 * is in `skeleton`. Its DIEs may be read after dwarf_unit_load(). Returns 0; -EBADMSG.
 */
int dwarf_unit_begin(struct dwarf_unit *ret_unit, const struct dwarf_sections *sections,
	const struct dwarf_skeleton *skeleton, const uint8_t *header);
/* As of dwarf_unit_open(). Returns 0; -EBADMSG; -ENOMEM. */
int dwarf_unit_load(struct dwarf_unit *unit, struct dwarf_abbreviations *abbreviations);

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
/* The number of an address, a string or a list of ranges. */
bool dwarf_unit_index(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_index);
/* Of a reference into this unit. */
bool dwarf_unit_reference(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, const uint8_t **ret_target);
/* Borrowed from the file; NULL: none. */
const char *dwarf_unit_string(
	const struct dwarf_unit *unit, const struct dwarf_die *die, enum dwarf_attribute attribute);

/* For libdw, which knows nothing of pieces. */
Dwarf_Attribute dwarf_unit_attribute(
	const struct dwarf_unit *unit, const struct dwarf_die *die, enum dwarf_attribute attribute);
Dwarf_Die dwarf_unit_die(const struct dwarf_unit *unit, const struct dwarf_die *die);
