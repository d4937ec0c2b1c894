/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_range_list.h"

#include <dwarf.h>
#include <errno.h>

/* The last field of the header, before the offsets, is the number of lists. */
static bool find_numbered(
	const struct dwarf_unit *unit, uint64_t number, struct dwarf_bytes *entries)
{
	const uint8_t *section = unit->sections->rnglists.position;
	const uint8_t offset_bytes = unit->encoding.offset_bytes;
	struct dwarf_bytes lists = unit->range_lists, table = lists, count = lists;

	if (!lists.position || lists.position - section < 4)
		return false;
	count.position -= 4;
	if (number >= dwarf_bytes_u32(&count) || !dwarf_bytes_take(&table, number * offset_bytes) ||
		!dwarf_bytes_take(&lists, dwarf_bytes_integer(&table, offset_bytes)))
		return false;
	*entries = lists;
	return !table.is_short;
}

int dwarf_range_list_open(struct dwarf_range_list *ret_list, const struct dwarf_unit *unit,
	const struct dwarf_die *die)
{
	struct dwarf_range_list list = {
		.unit = unit,
		.entries = unit->encoding.version < 5 ? unit->ranges : unit->sections->rnglists,
		.base_address = unit->base_address,
	};
	uint64_t position;
	bool is_found;

	if (dwarf_unit_constant(unit, die, DWARF_RANGES, &position))
		is_found = dwarf_bytes_take(&list.entries, position);
	else
		is_found = unit->encoding.version >= 5 &&
			   dwarf_unit_index(unit, die, DWARF_RANGES, &position) &&
			   find_numbered(unit, position, &list.entries);
	if (!is_found)
		return -EBADMSG;
	*ret_list = list;
	return 0;
}

/* DWARF 4, 2.17.3. */
static int next_pair(struct dwarf_range_list *list, uint64_t *start, uint64_t *end)
{
	const uint8_t address_bytes = list->unit->encoding.address_bytes;
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

static uint64_t read_address(struct dwarf_range_list *list)
{
	return dwarf_bytes_integer(&list->entries, list->unit->encoding.address_bytes);
}

static uint64_t read_numbered_address(struct dwarf_range_list *list)
{
	uint64_t address = 0;

	if (!dwarf_unit_numbered_address(list->unit, dwarf_bytes_uleb(&list->entries), &address))
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
		list->base_address = read_numbered_address(list);
		break;
	case DW_RLE_startx_endx:
		low = read_numbered_address(list);
		high = read_numbered_address(list);
		break;
	case DW_RLE_startx_length:
		low = read_numbered_address(list);
		high = low + dwarf_bytes_uleb(entries);
		break;
	case DW_RLE_offset_pair:
		low = list->base_address + dwarf_bytes_uleb(entries);
		high = list->base_address + dwarf_bytes_uleb(entries);
		break;
	case DW_RLE_base_address:
		list->base_address = read_address(list);
		break;
	case DW_RLE_start_end:
		low = read_address(list);
		high = read_address(list);
		break;
	case DW_RLE_start_length:
		low = read_address(list);
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
	return list->unit->encoding.version < 5 ? next_pair(list, ret_start, ret_end)
						: next_entry(list, ret_start, ret_end);
}
