/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_unit.h"

#include <dwarf.h>
#include <errno.h>

static struct dwarf_bytes bytes_from(const struct dwarf_unit *unit, const uint8_t *position)
{
	return (struct dwarf_bytes){
		.position = position,
		.end = unit->end,
		.is_swapped = unit->sections->info.is_swapped,
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
	unit->has_id = unit->type == DW_UT_skeleton || unit->type == DW_UT_split_compile;
	if (unit->has_id)
		unit->id = dwarf_bytes_u64(&bytes);
	if (unit->type == DW_UT_type || unit->type == DW_UT_split_type) {
		(void)dwarf_bytes_u64(&bytes); /* signature */
		(void)dwarf_bytes_integer(&bytes, unit->encoding.offset_bytes);
	}
	if (bytes.is_short || unit->encoding.version < 2 || unit->encoding.version > 5)
		return -EBADMSG;
	if (unit->encoding.address_bytes != 4 && unit->encoding.address_bytes != 8)
		return -EBADMSG;
	unit->first_die = bytes.position;
	return unit->first_die < unit->end ? 0 : -EBADMSG;
}

int dwarf_unit_open(
	struct dwarf_unit *ret_unit, const struct dwarf_sections *sections, const uint8_t *header)
{
	struct dwarf_unit unit = {
		.sections = sections,
		.header = header,
		.end = sections->info.end,
	};
	int r = read_header(&unit);

