/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_abbreviations.h"

#include "base/array.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

enum {
	ITEMS_MAX = 1 << 18,
	SPECS_MAX = 1 << 20,  /* 16 MiB */
	ITEM_SPECS_MAX = 256, /* a DIE with all of them may take a single byte */
};

/* Bounds rereading: hostile units may use big tables in turn. */
static const uint64_t budget_bytes = 1ULL << 30;

enum dwarf_attribute dwarf_attribute_of(unsigned int at)
{
	switch (at) {
	case DW_AT_sibling:
		return DWARF_SIBLING;
	case DW_AT_name:
		return DWARF_NAME;
	case DW_AT_linkage_name:
	case DW_AT_MIPS_linkage_name:
		return DWARF_LINKAGE_NAME;
	case DW_AT_abstract_origin:
		return DWARF_ORIGIN;
	case DW_AT_specification:
		return DWARF_SPECIFICATION;
	case DW_AT_low_pc:
		return DWARF_LOW_PC;
	case DW_AT_high_pc:
		return DWARF_HIGH_PC;
	case DW_AT_ranges:
		return DWARF_RANGES;
	case DW_AT_call_file:
		return DWARF_CALL_FILE;
	case DW_AT_call_line:
		return DWARF_CALL_LINE;
	case DW_AT_call_column:
		return DWARF_CALL_COLUMN;
	case DW_AT_stmt_list:
		return DWARF_STMT_LIST;
	case DW_AT_comp_dir:
		return DWARF_COMP_DIR;
	case DW_AT_language:
		return DWARF_LANGUAGE;
	case DW_AT_dwo_name:
	case DW_AT_GNU_dwo_name:
		return DWARF_DWO_NAME;
	case DW_AT_GNU_dwo_id:
		return DWARF_DWO_ID;
	case DW_AT_addr_base:
	case DW_AT_GNU_addr_base:
		return DWARF_ADDR_BASE;
	case DW_AT_entry_pc:
		return DWARF_ENTRY_PC;
	case DW_AT_GNU_ranges_base:
		return DWARF_RANGES_BASE;
	case DW_AT_rnglists_base:
		return DWARF_RNGLISTS_BASE;
	case DW_AT_str_offsets_base:
		return DWARF_STR_OFFSETS_BASE;
	default:
		return DWARF_ATTRIBUTES;
	}
}

static enum dwarf_kind kind_of(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
		return DWARF_KIND_FUNCTION;
	case DW_TAG_inlined_subroutine:
		return DWARF_KIND_INLINED;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		return DWARF_KIND_TYPE;
	case DW_TAG_array_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
		return DWARF_KIND_CODELESS;
	case DW_TAG_partial_unit:
	case DW_TAG_type_unit:
		return DWARF_KIND_PARTIAL_UNIT;
	default:
		return DWARF_KIND_OTHER;
	}
}

enum {
	SIZE_VARIES, /* or the form is unknown */
	SIZE_NONE = UINT8_MAX - 2,
	SIZE_OFFSET,
	SIZE_ADDRESS,
};

