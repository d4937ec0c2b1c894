/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_package.h"

#include "tests/dwarf/split_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct split_fixture s;
static struct dwarf_package package;
static struct dwarf_sections found;

/* Sections of 64 bytes, all of which parts may be taken of. */
static int set_up(void **state)
{
	split_fixture_init(&s, 5);
	put(&s.info, 0, 64);
	put(&s.abbrev, 0, 64);
	put(&s.str, 0, 64);
	put(&s.str_offsets, 0, 64);
	put(&s.rnglists, 0, 64);
	return 0;
}

static int open_package(void)
{
	struct dwarf_sections sections = view_split(&s);

	return dwarf_package_open(&package, &sections);
}

/* A row whose parts are told from others' by `number`. */
static struct index_row row_of(uint64_t id, uint32_t number)
{
	return (struct index_row){ id, number, 10, number + 1, 11, number + 2, 12, number + 3, 13 };
}

#define assert_part(part, section, first, size)                               \
	do {                                                                  \
		assert_ptr_equal((part).position, (section).bytes + (first)); \
		assert_int_equal(dwarf_bytes_left(&(part)), size);            \
	} while (0)

static void assert_found(uint64_t id, uint32_t number)
{
	assert_int_equal(dwarf_package_find(&package, id, &found), 0);
	assert_part(found.info, s.info, number, 10);
	assert_part(found.abbrev, s.abbrev, number + 1, 11);
	assert_part(found.str_offsets, s.str_offsets, number + 2, 12);
	assert_part(found.str, s.str, 0, 64);
	if (s.version >= 5)
		assert_part(found.rnglists, s.rnglists, number + 3, 13);
	else
		assert_null(found.rnglists.position);
}

static void each_unit_has_its_parts(void **state)
{
	static const uint16_t versions[] = { 4, 5 };

	for (size_t i = 0; i < 2; i++) {
		/* By their lower bits: 1; 2, which is taken by the next; that one's step is 3. */
		const struct index_row slots[] = { { .id = 0 }, row_of(0x1111111100000001, 20),
			row_of(0x2222222200000002, 30),
			row_of(0x3333333300000002 + 0x100000000, 7) };

		(void)set_up(state);
		s.version = versions[i];
		put_index(&s, slots, 4);
		assert_int_equal(open_package(), 0);
		assert_int_equal(package.version, versions[i] < 5 ? 2 : 5);
		assert_found(slots[1].id, 20);
		assert_found(slots[2].id, 30);
		/* 0x33333334 & 3 | 1 is 1: it goes from slot 2 to 3. */
		assert_found(slots[3].id, 7);
		/* It ends at the free slot. */
		assert_int_equal(dwarf_package_find(&package, 0x500000003, &found), -ENOENT);
		assert_int_equal(dwarf_package_find(&package, 0, &found), -ENOENT);
	}
}

static void a_file_without_an_index_is_no_package(void **state)
{
	assert_int_equal(open_package(), -ENODATA);
	put(&s.index, 5, 4);
	assert_int_equal(open_package(), -EBADMSG);
}

static void an_empty_package_has_nothing(void **state)
{
	struct dwarf_package zeros = { .slot_count = 0 };

	put_index(&s, NULL, 0);
	assert_int_equal(open_package(), 0);
	assert_int_equal(dwarf_package_find(&package, 0, &found), -ENOENT);
	assert_int_equal(dwarf_package_find(&zeros, 1, &found), -ENOENT);
}

/* The header's numbers at 0, 4, 8 and 12: version, columns, units, slots. */
static void headers_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		size_t position;
		uint64_t value;
	} damages[] = { { 0, 3 }, { 0, 6 }, { 0, 0x50005 << 8 }, { 4, 17 }, { 4, UINT32_MAX },
		{ 8, 3 }, { 8, UINT32_MAX }, { 12, 3 }, { 12, 4 }, { 12, 1U << 31 } };

	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		const struct index_row slots[] = { row_of(2, 0), row_of(1, 1) };

		(void)set_up(state);
		put_index(&s, slots, 2);
		assert_int_equal(open_package(), 0);
		patch(&s.index, damages[i].position, damages[i].value, 4);
		assert_int_equal(open_package(), -EBADMSG);
	}
}

