/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Units that are loaded and found: their bases, and references into other units. */
#include "dwarf/dwarf_units.h"
#include "tests/harness/failing_allocation.h"

#include "base/array.h"

#include <dwarf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
	BASES_ABBREVIATION = 1, /* addr_base, str_offsets_base and rnglists_base, 4 bytes each */
	PLAIN_ABBREVIATION = 2, /* no attributes */
	TEXT_ABBREVIATION = 3,	/* addr_base as a string */
	UNIT_HEADER_BYTES = 12, /* DWARF 5, 32-bit format */
	BASES_UNIT_BYTES = UNIT_HEADER_BYTES + 1 + 3 * 4,
	PLAIN_UNIT_BYTES = UNIT_HEADER_BYTES + 1,
};

static const uint8_t abbreviations_bytes[] = { BASES_ABBREVIATION, DW_TAG_compile_unit, 0,
	DW_AT_addr_base, DW_FORM_sec_offset, DW_AT_str_offsets_base, DW_FORM_sec_offset,
	DW_AT_rnglists_base, DW_FORM_sec_offset, 0, 0, PLAIN_ABBREVIATION, DW_TAG_compile_unit, 0,
	0, 0, TEXT_ABBREVIATION, DW_TAG_compile_unit, 0, DW_AT_addr_base, DW_FORM_string, 0, 0, 0 };

/* Addresses 0x11, 0x22 and 0x33 behind a header of 8 bytes. */
static const uint64_t addresses[] = { 0, 0x11, 0x22, 0x33 };
static const uint32_t string_offsets[] = { 0, 0, 1, 4 };
static const uint8_t range_lists[32];

static struct {
	uint8_t info[256];
	size_t size;
	struct dwarf_sections sections;
	struct dwarf_abbreviations abbreviations;
	struct dwarf_unit unit;
	struct dwarf_die first;
	struct dwarf_units units;
} t;

static struct dwarf_bytes view(const void *bytes, size_t size)
{
	return (struct dwarf_bytes){ .position = bytes, .end = (const uint8_t *)bytes + size };
}

static int set_up(void **state)
{
	memset(&t, 0, sizeof(t));
	t.sections = (struct dwarf_sections){
		.abbrev = view(abbreviations_bytes, sizeof(abbreviations_bytes)),
		.addr = view(addresses, sizeof(addresses)),
		.str_offsets = view(string_offsets, sizeof(string_offsets)),
		.rnglists = view(range_lists, sizeof(range_lists)),
	};
	dwarf_abbreviations_init(&t.abbreviations);
	dwarf_units_init(&t.units, &t.sections, NULL);
	return 0;
}

static int tear_down(void **state)
{
	dwarf_abbreviations_done(&t.abbreviations);
	dwarf_units_done(&t.units);
	return 0;
}

static void put(uint64_t value, size_t bytes)
{
	assert_true(t.size + bytes <= sizeof(t.info));
	memcpy(t.info + t.size, &value, bytes);
	t.size += bytes;
	t.sections.info = view(t.info, t.size);
}

/* Adds a unit whose first DIE has `bytes` of attributes, which the caller adds. */
static const uint8_t *put_unit(uint8_t abbreviation, size_t bytes)
{
	const uint8_t *header = t.info + t.size;

	put(UNIT_HEADER_BYTES - 4 + 1 + bytes, 4);
	put(5, 2);
	put(DW_UT_compile, 1);
	put(8, 1);
	put(0, 4);
	put(abbreviation, 1);
	return header;
}

static void put_bases(uint32_t address_base, uint32_t string_base, uint32_t range_base)
{
	(void)put_unit(BASES_ABBREVIATION, 12);
	put(address_base, 4);
	put(string_base, 4);
	put(range_base, 4);
}

static int load(void)
{
	int r = dwarf_unit_open(&t.unit, &t.sections, t.info);

	return r < 0 ? r : dwarf_unit_load(&t.unit, &t.abbreviations, NULL, &t.first);
}

static void bases_begin_where_the_first_die_says(void **state)
{
	uint64_t address;

	put_bases(16, 12, 16);
	assert_int_equal(load(), 0);
	assert_true(dwarf_unit_numbered_address(&t.unit, 0, &address));
	assert_int_equal(address, 0x22);
	assert_true(dwarf_unit_numbered_address(&t.unit, 1, &address));
	assert_int_equal(address, 0x33);
	assert_false(dwarf_unit_numbered_address(&t.unit, 2, &address));
	assert_ptr_equal(t.unit.string_offsets.position, &string_offsets[3]);
	assert_ptr_equal(t.unit.range_lists.position, &range_lists[16]);
}

static void missing_bases_begin_after_the_section_headers(void **state)
{
	(void)put_unit(PLAIN_ABBREVIATION, 0);
	assert_int_equal(load(), 0);
	assert_ptr_equal(t.unit.addresses.position, &addresses[1]);
	assert_ptr_equal(t.unit.string_offsets.position, &string_offsets[2]);
	assert_ptr_equal(t.unit.range_lists.position, &range_lists[12]);
}

