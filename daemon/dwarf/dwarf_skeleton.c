/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_skeleton.h"

#include "dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>

/* The id is in the header from DWARF 5 on (7.5.1.2). */
static bool find_id(const struct dwarf_unit *unit, const struct dwarf_die *die, uint64_t *ret_id)
{
	if (unit->encoding.version < 5)
		return dwarf_die_has(die, DWARF_DWO_ID) &&
		       dwarf_unit_constant(unit, die, DWARF_DWO_ID, ret_id);
	*ret_id = unit->id;
	return unit->type == DW_UT_skeleton;
}

/* The section from the base that the attribute tells on; else from `base` on. */
static int find_base(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t base, struct dwarf_bytes *section)
{
	if (dwarf_die_has(die, attribute) && !dwarf_unit_constant(unit, die, attribute, &base))
		return -EBADMSG;
	if (!section->position)
		return 0;
	return dwarf_bytes_take(section, base) ? 0 : -EBADMSG;
}

int dwarf_skeleton_read(struct dwarf_skeleton *ret_skeleton, const struct dwarf_unit *unit,
	const struct dwarf_die *die)
{
	struct dwarf_skeleton skeleton = {
		.addresses = unit->sections->addr,
		.ranges = unit->sections->ranges,
		.address_bytes = unit->encoding.address_bytes,
	};
	/* Behind the header of .debug_addr, which DWARF 4 does not have. */
	const uint64_t addresses = unit->encoding.version < 5 ? 0 : 8;
	int r;

	if (!dwarf_die_has(die, DWARF_DWO_NAME) || !find_id(unit, die, &skeleton.id))
		return -EBADMSG;
	r = find_base(unit, die, DWARF_ADDR_BASE, addresses, &skeleton.addresses);
	if (r == 0)
		r = find_base(unit, die, DWARF_RANGES_BASE, 0, &skeleton.ranges);
	if (r < 0)
		return r;
	if (dwarf_die_has(die, DWARF_LOW_PC) &&
		!dwarf_unit_address(unit, die, DWARF_LOW_PC, &skeleton.base_address))
		return -EBADMSG;
	*ret_skeleton = skeleton;
	return 0;
}

bool dwarf_skeleton_address(
	const struct dwarf_skeleton *skeleton, uint64_t number, uint64_t *ret_address)
{
	struct dwarf_bytes bytes = skeleton->addresses;
	uint64_t address;

	if (number >= dwarf_bytes_left(&bytes) / skeleton->address_bytes)
		return false;
	(void)dwarf_bytes_take(&bytes, number * skeleton->address_bytes);
	address = dwarf_bytes_integer(&bytes, skeleton->address_bytes);
	if (bytes.is_short)
		return false;
	*ret_address = address;
	return true;
}