static void a_truncated_index_is_refused(void **state)
{
	const struct index_row slots[] = { row_of(2, 0), row_of(1, 1) };

	put_index(&s, slots, 2);
	while (s.index.size > 1) {
		assert_int_equal(open_package(), s.index.size == 16 + 24 + 16 + 64 ? 0 : -EBADMSG);
		s.index.size--;
	}
}

/* Offset and size of the one unit's parts are in the last 32 bytes. */
static void parts_outside_of_their_sections_are_refused(void **state)
{
	for (size_t column = 0; column < 4; column++) {
		const struct index_row row = row_of(1, 0);
		size_t offsets, sizes;

		(void)set_up(state);
		put_index(&s, &row, 1);
		assert_int_equal(open_package(), 0);
		sizes = s.index.size - 16 + 4 * column;
		offsets = sizes - 16;
		assert_int_equal(dwarf_package_find(&package, 1, &found), 0);
		patch(&s.index, offsets, 65, 4);
		assert_int_equal(dwarf_package_find(&package, 1, &found), -EBADMSG);
		patch(&s.index, offsets, 60, 4);
		assert_int_equal(dwarf_package_find(&package, 1, &found), -EBADMSG);
		patch(&s.index, offsets, UINT32_MAX, 4);
		patch(&s.index, sizes, 2, 4);
		assert_int_equal(dwarf_package_find(&package, 1, &found), -EBADMSG);
		/* Without .debug_info or .debug_abbrev it is nothing; the others may be missing. */
		patch(&s.index, sizes, 0, 4);
		assert_int_equal(
			dwarf_package_find(&package, 1, &found), column < 2 ? -EBADMSG : 0);
	}
}

static void rows_that_are_not_there_are_refused(void **state)
{
	const struct index_row row = row_of(1, 0);

	put_index(&s, &row, 1);
	patch(&s.index, 16 + 8, 2, 4);
	assert_int_equal(open_package(), 0);
	assert_int_equal(dwarf_package_find(&package, 1, &found), -EBADMSG);
	patch(&s.index, 16 + 8, UINT32_MAX, 4);
	assert_int_equal(dwarf_package_find(&package, 1, &found), -EBADMSG);
}

/* Without a free slot the search has no end of its own. */
static void a_full_table_is_not_gone_through_for_ever(void **state)
{
	enum { SLOTS = 128 };
	struct index_row slots[SLOTS];

	for (uint32_t i = 0; i < SLOTS; i++)
		slots[i] = row_of(i + 1, 0);
	put_index(&s, slots, SLOTS);
	assert_int_equal(open_package(), 0);
	assert_int_equal(dwarf_package_find(&package, 1000, &found), -ENOENT);
	assert_int_equal(dwarf_package_find(&package, 1000ULL << 32, &found), -ENOENT);
}

static void the_other_byte_order_is_read(void **state)
{
	static uint8_t bytes[] = { 0, 5, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, /* */
		0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3,	   /* */
		0, 0, 0, 4, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7 };
	struct dwarf_sections sections = view_split(&s);

	sections.cu_index = (struct dwarf_bytes){
		.position = bytes,
		.end = bytes + sizeof(bytes),
		.is_swapped = BYTE_ORDER == LITTLE_ENDIAN,
	};
	assert_int_equal(dwarf_package_open(&package, &sections), 0);
	assert_int_equal(dwarf_package_find(&package, 9, &found), 0);
	assert_part(found.info, s.info, 4, 6);
	assert_part(found.abbrev, s.abbrev, 5, 7);
}

#define TEST(function) cmocka_unit_test_setup(function, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_unit_has_its_parts),
		TEST(a_file_without_an_index_is_no_package),
		TEST(an_empty_package_has_nothing),
		TEST(headers_that_make_no_sense_are_refused),
		TEST(a_truncated_index_is_refused),
		TEST(parts_outside_of_their_sections_are_refused),
		TEST(rows_that_are_not_there_are_refused),
		TEST(a_full_table_is_not_gone_through_for_ever),
		TEST(the_other_byte_order_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
