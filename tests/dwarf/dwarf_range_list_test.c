/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_range_list.h"

#include "tests/dwarf/split_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct section_bytes lists, addresses, attribute;
static struct dwarf_sections sections;
static struct dwarf_unit unit;
static struct dwarf_die die;

/* A unit of addresses 0x1000, 0x2000 and 0x3000, which are counted from 0x100 on. */
static int set_up(void **state)
{
	memset(&lists, 0, sizeof(lists));
	memset(&addresses, 0, sizeof(addresses));
	memset(&attribute, 0, sizeof(attribute));
	put(&addresses, 0x1000, 8);
	put(&addresses, 0x2000, 8);
	put(&addresses, 0x3000, 8);
	sections = (struct dwarf_sections){ .rnglists = { 0 } };
	unit = (struct dwarf_unit){
		.sections = &sections,
		.encoding = { .version = 5, .address_bytes = 8, .offset_bytes = 4 },
		.addresses = view(&addresses),
		.base_address = 0x100,
		.end = attribute.bytes + sizeof(attribute.bytes),
	};
	return 0;
}

/* DW_AT_ranges is `value`. */
static int open_at(struct dwarf_range_list *list, uint16_t form, uint64_t value)
{
	attribute.size = 0;
	put(&attribute, value, 8);
	die.present = 1U << DWARF_RANGES;
	die.values[DWARF_RANGES] = (struct dwarf_value){
		.bytes = attribute.bytes,
		.form = form,
		.value_bytes = form == DW_FORM_rnglistx	    ? DWARF_SIZE_VARIES
			       : form == DW_FORM_sec_offset ? unit.encoding.offset_bytes
							    : 4,
		.class = form == DW_FORM_rnglistx ? DWARF_CLASS_INDEX
			 : form == DW_FORM_string ? DWARF_CLASS_OTHER
						  : DWARF_CLASS_CONSTANT,
	};
	if (unit.encoding.version < 5) {
		unit.ranges = view(&lists);
	} else {
		sections.rnglists = unit.range_lists = view(&lists);
		if (!dwarf_bytes_take(&unit.range_lists, unit.encoding.offset_bytes == 8 ? 20 : 12))
			unit.range_lists = (struct dwarf_bytes){ 0 };
	}
	return dwarf_range_list_open(list, &unit, &die);
}

#define assert_range(list, first, behind)                                         \
	do {                                                                      \
		uint64_t start_, end_;                                            \
		assert_int_equal(dwarf_range_list_next(list, &start_, &end_), 1); \
		assert_int_equal(start_, first);                                  \
		assert_int_equal(end_, behind);                                   \
	} while (0)

static void assert_end(struct dwarf_range_list *list, int expected)
{
	uint64_t start = 1, end = 2;

	assert_int_equal(dwarf_range_list_next(list, &start, &end), expected);
	assert_int_equal(start, 1);
	assert_int_equal(end, 2);
}

static void pairs_are_counted_from_a_base(void **state)
{
	struct dwarf_range_list list;

	unit.encoding.version = 4;
	put(&lists, 0, 16);
	put(&lists, 0x10, 8);
	put(&lists, 0x20, 8);
	put(&lists, UINT64_MAX, 8);
	put(&lists, 0x5000, 8);
	put(&lists, 0, 8);
	put(&lists, 4, 8);
	put(&lists, 0, 16);
	assert_int_equal(open_at(&list, DW_FORM_sec_offset, 16), 0);
	assert_range(&list, 0x110, 0x120);
	assert_range(&list, 0, 0);
	assert_range(&list, 0x5000, 0x5004);
	assert_end(&list, 0);
}

static void narrow_pairs_have_a_mark_of_their_own(void **state)
{
	struct dwarf_range_list list;

	unit.encoding.version = 4;
	unit.encoding.address_bytes = 4;
	put(&lists, UINT32_MAX, 4);
	put(&lists, 0x200, 4);
	put(&lists, 1, 4);
	put(&lists, 3, 4);
	assert_int_equal(open_at(&list, DW_FORM_data4, 0), 0);
	assert_range(&list, 0, 0);
	assert_range(&list, 0x201, 0x203);
	assert_end(&list, -EBADMSG);
}

static void put_entries(void)
{
	put(&lists, DW_RLE_offset_pair, 1);
	put(&lists, 0x2010, 2);
	put(&lists, DW_RLE_startx_endx, 1);
	put(&lists, 0x0100, 2);
	put(&lists, DW_RLE_startx_length, 1);
	put(&lists, 0x0802, 2);
	put(&lists, DW_RLE_base_addressx, 1);
	put(&lists, 1, 1);
	put(&lists, DW_RLE_offset_pair, 1);
	put(&lists, 0x0200, 2);
	put(&lists, DW_RLE_base_address, 1);
	put(&lists, 0x7000, 8);
	put(&lists, DW_RLE_offset_pair, 1);
	put(&lists, 0x0200, 2);
	put(&lists, DW_RLE_start_end, 1);
	put(&lists, 0x4000, 8);
	put(&lists, 0x4004, 8);
	put(&lists, DW_RLE_start_length, 1);
	put(&lists, 0x6000, 8);
	put(&lists, 5, 1);
	put(&lists, DW_RLE_end_of_list, 1);
}

