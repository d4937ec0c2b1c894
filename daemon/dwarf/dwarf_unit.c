/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <endian.h>
#include <errno.h>

static struct dwarf_bytes bytes_from(const struct dwarf_unit *unit, const uint8_t *position)
{
	return (struct dwarf_bytes){
		.position = position,
		.end = unit->end,
		.is_swapped = unit->is_swapped,
	};
}

/* DWARF 5, 7.5.1. */
static int read_header(struct dwarf_unit *unit)
{
	struct dwarf_bytes bytes = bytes_from(unit, unit->header);
	uint64_t length = dwarf_bytes_unit_length(&bytes, &unit->encoding.offset_bytes);

	if (bytes.is_short || length > dwarf_bytes_left(&bytes))
		return -EBADMSG;
	unit->end = bytes.end = bytes.position + length;
	unit->encoding.version = dwarf_bytes_u16(&bytes);
	unit->type = DW_UT_compile;
	if (unit->encoding.version >= 5) {
		unit->type = dwarf_bytes_u8(&bytes);
		unit->encoding.address_bytes = dwarf_bytes_u8(&bytes);
	}
	unit->abbreviations_offset = dwarf_bytes_integer(&bytes, unit->encoding.offset_bytes);
	if (unit->encoding.version < 5)
		unit->encoding.address_bytes = dwarf_bytes_u8(&bytes);
	if (unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile)
		unit->id = dwarf_bytes_u64(&bytes);
	if (bytes.is_short || unit->encoding.version < 2 || unit->encoding.version > 5)
		return -EBADMSG;
	if (unit->encoding.address_bytes != 4 && unit->encoding.address_bytes != 8)
		return -EBADMSG;
	/* libdw has found the first DIE where it thinks that the header ends. */
	if (!unit->first_die)
		unit->first_die = bytes.position;
	return unit->first_die >= bytes.position && unit->first_die < unit->end ? 0 : -EBADMSG;
}

int dwarf_unit_begin(struct dwarf_unit *ret_unit, const struct dwarf_sections *sections,
	const struct dwarf_skeleton *skeleton, const uint8_t *header)
{
	struct dwarf_unit unit = {
		.skeleton = skeleton,
		.sections = sections,
		.header = header,
		.end = sections->info.end,
		.is_swapped = sections->info.is_swapped,
	};
	int r = read_header(&unit);

	if (r == 0)
		*ret_unit = unit;
	return r;
}

int dwarf_unit_load(struct dwarf_unit *unit, struct dwarf_abbreviations *abbreviations)
{
	unit->abbreviations = abbreviations;
	return dwarf_abbreviations_read(
		abbreviations, &unit->sections->abbrev, unit->abbreviations_offset, unit->encoding);
}

int dwarf_unit_open(struct dwarf_unit *ret_unit, const struct dwarf_sections *sections,
	struct dwarf_abbreviations *abbreviations, Dwarf_Die *cu_die)
{
	const struct dwarf_bytes *info = &sections->info;
	struct dwarf_unit unit = {
		.cu = cu_die->cu,
		.sections = sections,
		.first_die = cu_die->addr,
		.end = info->end,
		.is_swapped = info->is_swapped,
	};
	Dwarf_Off offset = dwarf_cuoffset(cu_die); /* in the unit */
	int r;

	/* A section that there is twice may be libdw's one time and ours the other. */
	if (!info->position || unit.first_die < info->position || unit.first_die >= info->end ||
		offset > (uint64_t)(unit.first_die - info->position))
		return -EBADMSG;
	unit.header = unit.first_die - offset;
	r = read_header(&unit);
	if (r == 0)
		r = dwarf_unit_load(&unit, abbreviations);
	if (r < 0)
		return r;
	*ret_unit = unit;
	return 0;
}

static void skip_value(struct dwarf_bytes *bytes, uint64_t form)
{
	switch (form) {
	case DW_FORM_string:
		(void)dwarf_bytes_string(bytes);
		break;
	case DW_FORM_block1:
		(void)dwarf_bytes_take(bytes, dwarf_bytes_u8(bytes));
		break;
	case DW_FORM_block2:
		(void)dwarf_bytes_take(bytes, dwarf_bytes_u16(bytes));
		break;
	case DW_FORM_block4:
		(void)dwarf_bytes_take(bytes, dwarf_bytes_u32(bytes));
		break;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		(void)dwarf_bytes_take(bytes, dwarf_bytes_uleb(bytes));
		break;
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		(void)dwarf_bytes_uleb(bytes);
		break;
	default:
		/* DW_FORM_indirect too: nobody writes it, and its sizes could be anything. */
		bytes->is_short = true;
	}
}

static inline void skip_spec(struct dwarf_bytes *bytes, const struct dwarf_attribute_spec *spec)
{
	if (spec->value_bytes != DWARF_SIZE_VARIES)
		(void)dwarf_bytes_take(bytes, spec->value_bytes);
	else
		skip_value(bytes, spec->form);
}

