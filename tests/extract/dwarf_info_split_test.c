/* SPDX-License-Identifier: GPL-2.0-or-later */
/* DWARF whose functions are in split files, read together with them. */
#include "tests/dwarf/split_fixture.h"
#include "tests/extract/dwarf_reading.h"
#include "tests/harness/failing_allocation.h"

static struct split_fixture s;

static int set_up(void **state)
{
	split_fixture_init(&s, 5);
	dwarf_reading_init(&s.opener);
	return 0;
}

static void start_again(void **state, uint16_t version)
{
	(void)dwarf_reading_tear_down(state);
	split_fixture_init(&s, version);
	dwarf_reading_init(&s.opener);
}

static void put_small_program(void)
{
	put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
	put_small_split(&s, SPLIT_ID, 0x1000);
}

static void assert_small_program(void)
{
	assert_chain(0x1000, "within :0:0 < function :0:0");
	assert_chain(0x1004, "function :0:0");
	assert_chain(0x100f, "function :0:0");
	assert_chain(0x1010, "");
	assert_int_equal(units_lost(), 0);
	assert_false(reading.gaps.split);
	assert_int_equal(symbol_file_header(reading.file)->contents, PILOTLIGHT_SYMBOL_HAS_SPLIT);
}

static void functions_are_in_a_file_of_their_own(void **state)
{
	static const uint16_t versions[] = { 4, 5 };

	for (size_t i = 0; i < 2; i++) {
		start_again(state, versions[i]);
		put_small_program();
		build_split(&s);
		read_and_write(&s.main);
		assert_small_program();
		assert_string_equal(s.path, "/src/a.dwo");
	}
}

static void functions_are_in_a_package(void **state)
{
	static const uint16_t versions[] = { 4, 5 };

	for (size_t i = 0; i < 2; i++) {
		start_again(state, versions[i]);
		put_small_program();
		put_index_of_all(&s, SPLIT_ID);
		build_split(&s);
		reading.package_fd = open_built_split(&s);
		read_and_write(&s.main);
		assert_small_program();
		assert_int_equal(s.opened, 0);
	}
}

static void a_package_without_the_unit_leaves_its_file(void **state)
{
	put_small_program();
	put_index_of_all(&s, SPLIT_ID + 1);
	build_split(&s);
	reading.package_fd = open_built_split(&s);
	read_and_write(&s.main);
	assert_small_program();
	assert_int_equal(s.opened, 1);
}

static void a_package_that_lies_leaves_its_file(void **state)
{
	put_small_program();
	/* It says that the unit is there, and it has another one. */
	s.info.size = s.abbrev.size = s.str.size = s.str_offsets.size = s.main.addr.size = 0;
	put_small_split(&s, SPLIT_ID + 1, 0x1000);
	put_index_of_all(&s, SPLIT_ID);
	build_split(&s);
	reading.package_fd = open_built_split(&s);
	s.info.size = s.abbrev.size = s.str.size = s.str_offsets.size = s.main.addr.size = 0;
	s.index.size = 0;
	put_small_split(&s, SPLIT_ID, 0x1000);
	build_split(&s);
	read_and_write(&s.main);
	assert_small_program();
}

static void assert_lost(void)
{
	assert_int_equal(units_lost(), 1);
	assert_true(reading.gaps.split);
	assert_false(symbol_file_header(reading.file)->contents & PILOTLIGHT_SYMBOL_HAS_SPLIT);
	assert_chain(0x1000, "");
	assert_chain(0x2000, "other :0:0");
}

static void a_missing_split_is_a_loss(void **state)
{
	static const uint16_t versions[] = { 4, 5 };

	for (size_t i = 0; i < 2; i++) {
		start_again(state, versions[i]);
		put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
		s.main.unit_type = DW_UT_compile;
		put_one_function(&s.main, "other", 0x2000);
		s.has_no_file = true;
		read_and_write(&s.main);
		assert_lost();
	}
}

static void another_file_is_not_the_split(void **state)
{
	static const uint16_t versions[] = { 4, 5 };

	for (size_t i = 0; i < 2; i++) {
		start_again(state, versions[i]);
		put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
		s.main.unit_type = DW_UT_compile;
		put_one_function(&s.main, "other", 0x2000);
		put_small_split(&s, SPLIT_ID + 1, 0x1000);
		build_split(&s);
		read_and_write(&s.main);
		assert_lost();
	}
}