/* DWARF 5, 7.5.5 and 7.5.6. */
static const struct {
	uint8_t class, size;
} forms[] = {
	[DW_FORM_addr] = { DWARF_CLASS_ADDRESS, SIZE_ADDRESS },
	[DW_FORM_data1] = { DWARF_CLASS_CONSTANT, 1 },
	[DW_FORM_data2] = { DWARF_CLASS_CONSTANT, 2 },
	[DW_FORM_data4] = { DWARF_CLASS_CONSTANT, 4 },
	[DW_FORM_data8] = { DWARF_CLASS_CONSTANT, 8 },
	[DW_FORM_data16] = { DWARF_CLASS_OTHER, 16 },
	[DW_FORM_udata] = { DWARF_CLASS_CONSTANT, SIZE_VARIES },
	[DW_FORM_sdata] = { DWARF_CLASS_CONSTANT, SIZE_VARIES },
	[DW_FORM_implicit_const] = { DWARF_CLASS_CONSTANT, SIZE_NONE },
	[DW_FORM_sec_offset] = { DWARF_CLASS_CONSTANT, SIZE_OFFSET },
	[DW_FORM_flag] = { DWARF_CLASS_OTHER, 1 },
	[DW_FORM_flag_present] = { DWARF_CLASS_OTHER, SIZE_NONE },
	[DW_FORM_addrx] = { DWARF_CLASS_INDEX, SIZE_VARIES },
	[DW_FORM_addrx1] = { DWARF_CLASS_INDEX, 1 },
	[DW_FORM_addrx2] = { DWARF_CLASS_INDEX, 2 },
	[DW_FORM_addrx3] = { DWARF_CLASS_INDEX, 3 },
	[DW_FORM_addrx4] = { DWARF_CLASS_INDEX, 4 },
	[DW_FORM_strx] = { DWARF_CLASS_INDEX, SIZE_VARIES },
	[DW_FORM_strx1] = { DWARF_CLASS_INDEX, 1 },
	[DW_FORM_strx2] = { DWARF_CLASS_INDEX, 2 },
	[DW_FORM_strx3] = { DWARF_CLASS_INDEX, 3 },
	[DW_FORM_strx4] = { DWARF_CLASS_INDEX, 4 },
	[DW_FORM_rnglistx] = { DWARF_CLASS_INDEX, SIZE_VARIES },
	[DW_FORM_ref1] = { DWARF_CLASS_REFERENCE, 1 },
	[DW_FORM_ref2] = { DWARF_CLASS_REFERENCE, 2 },
	[DW_FORM_ref4] = { DWARF_CLASS_REFERENCE, 4 },
	[DW_FORM_ref8] = { DWARF_CLASS_REFERENCE, 8 },
	[DW_FORM_ref_udata] = { DWARF_CLASS_REFERENCE, SIZE_VARIES },
	[DW_FORM_ref_addr] = { DWARF_CLASS_FAR_REFERENCE, SIZE_OFFSET },
	[DW_FORM_ref_sup4] = { DWARF_CLASS_ALTERNATE_REFERENCE, 4 },
	[DW_FORM_ref_sup8] = { DWARF_CLASS_ALTERNATE_REFERENCE, 8 },
	[DW_FORM_ref_sig8] = { DWARF_CLASS_OTHER, 8 },
	[DW_FORM_strp] = { DWARF_CLASS_OTHER, SIZE_OFFSET },
	[DW_FORM_line_strp] = { DWARF_CLASS_OTHER, SIZE_OFFSET },
	[DW_FORM_strp_sup] = { DWARF_CLASS_OTHER, SIZE_OFFSET },
};

static uint64_t standard_form(uint64_t form, const struct dwarf_encoding *encoding)
{
	switch (form) {
	case DW_FORM_GNU_addr_index:
		return DW_FORM_addrx;
	case DW_FORM_GNU_str_index:
		return DW_FORM_strx;
	case DW_FORM_GNU_strp_alt:
		return DW_FORM_strp_sup;
	case DW_FORM_GNU_ref_alt:
		return encoding->offset_bytes == 8 ? DW_FORM_ref_sup8 : DW_FORM_ref_sup4;
	default:
		return form;
	}
}

static uint16_t value_bytes_of(uint64_t form, const struct dwarf_encoding *encoding)
{
	uint8_t size = form < ARRAY_SIZE(forms) ? forms[form].size : SIZE_VARIES;

	if (form == DW_FORM_ref_addr && encoding->version <= 2)
		size = SIZE_ADDRESS;
	if (size == SIZE_VARIES)
		return DWARF_SIZE_VARIES;
	if (size < SIZE_NONE)
		return size;
	return size == SIZE_NONE     ? 0
	       : size == SIZE_OFFSET ? encoding->offset_bytes
				     : encoding->address_bytes;
}

void dwarf_abbreviations_init(struct dwarf_abbreviations *abbreviations)
{
	*abbreviations = (struct dwarf_abbreviations){ .budget_bytes = budget_bytes };
}

void dwarf_abbreviations_done(struct dwarf_abbreviations *abbreviations)
{
	free(abbreviations->items);
	free(abbreviations->specs);
	*abbreviations = (struct dwarf_abbreviations){ 0 };
}

void dwarf_abbreviations_forget(struct dwarf_abbreviations *abbreviations)
{
	abbreviations->source = NULL;
	abbreviations->count = abbreviations->spec_count = 0;
}

static int add_spec(struct dwarf_abbreviations *abbreviations, struct dwarf_bytes *bytes,
	uint64_t at, uint64_t form)
{
	const uint64_t standard = standard_form(form, &abbreviations->encoding);
	struct dwarf_attribute_spec spec = {
		.form = (uint16_t)standard,
		.value_bytes = value_bytes_of(standard, &abbreviations->encoding),
		.class = standard < ARRAY_SIZE(forms) ? forms[standard].class : DWARF_CLASS_OTHER,
		.attribute =
			at <= UINT16_MAX ? dwarf_attribute_of((unsigned int)at) : DWARF_ATTRIBUTES,
	};
	int r;

	if (form > UINT16_MAX)
		return -EBADMSG;
	if (form == DW_FORM_implicit_const)
		spec.constant = dwarf_bytes_sleb(bytes);
	r = ARRAY_RESERVE(abbreviations->specs, &abbreviations->spec_capacity,
		abbreviations->spec_count + 1, SPECS_MAX);
	if (r < 0)
		return r == -E2BIG ? -EBADMSG : r;
	abbreviations->specs[abbreviations->spec_count++] = spec;
	return 0;
}

