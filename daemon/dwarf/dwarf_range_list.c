/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_range_list.h"

#include <dwarf.h>
#include <errno.h>

/* Where the list of that number begins: the header has a table of their offsets behind it. */
static bool find_numbered(struct dwarf_bytes *section, uint64_t number)
{
	struct dwarf_bytes bytes = *section;
	struct dwarf_bytes lists;
	uint8_t offset_bytes;
	uint32_t count;

	(void)dwarf_bytes_unit_length(&bytes, &offset_bytes);
	(void)dwarf_bytes_u16(&bytes); /* version */
	(void)dwarf_bytes_u8(&bytes);  /* bytes of an address */
	(void)dwarf_bytes_u8(&bytes);  /* and of a segment */
	count = dwarf_bytes_u32(&bytes);
	if (bytes.is_short || number >= count)
		return false;
	lists = bytes;
	(void)dwarf_bytes_take(&bytes, number * offset_bytes);
	if (!dwarf_bytes_take(&lists, dwarf_bytes_integer(&bytes, offset_bytes)) || bytes.is_short)
		return false;
	*section = lists;
	return true;
}

int dwarf_range_list_open(struct dwarf_range_list *ret_list, const struct dwarf_unit *unit,
	const struct dwarf_die *die)
{
	struct dwarf_range_list list = {
		.skeleton = unit->skeleton,
		.entries = unit->encoding.version < 5 ? unit->skeleton->ranges
						      : unit->sections->rnglists,
		.base_address = unit->skeleton->base_address,
		.version = unit->encoding.version,
	};
	uint64_t position;
	bool is_found;

	if (dwarf_unit_constant(unit, die, DWARF_RANGES, &position))
		is_found = dwarf_bytes_take(&list.entries, position);
	else
		is_found = dwarf_unit_index(unit, die, DWARF_RANGES, &position) &&
			   list.version >= 5 && find_numbered(&list.entries, position);
	if (!is_found)
		return -EBADMSG;
	*ret_list = list;
	return 0;
}

/* DWARF 4, 2.17.3. */
static int next_pair(struct dwarf_range_list *list, uint64_t *start, uint64_t *end)
{
	const uint8_t address_bytes = list->skeleton->address_bytes;
	const uint64_t address_max = address_bytes == 8 ? UINT64_MAX : UINT32_MAX;
	uint64_t low = dwarf_bytes_integer(&list->entries, address_bytes);
	uint64_t high = dwarf_bytes_integer(&list->entries, address_bytes);

	if (list->entries.is_short)
		return -EBADMSG;
	if (low == 0 && high == 0)
		return 0;
	if (low == address_max) {
		list->base_address = high;
		low = high = 0;
	} else {
		low += list->base_address;
		high += list->base_address;
	}
	*start = low;
	*end = high;
	return 1;
}

static uint64_t take_address(struct dwarf_range_list *list)
{
	return dwarf_bytes_integer(&list->entries, list->skeleton->address_bytes);
}

static uint64_t take_numbered_address(struct dwarf_range_list *list)
{
	uint64_t address = 0;

	if (!dwarf_skeleton_address(list->skeleton, dwarf_bytes_uleb(&list->entries), &address))
		list->entries.is_short = true;
	return address;
}

/* DWARF 5, 7.25. */
static int next_entry(struct dwarf_range_list *list, uint64_t *start, uint64_t *end)
{
	struct dwarf_bytes *entries = &list->entries;
	uint64_t low = 0, high = 0;

	switch (dwarf_bytes_u8(entries)) {
	case DW_RLE_end_of_list:
		return entries->is_short ? -EBADMSG : 0;
	case DW_RLE_base_addressx:
		list->base_address = take_numbered_address(list);
		break;
	case DW_RLE_startx_endx:
		low = take_numbered_address(list);
		high = take_numbered_address(list);
		break;
	case DW_RLE_startx_length:
		low = take_numbered_address(list);
		high = low + dwarf_bytes_uleb(entries);
		break;
	case DW_RLE_offset_pair:
		low = list->base_address + dwarf_bytes_uleb(entries);
		high = list->base_address + dwarf_bytes_uleb(entries);
		break;
	case DW_RLE_base_address:
		list->base_address = take_address(list);
		break;
	case DW_RLE_start_end:
		low = take_address(list);
		high = take_address(list);
		break;
	case DW_RLE_start_length:
		low = take_address(list);
		high = low + dwarf_bytes_uleb(entries);
		break;
	default:
		return -EBADMSG;
	}
	if (entries->is_short)
		return -EBADMSG;
	*start = low;
	*end = high;
	return 1;
}

int dwarf_range_list_next(struct dwarf_range_list *list, uint64_t *ret_start, uint64_t *ret_end)
{
	return list->version < 5 ? next_pair(list, ret_start, ret_end)
				 : next_entry(list, ret_start, ret_end);
}