/* Returns 1 where attributes follow, 0 at the end of siblings, -EBADMSG. */
static int begin_die(
	const struct dwarf_unit *unit, struct dwarf_bytes *bytes, struct dwarf_die *die)
{
	uint64_t code;

	die->start = bytes->position;
	die->present = 0;
	die->abbreviation = NULL;
	code = dwarf_bytes_uleb(bytes);
	die->next = bytes->position;
	if (bytes->is_short)
		return -EBADMSG;
	if (code == 0)
		return 0;
	die->abbreviation = dwarf_abbreviations_find(unit->abbreviations, code);
	return die->abbreviation ? 1 : -EBADMSG;
}

static int read_attributes(
	const struct dwarf_unit *unit, struct dwarf_bytes *bytes, struct dwarf_die *die)
{
	const struct dwarf_abbreviation *abbreviation = die->abbreviation;

	for (size_t i = 0; i < abbreviation->spec_count; i++) {
		const struct dwarf_attribute_spec *spec =
			&unit->abbreviations->specs[abbreviation->first_spec + i];

		if (spec->attribute != DWARF_ATTRIBUTES) {
			die->present |= 1U << spec->attribute;
			die->values[spec->attribute] = (struct dwarf_value){
				.bytes = bytes->position,
				.constant = spec->constant,
				.form = spec->form,
			};
		}
		skip_spec(bytes, spec);
	}
	die->next = bytes->position;
	return bytes->is_short ? -EBADMSG : 0;
}

int dwarf_unit_read_die(
	const struct dwarf_unit *unit, const uint8_t *position, struct dwarf_die *ret_die)
{
	struct dwarf_bytes bytes = bytes_from(unit, position);
	int r;

	r = begin_die(unit, &bytes, ret_die);
	return r <= 0 ? r : read_attributes(unit, &bytes, ret_die);
}

int dwarf_unit_scan_die(
	const struct dwarf_unit *unit, const uint8_t *position, struct dwarf_die *ret_die)
{
	struct dwarf_bytes bytes = bytes_from(unit, position);
	const struct dwarf_abbreviation *abbreviation;
	int r;

	r = begin_die(unit, &bytes, ret_die);
	if (r <= 0)
		return r;
	abbreviation = ret_die->abbreviation;
	if (abbreviation->kind != DWARF_KIND_OTHER ||
		abbreviation->values_bytes == DWARF_SIZE_VARIES)
		return read_attributes(unit, &bytes, ret_die);
	(void)dwarf_bytes_take(&bytes, abbreviation->values_bytes);
	ret_die->next = bytes.position;
	return bytes.is_short ? -EBADMSG : 0;
}

bool dwarf_unit_constant(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_value)
{
	const struct dwarf_value *value = &die->values[attribute];
	struct dwarf_bytes bytes = bytes_from(unit, value->bytes);

	switch (value->form) {
	case DW_FORM_implicit_const:
		*ret_value = (uint64_t)value->constant;
		return true;
	case DW_FORM_data1:
		*ret_value = dwarf_bytes_u8(&bytes);
		return true;
	case DW_FORM_data2:
		*ret_value = dwarf_bytes_u16(&bytes);
		return true;
	case DW_FORM_data4:
		*ret_value = dwarf_bytes_u32(&bytes);
		return true;
	case DW_FORM_data8:
		*ret_value = dwarf_bytes_u64(&bytes);
		return true;
	case DW_FORM_udata:
		*ret_value = dwarf_bytes_uleb(&bytes);
		return true;
	case DW_FORM_sdata:
		*ret_value = (uint64_t)dwarf_bytes_sleb(&bytes);
		return true;
	case DW_FORM_sec_offset:
		*ret_value = dwarf_bytes_integer(&bytes, unit->encoding.offset_bytes);
		return true;
	default:
		return false;
	}
}

static uint64_t read_u24(struct dwarf_bytes *bytes)
{
	uint64_t first = dwarf_bytes_u8(bytes), second = dwarf_bytes_u8(bytes);
	uint64_t third = dwarf_bytes_u8(bytes);
	bool is_big_endian = bytes->is_swapped == (BYTE_ORDER == LITTLE_ENDIAN);

	return second << 8 | (is_big_endian ? first << 16 | third : first | third << 16);
}

bool dwarf_unit_index(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_index)
{
	const struct dwarf_value *value = &die->values[attribute];
	struct dwarf_bytes bytes = bytes_from(unit, value->bytes);

	switch (value->form) {
	case DW_FORM_addrx:
	case DW_FORM_strx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		*ret_index = dwarf_bytes_uleb(&bytes);
		return true;
	case DW_FORM_addrx1:
	case DW_FORM_strx1:
		*ret_index = dwarf_bytes_u8(&bytes);
		return true;
	case DW_FORM_addrx2:
	case DW_FORM_strx2:
		*ret_index = dwarf_bytes_u16(&bytes);
		return true;
	case DW_FORM_addrx3:
	case DW_FORM_strx3:
		*ret_index = read_u24(&bytes);
		return true;
	case DW_FORM_addrx4:
	case DW_FORM_strx4:
		*ret_index = dwarf_bytes_u32(&bytes);
		return true;
	default:
		return false;
	}
}

