/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_split.h"

#include <dwarf.h>
#include <errno.h>

/* Before DWARF 5 the id is in the first DIE. */
static int has_id_in_die(const struct dwarf_unit *unit, uint64_t expected)
{
	struct dwarf_die die;
	uint64_t id;
	int r = dwarf_unit_read_die(unit, unit->first_die, &die);

	if (r < 0)
		return r;
	return die.abbreviation && dwarf_die_has(&die, DWARF_DWO_ID) &&
	       dwarf_unit_constant(unit, &die, DWARF_DWO_ID, &id) && id == expected;
}

/* Returns 1, after which its DIEs may be read; 0; -EBADMSG; -ENOMEM. */
static int is_wanted(struct dwarf_unit *unit, struct dwarf_abbreviations *abbreviations)
{
	uint64_t expected = unit->skeleton->id;
	int r;

	if (unit->encoding.version >= 5 &&
		(unit->type != DW_UT_split_compile || unit->id != expected))
		return 0;
	if (unit->encoding.address_bytes != unit->skeleton->address_bytes)
		return -EBADMSG;
	r = dwarf_unit_load(unit, abbreviations);
	if (r < 0)
		return r;
	return unit->encoding.version >= 5 ? 1 : has_id_in_die(unit, expected);
}

int dwarf_split_find(const struct dwarf_sections *piece, const struct dwarf_skeleton *skeleton,
	struct dwarf_abbreviations *abbreviations, uint64_t *units_left,
	struct dwarf_unit *ret_unit)
{
	struct dwarf_bytes bytes = piece->info;
	int r = 0;

	while (r == 0 && dwarf_bytes_left(&bytes) > 0) {
		const uint8_t *header = bytes.position;
		struct dwarf_unit unit;
		uint8_t offset_bytes;

		if (*units_left == 0)
			return -EBADMSG;
		(*units_left)--;
		if (!dwarf_bytes_take(&bytes, dwarf_bytes_unit_length(&bytes, &offset_bytes)) ||
			bytes.is_short)
			return -EBADMSG;
		r = dwarf_unit_begin(&unit, piece, skeleton, header);
		if (r == 0)
			r = is_wanted(&unit, abbreviations);
		if (r == 1)
			*ret_unit = unit;
	}
	return r == 1 ? 0 : r < 0 ? r : -ENOENT;
}