	if (r == 0)
		*ret_unit = unit;
	return r;
}

/* Returns `section` from the DIE's base on, or from `base` if it has none. */
static struct dwarf_bytes from_base(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t base, struct dwarf_bytes section)
{
	if ((dwarf_die_has(die, attribute) && !dwarf_unit_constant(unit, die, attribute, &base)) ||
		!dwarf_bytes_take(&section, base))
		return (struct dwarf_bytes){ 0 };
	return section;
}

/*
 * Without a base attribute, the unit's part begins after the section's header. DWARF 4 has no
 * headers.
 */
static void find_bases(struct dwarf_unit *unit, const struct dwarf_die *die)
{
	const struct dwarf_sections *sections = unit->sections;
	const uint64_t header = unit->encoding.version < 5	   ? 0
				: unit->encoding.offset_bytes == 8 ? 16
								   : 8;

	unit->addresses = from_base(unit, die, DWARF_ADDR_BASE, header, sections->addr);
	unit->string_offsets =
		from_base(unit, die, DWARF_STR_OFFSETS_BASE, header, sections->str_offsets);
	unit->range_lists =
		from_base(unit, die, DWARF_RNGLISTS_BASE, header + 4, sections->rnglists);
	unit->ranges = sections->ranges;
	unit->split_ranges = from_base(unit, die, DWARF_RANGES_BASE, 0, sections->ranges);
	/* Old compilers give a unit with many ranges an entry_pc instead of a low_pc. */
	if (!dwarf_die_has(die, DWARF_LOW_PC) ||
		!dwarf_unit_address(unit, die, DWARF_LOW_PC, &unit->base_address))
		(void)(dwarf_die_has(die, DWARF_ENTRY_PC) &&
			dwarf_unit_address(unit, die, DWARF_ENTRY_PC, &unit->base_address));
}

/* Finds the type and id that the header has from DWARF 5 on. */
static void find_type(struct dwarf_unit *unit, const struct dwarf_die *die)
{
	if (die->abbreviation->kind == DWARF_KIND_PARTIAL_UNIT)
		unit->type = DW_UT_partial;
	if (!dwarf_die_has(die, DWARF_DWO_ID) ||
		!dwarf_unit_constant(unit, die, DWARF_DWO_ID, &unit->id))
		return;
	unit->has_id = true;
	unit->type = dwarf_die_has(die, DWARF_DWO_NAME) ? DW_UT_skeleton : DW_UT_split_compile;
}

int dwarf_unit_load(struct dwarf_unit *unit, struct dwarf_abbreviations *abbreviations,
	const struct dwarf_unit *skeleton, struct dwarf_die *ret_first)
{
	int r;

	unit->abbreviations = abbreviations;
	r = dwarf_abbreviations_read(
		abbreviations, &unit->sections->abbrev, unit->abbreviations_offset, unit->encoding);
	if (r == 0)
		r = dwarf_unit_read_die(unit, unit->first_die, ret_first);
	if (r < 0)
		return r;
	if (!ret_first->abbreviation)
		return -EBADMSG;
	find_bases(unit, ret_first);
	if (unit->encoding.version < 5)
		find_type(unit, ret_first);
	if (skeleton) {
		unit->is_split = true;
		unit->addresses = skeleton->addresses;
		unit->ranges = skeleton->split_ranges;
		unit->base_address = skeleton->base_address;
	}
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
		(void)dwarf_bytes_uleb(bytes);
		break;
	default:
		/* DW_FORM_indirect is refused too: no compiler writes it. */
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

/* Returns 1 if attributes follow; 0 at the end of siblings; -EBADMSG. */
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
				.value_bytes = spec->value_bytes,
				.class = spec->class,
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

/* Reads a number of any class. */
static uint64_t read_number(const struct dwarf_unit *unit, const struct dwarf_value *value)
{
	struct dwarf_bytes bytes = bytes_from(unit, value->bytes);

	if (value->form == DW_FORM_implicit_const)
		return (uint64_t)value->constant;
	if (value->form == DW_FORM_sdata)
		return (uint64_t)dwarf_bytes_sleb(&bytes);
	return value->value_bytes == DWARF_SIZE_VARIES
		       ? dwarf_bytes_uleb(&bytes)
		       : dwarf_bytes_integer(&bytes, value->value_bytes);
}

static bool read_class(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, enum dwarf_class class, uint64_t *ret_number)
{
	const struct dwarf_value *value = &die->values[attribute];

	if (value->class != class)
		return false;
	*ret_number = read_number(unit, value);
	return true;
}

bool dwarf_unit_constant(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_value)
{
	return read_class(unit, die, attribute, DWARF_CLASS_CONSTANT, ret_value);
}

bool dwarf_unit_index(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_index)
{
	return read_class(unit, die, attribute, DWARF_CLASS_INDEX, ret_index);
}

bool dwarf_unit_numbered_address(
	const struct dwarf_unit *unit, uint64_t number, uint64_t *ret_address)
{
	const uint8_t address_bytes = unit->encoding.address_bytes;
	struct dwarf_bytes bytes = unit->addresses;

	if (number >= dwarf_bytes_left(&bytes) / address_bytes)
		return false;
	(void)dwarf_bytes_take(&bytes, number * address_bytes);
	*ret_address = dwarf_bytes_integer(&bytes, address_bytes);
	return true;
}

bool dwarf_unit_address(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, uint64_t *ret_address)
{
	uint64_t number;

	if (read_class(unit, die, attribute, DWARF_CLASS_ADDRESS, ret_address))
		return true;
	return dwarf_unit_index(unit, die, attribute, &number) &&
	       dwarf_unit_numbered_address(unit, number, ret_address);
}

bool dwarf_unit_reference(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, const uint8_t **ret_target)
{
	uint64_t offset;

	if (!read_class(unit, die, attribute, DWARF_CLASS_REFERENCE, &offset) ||
		offset < (uint64_t)(unit->first_die - unit->header) ||
		offset >= (uint64_t)(unit->end - unit->header))
		return false;
	*ret_target = unit->header + offset;
	return true;
}

/* Functions are not named by type signatures. */
bool dwarf_unit_far_reference(const struct dwarf_unit *unit, const struct dwarf_die *die,
	enum dwarf_attribute attribute, bool *ret_is_alternate, uint64_t *ret_offset)
{
	*ret_is_alternate =
		read_class(unit, die, attribute, DWARF_CLASS_ALTERNATE_REFERENCE, ret_offset);
	return *ret_is_alternate ||
	       read_class(unit, die, attribute, DWARF_CLASS_FAR_REFERENCE, ret_offset);
}

static const char *numbered_string(const struct dwarf_unit *unit, uint64_t number)
{
	const uint8_t offset_bytes = unit->encoding.offset_bytes;
	struct dwarf_bytes offsets = unit->string_offsets;

	if (number >= dwarf_bytes_left(&offsets) / offset_bytes)
		return NULL;
	(void)dwarf_bytes_take(&offsets, number * offset_bytes);
	return dwarf_sections_string(
		&unit->sections->str, dwarf_bytes_integer(&offsets, offset_bytes));
}

bool dwarf_unit_has_alternate_string(const struct dwarf_die *die, enum dwarf_attribute attribute)
{
	return die->values[attribute].form == DW_FORM_strp_sup;
}

const char *dwarf_unit_string(
	const struct dwarf_unit *unit, const struct dwarf_die *die, enum dwarf_attribute attribute)
{
	const struct dwarf_value *value = &die->values[attribute];
	const uint8_t offset_bytes = unit->encoding.offset_bytes;
	struct dwarf_bytes bytes = bytes_from(unit, value->bytes);
	uint64_t number;

	switch (value->form) {
	case DW_FORM_string:
		return dwarf_bytes_string(&bytes);
	case DW_FORM_strp:
		return dwarf_sections_string(
			&unit->sections->str, dwarf_bytes_integer(&bytes, offset_bytes));
	case DW_FORM_line_strp:
		return dwarf_sections_string(
			&unit->sections->line_str, dwarf_bytes_integer(&bytes, offset_bytes));
	case DW_FORM_strp_sup:
		return unit->alternate ? dwarf_sections_string(&unit->alternate->str,
						 dwarf_bytes_integer(&bytes, offset_bytes))
				       : NULL;
	default:
		return dwarf_unit_index(unit, die, attribute, &number)
			       ? numbered_string(unit, number)
			       : NULL;
	}
}