static void bases_outside_of_their_sections_are_refused(void **state)
{
	static const struct {
		uint32_t address_base, string_base, range_base;
		bool has_addresses, has_strings, has_ranges;
	} cases[] = {
		{ sizeof(addresses) + 1, 8, 12, false, true, true },
		{ 8, sizeof(string_offsets) + 1, 12, true, false, true },
		{ 8, 8, sizeof(range_lists) + 1, true, true, false },
		{ UINT32_MAX, UINT32_MAX, UINT32_MAX, false, false, false },
		/* At the end: empty as well. */
		{ sizeof(addresses), sizeof(string_offsets), sizeof(range_lists), false, false,
			false },
	};
	uint64_t address;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		t.size = 0;
		put_bases(cases[i].address_base, cases[i].string_base, cases[i].range_base);
		assert_int_equal(load(), 0);
		assert_int_equal(
			dwarf_unit_numbered_address(&t.unit, 0, &address), cases[i].has_addresses);
		assert_int_equal(dwarf_bytes_left(&t.unit.addresses) > 0, cases[i].has_addresses);
		assert_int_equal(
			dwarf_bytes_left(&t.unit.string_offsets) > 0, cases[i].has_strings);
		assert_int_equal(dwarf_bytes_left(&t.unit.range_lists) > 0, cases[i].has_ranges);
	}
}

static void bases_without_their_section_are_empty(void **state)
{
	t.sections.addr = t.sections.str_offsets = (struct dwarf_bytes){ 0 };
	put_bases(0, 0, 0);
	assert_int_equal(load(), 0);
	assert_int_equal(dwarf_bytes_left(&t.unit.addresses), 0);
	assert_int_equal(dwarf_bytes_left(&t.unit.string_offsets), 0);
}

static void bases_that_are_no_numbers_are_refused(void **state)
{
	(void)put_unit(TEXT_ABBREVIATION, 2);
	put('8', 2);
	assert_int_equal(load(), 0);
	assert_int_equal(dwarf_bytes_left(&t.unit.addresses), 0);
	assert_ptr_equal(t.unit.string_offsets.position, &string_offsets[2]);
}

static void split_units_use_the_addresses_of_their_skeleton(void **state)
{
	struct dwarf_unit skeleton;

	put_bases(16, 8, 12);
	assert_int_equal(load(), 0);
	skeleton = t.unit;
	skeleton.base_address = 0x1234;
	t.size = 0;
	put_bases(8, 8, 12);
	assert_int_equal(dwarf_unit_open(&t.unit, &t.sections, t.info), 0);
	assert_int_equal(dwarf_unit_load(&t.unit, &t.abbreviations, &skeleton, &t.first), 0);
	assert_true(t.unit.is_split);
	assert_ptr_equal(t.unit.addresses.position, &addresses[2]);
	assert_int_equal(t.unit.base_address, 0x1234);
}

static void units_without_a_first_die_are_refused(void **state)
{
	static const uint8_t codes[] = { 0, 9 };

	for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
		t.size = 0;
		(void)put_unit(codes[i], 0);
		assert_int_equal(load(), -EBADMSG);
	}
}

static int find(size_t offset)
{
	const struct dwarf_unit *unit;
	int r = dwarf_units_find(&t.units, t.info + offset, &unit);

	return r < 0 ? r : (int)(unit->header - t.info);
}

static void positions_find_their_units(void **state)
{
	const int second = PLAIN_UNIT_BYTES, third = second + BASES_UNIT_BYTES;

	(void)put_unit(PLAIN_ABBREVIATION, 0);
	put_bases(UINT32_MAX, 8, 12);
	(void)put_unit(PLAIN_ABBREVIATION, 0);
	assert_int_equal(find((size_t)third + UNIT_HEADER_BYTES), third);
	assert_int_equal(find(UNIT_HEADER_BYTES), 0);
	assert_int_equal(find((size_t)second + UNIT_HEADER_BYTES), second);
	assert_int_equal(find((size_t)third - 1), second);
	/* The bad base costs the addresses of that unit alone. */
	assert_int_equal(dwarf_bytes_left(&t.units.unit.addresses), 0);
	assert_true(dwarf_bytes_left(&t.units.unit.string_offsets) > 0);
	/* No DIEs are in a header. */
	assert_int_equal(find((size_t)second), -ENOENT);
	assert_int_equal(find((size_t)third + UNIT_HEADER_BYTES - 1), -ENOENT);
	assert_int_equal(find(t.size), -ENOENT);
}

static void malformed_units_leave_the_others(void **state)
{
	const int second = PLAIN_UNIT_BYTES, third = second + PLAIN_UNIT_BYTES;

	(void)put_unit(PLAIN_ABBREVIATION, 0);
	(void)put_unit(9, 0);
	(void)put_unit(PLAIN_ABBREVIATION, 0);
	/* A length beyond the section ends the index. */
	put(UINT16_MAX, 4);
	put(0, 8);
	assert_int_equal(find((size_t)second + UNIT_HEADER_BYTES), -ENOENT);
	assert_int_equal(find((size_t)third + UNIT_HEADER_BYTES), third);
	assert_int_equal(find(t.size - 1), -ENOENT);
	assert_int_equal(find(UNIT_HEADER_BYTES), 0);
}

static void failing_allocations_are_reported(void **state)
{
	(void)put_unit(PLAIN_ABBREVIATION, 0);
	assert_true(FAIL_EACH_ALLOCATION((dwarf_units_done(&t.units),
						 dwarf_units_init(&t.units, &t.sections, NULL),
						 find(UNIT_HEADER_BYTES)),
			    -ENOMEM, true, 0) >= 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(bases_begin_where_the_first_die_says),
		TEST(missing_bases_begin_after_the_section_headers),
		TEST(bases_outside_of_their_sections_are_refused),
		TEST(bases_without_their_section_are_empty),
		TEST(bases_that_are_no_numbers_are_refused),
		TEST(split_units_use_the_addresses_of_their_skeleton),
		TEST(units_without_a_first_die_are_refused),
		TEST(positions_find_their_units),
		TEST(malformed_units_leave_the_others),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