static int read_item(
	struct dwarf_abbreviations *abbreviations, struct dwarf_bytes *bytes, uint64_t code)
{
	struct dwarf_abbreviation item = {
		.code = code,
		.first_spec = (uint32_t)abbreviations->spec_count,
	};
	uint32_t values_bytes = 0;
	int r;

	item.kind = (uint8_t)kind_of(dwarf_bytes_uleb(bytes));
	item.has_children = dwarf_bytes_u8(bytes) == DW_CHILDREN_yes;
	for (;;) {
		uint64_t at = dwarf_bytes_uleb(bytes), form = dwarf_bytes_uleb(bytes);

		if (bytes->is_short || (at == 0 && form == 0))
			break;
		if (abbreviations->spec_count - item.first_spec == ITEM_SPECS_MAX)
			return -EBADMSG;
		r = add_spec(abbreviations, bytes, at, form);
		if (r < 0)
			return r;
		values_bytes += abbreviations->specs[abbreviations->spec_count - 1].value_bytes;
		if (values_bytes > DWARF_SIZE_VARIES)
			values_bytes = DWARF_SIZE_VARIES;
	}
	item.values_bytes = (uint16_t)values_bytes;
	if (bytes->is_short)
		return -EBADMSG;
	item.spec_count = (uint16_t)(abbreviations->spec_count - item.first_spec);
	r = ARRAY_RESERVE(abbreviations->items, &abbreviations->capacity, abbreviations->count + 1,
		ITEMS_MAX);
	if (r < 0)
		return r == -E2BIG ? -EBADMSG : r;
	abbreviations->items[abbreviations->count++] = item;
	return 0;
}

/* Sorts equal codes in the order in which they were read. */
static int compare_items(const void *a, const void *b)
{
	const struct dwarf_abbreviation *x = a, *y = b;

	if (x->code != y->code)
		return x->code < y->code ? -1 : 1;
	return (x->first_spec > y->first_spec) - (x->first_spec < y->first_spec);
}

/* Sorts the table; of equal codes the first one counts. */
static void sort_items(struct dwarf_abbreviations *abbreviations)
{
	struct dwarf_abbreviation *items = abbreviations->items;
	size_t count = 0;

	qsort(items, abbreviations->count, sizeof(*items), compare_items);
	for (size_t i = 0; i < abbreviations->count; i++)
		if (count == 0 || items[count - 1].code != items[i].code)
			items[count++] = items[i];
	abbreviations->count = count;
}

static int read_items(struct dwarf_abbreviations *abbreviations, struct dwarf_bytes *bytes)
{
	bool is_sorted = true;
	uint64_t last = 0;

	/* A table that ends with its section may lack its last zero. */
	while (dwarf_bytes_left(bytes) > 0) {
		uint64_t code = dwarf_bytes_uleb(bytes);
		int r;

		if (bytes->is_short)
			return -EBADMSG;
		if (code == 0)
			break;
		r = read_item(abbreviations, bytes, code);
		if (r < 0)
			return r;
		is_sorted = is_sorted && code > last;
		last = code;
	}
	if (!is_sorted)
		sort_items(abbreviations);
	return 0;
}

int dwarf_abbreviations_read(struct dwarf_abbreviations *abbreviations,
	const struct dwarf_bytes *section, uint64_t offset, struct dwarf_encoding encoding)
{
	struct dwarf_bytes bytes = *section;
	uint64_t used;
	int r;

	if (!dwarf_bytes_take(&bytes, offset))
		return -EBADMSG;
	if (abbreviations->source == bytes.position &&
		abbreviations->encoding.version == encoding.version &&
		abbreviations->encoding.address_bytes == encoding.address_bytes &&
		abbreviations->encoding.offset_bytes == encoding.offset_bytes)
		return 0;
	dwarf_abbreviations_forget(abbreviations);
	abbreviations->encoding = encoding;
	/* The budget bounds the bytes read, so a unit's table has at most the remaining bytes. */
	if (dwarf_bytes_left(&bytes) > abbreviations->budget_bytes)
		bytes.end = bytes.position + abbreviations->budget_bytes;
	r = read_items(abbreviations, &bytes);
	used = dwarf_bytes_left(section) - offset - dwarf_bytes_left(&bytes);
	used = used < abbreviations->budget_bytes ? used : abbreviations->budget_bytes;
	abbreviations->budget_bytes -= used;
	if (r < 0) {
		dwarf_abbreviations_forget(abbreviations);
		return r;
	}
	abbreviations->source = section->position + offset;
	return 0;
}

const struct dwarf_abbreviation *dwarf_abbreviations_search(
	const struct dwarf_abbreviations *abbreviations, uint64_t code)
{
	size_t low = 0, high = abbreviations->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (abbreviations->items[middle].code < code)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == abbreviations->count || abbreviations->items[low].code != code)
		return NULL;
	return &abbreviations->items[low];
}