/* An address that is told by its number. */
static bool numbered_address(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_address)
{
	Dwarf_Attribute indexed;
	uint64_t index;

	if (unit->skeleton)
		return dwarf_unit_index(unit, die, attribute, &index) &&
		       dwarf_skeleton_address(unit->skeleton, index, ret_address);
	indexed = dwarf_unit_attribute(unit, die, attribute);
	return dwarf_formaddr(&indexed, ret_address) == 0;
}

bool dwarf_unit_address(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_address)
{
	const struct dwarf_value *value = &die->values[attribute];
	struct dwarf_bytes bytes = bytes_from(unit, value->bytes);

	switch (value->form) {
	case DW_FORM_addr:
		*ret_address = dwarf_bytes_integer(&bytes, unit->encoding.address_bytes);
		return true;
	case DW_FORM_addrx:
	case DW_FORM_addrx1:
	case DW_FORM_addrx2:
	case DW_FORM_addrx3:
	case DW_FORM_addrx4:
	case DW_FORM_GNU_addr_index:
		return numbered_address(unit, die, attribute, ret_address);
	default:
		return false;
	}
}

bool dwarf_unit_reference(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, const uint8_t **ret_target)
{
	const struct dwarf_value *value = &die->values[attribute];
	struct dwarf_bytes bytes = bytes_from(unit, value->bytes);
	uint64_t offset;

	switch (value->form) {
	case DW_FORM_ref1:
		offset = dwarf_bytes_u8(&bytes);
		break;
	case DW_FORM_ref2:
		offset = dwarf_bytes_u16(&bytes);
		break;
	case DW_FORM_ref4:
		offset = dwarf_bytes_u32(&bytes);
		break;
	case DW_FORM_ref8:
		offset = dwarf_bytes_u64(&bytes);
		break;
	case DW_FORM_ref_udata:
		offset = dwarf_bytes_uleb(&bytes);
		break;
	default:
		return false;
	}
	if (offset < (uint64_t)(unit->first_die - unit->header) ||
		offset >= (uint64_t)(unit->end - unit->header))
		return false;
	*ret_target = unit->header + offset;
	return true;
}

/* What comes before the offsets of .debug_str_offsets.dwo (DWARF 5, 7.26). */
static uint64_t string_offsets_header_bytes(const struct dwarf_encoding *encoding)
{
	if (encoding->version < 5)
		return 0;
	return encoding->offset_bytes == 8 ? 16 : 8;
}

static const char *string_in_piece(
	const struct dwarf_unit *unit, const struct dwarf_die *die, enum dwarf_attribute attribute)
{
	const struct dwarf_value *value = &die->values[attribute];
	const uint8_t offset_bytes = unit->encoding.offset_bytes;
	struct dwarf_bytes bytes = bytes_from(unit, value->bytes);
	struct dwarf_bytes offsets = unit->sections->str_offsets;
	uint64_t index, offset;

	if (value->form == DW_FORM_string)
		return dwarf_bytes_string(&bytes);
	if (value->form == DW_FORM_strp) {
		offset = dwarf_bytes_integer(&bytes, offset_bytes);
		return dwarf_sections_string(&unit->sections->str, offset);
	}
	if (!dwarf_unit_index(unit, die, attribute, &index) ||
		!dwarf_bytes_take(&offsets, string_offsets_header_bytes(&unit->encoding)) ||
		index >= dwarf_bytes_left(&offsets) / offset_bytes)
		return NULL;
	(void)dwarf_bytes_take(&offsets, index * offset_bytes);
	offset = dwarf_bytes_integer(&offsets, offset_bytes);
	return dwarf_sections_string(&unit->sections->str, offset);
}

const char *dwarf_unit_string(
	const struct dwarf_unit *unit, const struct dwarf_die *die, enum dwarf_attribute attribute)
{
	Dwarf_Attribute string = dwarf_unit_attribute(unit, die, attribute);

	if (unit->skeleton)
		return string_in_piece(unit, die, attribute);
	/* libdw would look for the alternate file on its own, and not ask whether it is the one. */
	if (!unit->has_alternate &&
		(string.form == DW_FORM_GNU_strp_alt || string.form == DW_FORM_strp_sup))
		return NULL;
	return dwarf_formstring(&string);
}

Dwarf_Attribute dwarf_unit_attribute(
	const struct dwarf_unit *unit, const struct dwarf_die *die, enum dwarf_attribute attribute)
{
	const struct dwarf_value *value = &die->values[attribute];

	/* libdw does not write to it. */
	return (Dwarf_Attribute){
		.form = value->form,
		.valp = (unsigned char *)(uintptr_t)value->bytes,
		.cu = unit->cu,
	};
}

Dwarf_Die dwarf_unit_die(const struct dwarf_unit *unit, const struct dwarf_die *die)
{
	return (Dwarf_Die){ .addr = (void *)(uintptr_t)die->start, .cu = unit->cu };
}