static void a_damaged_split_is_a_loss(void **state)
{
	put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
	s.main.unit_type = DW_UT_compile;
	put_one_function(&s.main, "other", 0x2000);
	put_small_split(&s, SPLIT_ID, 0x1000);
	patch(&s.info, 0, s.info.size, 4);
	build_split(&s);
	read_and_write(&s.main);
	assert_lost();
}

static void rows_before_damage_are_kept(void **state)
{
	put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
	begin_split_unit(&s, DW_UT_split_compile, SPLIT_ID);
	put_split_functions(&s, "first", 0x1000, 0x10);
	put(&s.info, 0, 1);
	put(&s.info, 0x7f, 1);
	end_split_unit(&s);
	build_split(&s);
	read_and_write(&s.main);
	assert_chain(0x1000, "first :0:0");
	assert_int_equal(units_lost(), 1);
	assert_false(reading.gaps.split);
}

static void two_units_take_turns_with_one_room(void **state)
{
	put_skeleton(&s, "a.dwo", 1, 0x1000);
	put_skeleton(&s, "a.dwo", 2, 0x1000);
	put_skeleton(&s, "b.dwo", 1, 0x1000);
	put_small_split(&s, 1, 0x1000);
	put_small_split(&s, 2, 0x3000);
	build_split(&s);
	read_and_write(&s.main);
	assert_chain(0x1000, "within :0:0 < function :0:0");
	assert_chain(0x3000, "within :0:0 < function :0:0");
	assert_int_equal(s.opened, 2);
	assert_int_equal(units_lost(), 0);
}

/* The split file, of which the file b.dwo has another name in the same place. */
static int open_one_of_two(void *context, const char *path, int *ret_fd)
{
	char *name = memmem(s.elf.bytes, s.elf.size, "within", 6);

	if (name && strstr(path, "b.dwo"))
		memcpy(name, "inside", 6);
	return open_any_split(context, path, ret_fd);
}

static void names_are_of_the_split_that_is_open(void **state)
{
	/* The unit is in the same place too, and its code is where the skeleton says. */
	put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
	put_skeleton(&s, "b.dwo", SPLIT_ID, 0x1000);
	patch(&s.main.info, s.main.info.size - 4, 24, 4);
	put_small_split(&s, SPLIT_ID, 0x1000);
	(void)put_address(&s, 0x3000);
	(void)put_address(&s, 0x3000);
	s.opener.open = open_one_of_two;
	build_split(&s);
	read_and_write(&s.main);
	assert_chain(0x1000, "within :0:0 < function :0:0");
	assert_chain(0x3000, "inside :0:0 < function :0:0");
}

static void put_ranges(void)
{
	struct section_bytes *lists = s.version < 5 ? &s.main.ranges : &s.rnglists;

	if (s.version < 5) {
		put(lists, 0x10, 8);
		put(lists, 0x20, 8);
		put(lists, 0x40, 8);
		put(lists, 0x48, 8);
		put(lists, 0, 16);
		return;
	}
	put(lists, 30, 4);
	put(lists, 0x00080005, 4);
	put(lists, 1, 4);
	put(lists, 4, 4);
	put(lists, DW_RLE_offset_pair, 1);
	put(lists, 0x2010, 2);
	put(lists, DW_RLE_startx_length, 1);
	put_uleb(lists, put_address(&s, 0x1040));
	put(lists, 8, 1);
	put(lists, DW_RLE_end_of_list, 1);
}

