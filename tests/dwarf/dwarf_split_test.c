/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_split.h"

#include "tests/dwarf/split_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct split_fixture s;
static struct dwarf_abbreviations abbreviations;
static struct dwarf_unit unit;
static struct dwarf_die first;
static uint64_t units_left;
static struct dwarf_sections sections;
static struct dwarf_unit skeleton;

static int set_up(void **state)
{
	split_fixture_init(&s, 5);
	dwarf_abbreviations_init(&abbreviations);
	units_left = 1000;
	return 0;
}

static int tear_down(void **state)
{
	dwarf_abbreviations_done(&abbreviations);
	return 0;
}

static int find(uint64_t id)
{
	sections = view_split(&s);
	skeleton = (struct dwarf_unit){ .id = id, .encoding.address_bytes = 8 };
	dwarf_abbreviations_forget(&abbreviations);
	return dwarf_split_find(&sections, &skeleton, &abbreviations, &units_left, &unit, &first);
}

/* Two units of code, with another one between them. */
static void put_units(void)
{
	put_small_split(&s, 11, 0x1000);
	begin_split_unit(&s, s.version < 5 ? DW_UT_split_compile : DW_UT_split_type,
		s.version < 5 ? 99 : 22);
	end_split_unit(&s);
	put_small_split(&s, 22, 0x2000);
}

static void units_are_found_by_their_id(void **state)
{
	static const uint16_t versions[] = { 4, 5 };

	for (size_t i = 0; i < 2; i++) {
		(void)tear_down(state);
		(void)set_up(state);
		s.version = versions[i];
		put_units();
		assert_int_equal(find(22), 0);
		assert_ptr_equal(unit.header, s.info.bytes + s.unit);
		assert_ptr_equal(unit.end, s.info.bytes + s.info.size);
		assert_int_equal(units_left, 997);
		assert_true(unit.is_split);
		assert_true(dwarf_die_has(&first, DWARF_LANGUAGE));
		assert_int_equal(find(11), 0);
		assert_ptr_equal(unit.header, s.info.bytes);
		assert_int_equal(find(33), -ENOENT);
	}
}

static void an_empty_index_finds_nothing(void **state)
{
	assert_int_equal(find(1), -ENOENT);
}

static void truncated_split_files_are_refused(void **state)
{
	size_t last;

	put_units();
	last = s.unit;
	while (--s.info.size > last)
		assert_int_equal(find(22), -EBADMSG);
	assert_int_equal(find(22), -ENOENT);
}

static void lengths_that_lead_nowhere_are_refused(void **state)
{
	static const uint64_t lengths[] = { 0, 1, 0x10000, 0xfffffff0, 0xffffffff };

	put_units();
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		patch(&s.info, 0, lengths[i], 4);
		assert_int_equal(find(11), -EBADMSG);
	}
}

static void units_of_other_versions_are_refused(void **state)
{
	put_units();
	patch(&s.info, 4, 6, 2);
	assert_int_equal(find(22), -EBADMSG);
	patch(&s.info, 4, 1, 2);
	assert_int_equal(find(22), -EBADMSG);
}

static void addresses_are_as_wide_as_the_skeletons(void **state)
{
	put_units();
	assert_int_equal(find(11), 0);
	patch(&s.info, 7, 4, 1);
	assert_int_equal(find(11), -EBADMSG);
	/* That of another unit does not matter. */
	assert_int_equal(find(22), 0);
}

static void units_are_looked_at_a_bounded_number_of_times(void **state)
{
	put_units();
	units_left = 2;
	assert_int_equal(find(22), -EBADMSG);
	assert_int_equal(units_left, 0);
	assert_int_equal(find(11), -EBADMSG);
	units_left = 1;
	assert_int_equal(find(11), 0);
}

static void abbreviations_are_looked_for_in_the_split(void **state)
{
	s.version = 4;
	put_units();
	s.abbrev.size = 0;
	assert_int_equal(find(11), -EBADMSG);
}

static void failing_allocations_are_reported(void **state)
{
	put_units();
	assert_true(
		FAIL_EACH_ALLOCATION(((void)tear_down(state),
					     dwarf_abbreviations_init(&abbreviations), find(11)),
			-ENOMEM, true, 0) >= 2);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(units_are_found_by_their_id),
		TEST(an_empty_index_finds_nothing),
		TEST(truncated_split_files_are_refused),
		TEST(lengths_that_lead_nowhere_are_refused),
		TEST(units_of_other_versions_are_refused),
		TEST(addresses_are_as_wide_as_the_skeletons),
		TEST(units_are_looked_at_a_bounded_number_of_times),
		TEST(abbreviations_are_looked_for_in_the_split),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
