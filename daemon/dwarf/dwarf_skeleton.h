/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the unit of a piece of split DWARF (a .dwo file, or what a .dwp package has of it) takes
 * from the unit in the main file that stands for it: addresses, which it only has by number, and
 * with DWARF 4 its ranges of code. A value object that borrows the main file's sections.
 */
#pragma once

#include "dwarf/dwarf_bytes.h"

struct dwarf_unit;
struct dwarf_die;

struct dwarf_skeleton {
	uint64_t id;		      /* that the piece has too */
	struct dwarf_bytes addresses; /* .debug_addr, from the unit's first one on */
	struct dwarf_bytes ranges;    /* .debug_ranges, from what its offsets are counted from on */
	uint64_t base_address;	      /* that ranges are counted from */
	uint8_t address_bytes;
};

/* Of the unit whose first DIE is `die`. Returns 0; -EBADMSG it stands for no piece, or makes no
 * sense. */
int dwarf_skeleton_read(struct dwarf_skeleton *ret_skeleton, const struct dwarf_unit *unit,
	const struct dwarf_die *die);

/* The address of that number. False: there is none. */
bool dwarf_skeleton_address(
	const struct dwarf_skeleton *skeleton, uint64_t number, uint64_t *ret_address);