static void ranges_are_where_the_version_has_them(void **state)
{
	static const uint16_t versions[] = { 4, 5 };

	for (size_t i = 0; i < 2; i++) {
		start_again(state, versions[i]);
		put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
		begin_split_unit(&s, DW_UT_split_compile, SPLIT_ID);
		(void)put_split_die(&s, SPLIT_FUNCTION_IN_RANGES);
		put_text(&s.info, "spread");
		put(&s.info, 0, s.version < 5 ? 4 : 1);
		(void)put_split_die(&s, SPLIT_FUNCTION_IN_RANGES);
		put_text(&s.info, "nowhere");
		put(&s.info, 0x70, s.version < 5 ? 4 : 1);
		put(&s.info, 0, 1);
		end_split_unit(&s);
		put_ranges();
		build_split(&s);
		read_and_write(&s.main);
		assert_chain(0x1000, "");
		assert_chain(0x1010, "spread :0:0");
		assert_chain(0x1020, "");
		assert_chain(0x1047, "spread :0:0");
		assert_chain(0x1048, "");
		/* The second one's list is not there. */
		assert_int_equal(units_lost(), 1);
	}
}

static void references_may_lead_in_a_circle(void **state)
{
	size_t first, second;

	put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
	begin_split_unit(&s, DW_UT_split_compile, SPLIT_ID);
	first = put_split_die(&s, SPLIT_ABSTRACT_OF);
	put(&s.info, first + 5, 4);
	second = put_split_die(&s, SPLIT_ABSTRACT_OF);
	assert_int_equal(second, first + 5);
	put(&s.info, first, 4);
	put_split_code_of(&s, SPLIT_FUNCTION_OF, second, 0x1000, 0x10);
	put_split_code_of(&s, SPLIT_FUNCTION_OF, 0xffffff, 0x1010, 0x10);
	put(&s.info, 0, 1);
	end_split_unit(&s);
	build_split(&s);
	read_and_write(&s.main);
	assert_chain(0x1000, " :0:0");
	assert_chain(0x1010, " :0:0");
	assert_int_equal(units_lost(), 0);
}

static void other_units_of_a_split_are_not_followed(void **state)
{
	put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
	begin_split_unit(&s, DW_UT_split_compile, SPLIT_ID);
	put_split_code_of(&s, SPLIT_FUNCTION_ELSEWHERE, 20, 0x1000, 0x10);
	put(&s.info, 0, 1);
	end_split_unit(&s);
	build_split(&s);
	read_and_write(&s.main);
	assert_chain(0x1000, " :0:0");
}

static void addresses_that_are_not_there_are_a_loss(void **state)
{
	put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
	begin_split_unit(&s, DW_UT_split_compile, SPLIT_ID);
	put_split_functions(&s, "first", 0x1000, 0x10);
	put(&s.info, 0, 2);
	end_split_unit(&s);
	s.main.addr.size -= 8;
	s.main.addr.size += 7;
	build_split(&s);
	assert_int_equal(read_dwarf(&s.main), 0);
	assert_int_equal(write_dwarf(), -ENOEXEC);
}

/* Its own split file, for ever. */
static void a_skeleton_in_a_split_is_not_followed(void **state)
{
	put_skeleton(&s, "a.dwo", SPLIT_ID, 0x1000);
	put_small_split(&s, SPLIT_ID, 0x1000);
	patch(&s.info, 6, DW_UT_skeleton, 1);
	build_split(&s);
	assert_int_equal(read_dwarf(&s.main), 0);
	assert_true(reading.gaps.split);
	assert_int_equal(s.opened, 1);
}

static void failing_allocations_are_reported(void **state)
{
	put_small_program();
	build_split(&s);
	assert_true(FAIL_EACH_ALLOCATION(
			    (dwarf_reading_done(), read_dwarf(&s.main)), -ENOMEM, true, 0) >= 5);
	assert_int_equal(write_dwarf(), 0);
	assert_small_program();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, dwarf_reading_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_are_in_a_file_of_their_own),
		TEST(functions_are_in_a_package),
		TEST(a_package_without_the_unit_leaves_its_file),
		TEST(a_package_that_lies_leaves_its_file),
		TEST(a_missing_split_is_a_loss),
		TEST(another_file_is_not_the_split),
		TEST(a_damaged_split_is_a_loss),
		TEST(rows_before_damage_are_kept),
		TEST(two_units_take_turns_with_one_room),
		TEST(names_are_of_the_split_that_is_open),
		TEST(ranges_are_where_the_version_has_them),
		TEST(references_may_lead_in_a_circle),
		TEST(other_units_of_a_split_are_not_followed),
		TEST(addresses_that_are_not_there_are_a_loss),
		TEST(a_skeleton_in_a_split_is_not_followed),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
