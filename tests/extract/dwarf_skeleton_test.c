/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_skeleton.h"

#include "dwarf/dwarf_unit.h"
#include "tests/extract/split_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct section_bytes values, addresses, ranges;
static struct dwarf_sections sections;
static struct dwarf_unit unit;
static struct dwarf_die die;
static struct dwarf_skeleton skeleton;

static void put_attribute(enum dwarf_attribute attribute, uint16_t form, uint64_t value)
{
	die.present |= 1U << attribute;
	die.values[attribute] =
		(struct dwarf_value){ .bytes = values.bytes + values.size, .form = form };
	put(&values, value, 8);
}

/* Four addresses of 8 bytes, 0x1000 and on. */
static int set_up(void **state)
{
	(void)state;
	memset(&values, 0, sizeof(values));
	memset(&addresses, 0, sizeof(addresses));
	memset(&ranges, 0, sizeof(ranges));
	memset(&die, 0, sizeof(die));
	for (uint64_t i = 0; i < 4; i++)
		put(&addresses, 0x1000 * (i + 1), 8);
	put(&ranges, 0, 32);
	sections = (struct dwarf_sections){ .addr = view(&addresses), .ranges = view(&ranges) };
	unit = (struct dwarf_unit){
		.sections = &sections,
		.encoding = { .version = 5, .address_bytes = 8, .offset_bytes = 4 },
		.type = DW_UT_skeleton,
		.id = 42,
		.end = values.bytes + sizeof(values.bytes),
	};
	put_attribute(DWARF_DWO_NAME, DW_FORM_string, 'a');
	return 0;
}

static int read_it(void)
{
	return dwarf_skeleton_read(&skeleton, &unit, &die);
}

static void addresses_are_counted_from_their_base(void **state)
{
	uint64_t address = 7;

	(void)state;
	put_attribute(DWARF_ADDR_BASE, DW_FORM_sec_offset, 16);
	put_attribute(DWARF_LOW_PC, DW_FORM_addr, 0x123);
	assert_int_equal(read_it(), 0);
	assert_int_equal(skeleton.id, 42);
	assert_int_equal(skeleton.base_address, 0x123);
	assert_true(dwarf_skeleton_address(&skeleton, 0, &address));
	assert_int_equal(address, 0x3000);
	assert_true(dwarf_skeleton_address(&skeleton, 1, &address));
	assert_int_equal(address, 0x4000);
	assert_false(dwarf_skeleton_address(&skeleton, 2, &address));
	assert_false(dwarf_skeleton_address(&skeleton, UINT64_MAX / 8, &address));
	assert_false(dwarf_skeleton_address(&skeleton, UINT64_MAX, &address));
	assert_int_equal(address, 0x4000);
}

static void without_a_base_they_begin_behind_the_header(void **state)
{
	uint64_t address;

	(void)state;
	assert_int_equal(read_it(), 0);
	assert_true(dwarf_skeleton_address(&skeleton, 0, &address));
	assert_int_equal(address, 0x2000);
	unit.encoding.version = 4;
	put_attribute(DWARF_DWO_ID, DW_FORM_data8, 5);
	assert_int_equal(read_it(), 0);
	assert_int_equal(skeleton.id, 5);
	assert_true(dwarf_skeleton_address(&skeleton, 0, &address));
	assert_int_equal(address, 0x1000);
}

static void ranges_are_counted_from_their_base(void **state)
{
	(void)state;
	unit.encoding.version = 4;
	put_attribute(DWARF_DWO_ID, DW_FORM_data8, 5);
	put_attribute(DWARF_RANGES_BASE, DW_FORM_sec_offset, 24);
	assert_int_equal(read_it(), 0);
	assert_ptr_equal(skeleton.ranges.position, ranges.bytes + 24);
	assert_int_equal(dwarf_bytes_left(&skeleton.ranges), 8);
}

static void sections_may_be_missing(void **state)
{
	uint64_t address;

	(void)state;
	sections = (struct dwarf_sections){ .addr = { 0 } };
	put_attribute(DWARF_ADDR_BASE, DW_FORM_sec_offset, 16);
	put_attribute(DWARF_RANGES_BASE, DW_FORM_sec_offset, 16);
	assert_int_equal(read_it(), 0);
	assert_false(dwarf_skeleton_address(&skeleton, 0, &address));
}

static void bases_outside_of_their_sections_are_refused(void **state)
{
	static const enum dwarf_attribute bases[] = { DWARF_ADDR_BASE, DWARF_RANGES_BASE };
	static const uint64_t sizes[] = { 32, 32 };

	for (size_t i = 0; i < 2; i++) {
		(void)set_up(state);
		put_attribute(bases[i], DW_FORM_data8, sizes[i]);
		assert_int_equal(read_it(), 0);
		put_attribute(bases[i], DW_FORM_data8, sizes[i] + 1);
		assert_int_equal(read_it(), -EBADMSG);
		put_attribute(bases[i], DW_FORM_data8, UINT64_MAX);
		assert_int_equal(read_it(), -EBADMSG);
		put_attribute(bases[i], DW_FORM_string, 0);
		assert_int_equal(read_it(), -EBADMSG);
	}
}

static void what_stands_for_no_piece_is_refused(void **state)
{
	(void)state;
	unit.type = DW_UT_compile;
	assert_int_equal(read_it(), -EBADMSG);
	unit.type = DW_UT_skeleton;
	put_attribute(DWARF_LOW_PC, DW_FORM_string, 0);
	assert_int_equal(read_it(), -EBADMSG);
	die.present = 0;
	assert_int_equal(read_it(), -EBADMSG);
	unit.encoding.version = 4;
	put_attribute(DWARF_DWO_NAME, DW_FORM_string, 'a');
	assert_int_equal(read_it(), -EBADMSG);
	put_attribute(DWARF_DWO_ID, DW_FORM_string, 5);
	assert_int_equal(read_it(), -EBADMSG);
	put_attribute(DWARF_DWO_ID, DW_FORM_data8, 5);
	assert_int_equal(read_it(), 0);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(addresses_are_counted_from_their_base),
		TEST(without_a_base_they_begin_behind_the_header),
		TEST(ranges_are_counted_from_their_base),
		TEST(sections_may_be_missing),
		TEST(bases_outside_of_their_sections_are_refused),
		TEST(what_stands_for_no_piece_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
