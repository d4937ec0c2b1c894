/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_split.h"

#include <dwarf.h>
#include <errno.h>

/* Returns 1, after which its DIEs may be read; 0; -EBADMSG; -ENOMEM. Before DWARF 5 the id is in
 * the first DIE. */
static int is_split_of(struct dwarf_unit *unit, struct dwarf_abbreviations *abbreviations,
	const struct dwarf_unit *skeleton, struct dwarf_die *ret_first)
{
	int r;

	if (unit->encoding.version >= 5 &&
		(unit->type != DW_UT_split_compile || unit->id != skeleton->id))
		return 0;
	if (unit->encoding.address_bytes != skeleton->encoding.address_bytes)
		return -EBADMSG;
	r = dwarf_unit_load(unit, abbreviations, skeleton, ret_first);
	if (r < 0)
		return r;
	return unit->has_id && unit->id == skeleton->id;
}

int dwarf_split_find(const struct dwarf_sections *split, const struct dwarf_unit *skeleton,
	struct dwarf_abbreviations *abbreviations, uint64_t *units_left,
	struct dwarf_unit *ret_unit, struct dwarf_die *ret_first)
{
	struct dwarf_bytes bytes = split->info;
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
		r = dwarf_unit_open(&unit, split, header);
		if (r == 0)
			r = is_split_of(&unit, abbreviations, skeleton, ret_first);
		if (r == 1)
			*ret_unit = unit;
	}
	return r == 1 ? 0 : r < 0 ? r : -ENOENT;
}