static void assert_entries(struct dwarf_range_list *list)
{
	assert_range(list, 0x110, 0x120);
	assert_range(list, 0x1000, 0x2000);
	assert_range(list, 0x3000, 0x3008);
	assert_range(list, 0, 0);
	assert_range(list, 0x2000, 0x2002);
	assert_range(list, 0, 0);
	assert_range(list, 0x7000, 0x7002);
	assert_range(list, 0x4000, 0x4004);
	assert_range(list, 0x6000, 0x6005);
	assert_end(list, 0);
}

/* The header, and where the lists `first` and `second` are, behind what is before them. */
static void put_header(size_t offset_bytes, uint64_t first, uint64_t second)
{
	if (offset_bytes == 8)
		put(&lists, 0xffffffff, 4);
	put(&lists, 100, offset_bytes);
	put(&lists, 5, 2);
	put(&lists, 8, 1);
	put(&lists, 0, 1);
	put(&lists, 2, 4);
	put(&lists, first, offset_bytes);
	put(&lists, second, offset_bytes);
}

static void entries_of_all_kinds_are_read(void **state)
{
	struct dwarf_range_list list;

	put(&lists, 0, 3);
	put_entries();
	assert_int_equal(open_at(&list, DW_FORM_sec_offset, 3), 0);
	assert_entries(&list);
}

static void lists_are_found_by_number(void **state)
{
	static const size_t offset_bytes[] = { 4, 8 };
	struct dwarf_range_list list;

	for (size_t i = 0; i < 2; i++) {
		(void)set_up(state);
		unit.encoding.offset_bytes = (uint8_t)offset_bytes[i];
		put_header(offset_bytes[i], 2 * offset_bytes[i] + 3, 2 * offset_bytes[i]);
		put(&lists, DW_RLE_offset_pair, 1);
		put(&lists, 0, 2);
		put_entries();
		assert_int_equal(open_at(&list, DW_FORM_rnglistx, 0), 0);
		assert_entries(&list);
		assert_int_equal(open_at(&list, DW_FORM_rnglistx, 1), 0);
		assert_range(&list, 0x100, 0x100);
		assert_int_equal(open_at(&list, DW_FORM_rnglistx, 2), -EBADMSG);
		assert_int_equal(open_at(&list, DW_FORM_rnglistx, 0x7fff), -EBADMSG);
	}
}

static void lists_outside_of_the_section_are_refused(void **state)
{
	struct dwarf_range_list list;

	assert_int_equal(open_at(&list, DW_FORM_rnglistx, 0), -EBADMSG);
	assert_int_equal(open_at(&list, DW_FORM_sec_offset, 0), -EBADMSG);
	put_header(4, 9, UINT32_MAX);
	assert_int_equal(open_at(&list, DW_FORM_rnglistx, 0), -EBADMSG);
	assert_int_equal(open_at(&list, DW_FORM_rnglistx, 1), -EBADMSG);
	assert_int_equal(open_at(&list, DW_FORM_sec_offset, 21), -EBADMSG);
	/* A table that is longer than the section. */
	patch(&lists, 8, UINT32_MAX, 4);
	assert_int_equal(open_at(&list, DW_FORM_rnglistx, 5), -EBADMSG);
	assert_int_equal(open_at(&list, DW_FORM_string, 0), -EBADMSG);
	/* DWARF 4 has no numbers. */
	unit.encoding.version = 4;
	assert_int_equal(open_at(&list, DW_FORM_rnglistx, 0), -EBADMSG);
}

static void truncated_entries_are_refused(void **state)
{
	struct dwarf_range_list list;
	uint64_t start, end;
	size_t whole;
	int r;

	put_entries();
	for (whole = lists.size--; lists.size > 0; lists.size--) {
		assert_int_equal(open_at(&list, DW_FORM_sec_offset, 0), 0);
		do
			r = dwarf_range_list_next(&list, &start, &end);
		while (r > 0);
		assert_int_equal(r, -EBADMSG);
	}
	assert_true(whole > 40);
}

static void entries_that_make_no_sense_are_refused(void **state)
{
	struct dwarf_range_list list;

	put(&lists, 8, 1); /* nobody knows that kind */
	put(&lists, DW_RLE_startx_length, 1);
	put(&lists, 0x0803, 2); /* an address that is not there */
	put(&lists, DW_RLE_base_addressx, 1);
	put(&lists, 0x7f, 1);
	put(&lists, 0, 8);
	assert_int_equal(open_at(&list, DW_FORM_sec_offset, 0), 0);
	assert_end(&list, -EBADMSG);
	assert_int_equal(open_at(&list, DW_FORM_sec_offset, 1), 0);
	assert_end(&list, -EBADMSG);
	assert_int_equal(open_at(&list, DW_FORM_sec_offset, 4), 0);
	assert_end(&list, -EBADMSG);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(pairs_are_counted_from_a_base),
		TEST(narrow_pairs_have_a_mark_of_their_own),
		TEST(entries_of_all_kinds_are_read),
		TEST(lists_are_found_by_number),
		TEST(lists_outside_of_the_section_are_refused),
		TEST(truncated_entries_are_refused),
		TEST(entries_that_make_no_sense_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
