/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/extract/dwarf_reading.h"

static struct dwarf_fixture f;

static int clear_fixture(void **state)
{
	dwarf_fixture_init(&f);
	dwarf_reading_init(NULL);
	return 0;
}

/* A class with a function in it; `is_known` is where it ends. */
static void put_type_with_code(bool is_known, const char *name, uint64_t start)
{
	size_t sibling = 0;

	(void)put_die(&f, is_known ? TYPES : TYPES_OF_NOBODY);
	if (is_known) {
		sibling = f.info.size;
		put(&f.info, 0, 4);
	}
	(void)put_function(&f, FUNCTION, name, start, 0x10);
	(void)put_die(&f, BLOCKS);
	put_end(&f);
	put_end(&f);
	if (is_known)
		patch(&f.info, sibling, f.info.size - f.unit, 4);
}

static void put_types(uint8_t language)
{
	begin_unit(&f);
	(void)put_unit(&f, language, 0xffff);
	put_type_with_code(true, "one", 0x1000);
	put_type_with_code(false, "two", 0x1010);
	(void)put_function(&f, FUNCTIONS, "around", 0x1020, 0x20);
	put_type_with_code(true, "three", 0x1040);
	put_type_with_code(false, "four", 0x1050);
	put_end(&f);
	(void)put_function(&f, FUNCTION, "last", 0x1060, 0x10);
	put_end(&f);
	end_unit(&f);
}

/* Rust's are sum types, and have functions as others have. */
static void enumerations_are_types(void **state)
{
	for (int i = 0; i < 2; i++) {
		begin_unit(&f);
		(void)put_unit(&f, i ? DW_LANG_C_plus_plus_14 : DW_LANG_Rust, 0xffff);
		(void)put_die(&f, ENUMERATION);
		(void)put_function(&f, FUNCTION, i ? "none" : "one", 0x1000 + 0x20 * i, 0x10);
		put_end(&f);
		(void)put_function(&f, FUNCTION, "last", 0x1010 + 0x20 * i, 0x10);
		put_end(&f);
		end_unit(&f);
	}
	read_and_write(&f);
	assert_chain(0x1000, "one :0:0");
	assert_chain(0x1010, "last :0:0");
	assert_chain(0x1020, "");
	assert_chain(0x1030, "last :0:0");
}

static void types_have_code_where_their_language_says_so(void **state)
{
	put_types(DW_LANG_Rust);
	read_and_write(&f);
	assert_chain(0x1000, "one :0:0");
	assert_chain(0x1010, "two :0:0");
	assert_chain(0x1020, "around :0:0");
	assert_chain(0x1040, "three :0:0");
	assert_chain(0x1050, "four :0:0");
	assert_chain(0x1060, "last :0:0");
	/* Its line table is not there. */
	assert_int_equal(units_lost(), 1);
}

static void types_in_functions_always_have_code(void **state)
{
	put_types(DW_LANG_C_plus_plus_14);
	read_and_write(&f);
	assert_chain(0x1000, "");
	assert_chain(0x1010, "");
	assert_chain(0x1020, "around :0:0");
	assert_chain(0x1040, "three :0:0");
	assert_chain(0x1050, "four :0:0");
	assert_chain(0x1060, "last :0:0");
}

static void functions_in_functions_are_their_own(void **state)
{
	size_t inner;

	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	inner = put_abstract(&f, "inner", "inner");
	(void)put_function(&f, FUNCTIONS, "outer", 0x1000, 0x20);
	(void)put_die(&f, BLOCKS);
	(void)put_function(&f, FUNCTIONS, "nested", 0x1020, 0x20);
	put_inlined(&f, INLINED_CALL, inner, 0x1028, 0x8, 1);
	(void)put_function(&f, FUNCTION, "deepest", 0x1040, 0x20);
	put_end(&f);
	put_end(&f);
	put_inlined(&f, INLINED_CALL, inner, 0x1010, 0x8, 2);
	put_end(&f);
	put_end(&f);
	end_unit(&f);
	read_and_write(&f);
	assert_chain(0x1000, "outer :0:0");
	assert_chain(0x1010, "inner :0:0 < outer :2:20");
	assert_chain(0x1020, "nested :0:0");
	assert_chain(0x1028, "inner :0:0 < nested :1:10");
	assert_chain(0x1040, "deepest :0:0");
	assert_int_equal(units_lost(), 0);
}

static void siblings_that_lie_are_not_believed(void **state)
{
	size_t sibling;

	begin_unit(&f);
	(void)put_unit(&f, DW_LANG_C99, 0xffff);
	(void)put_die(&f, TYPES);
	sibling = f.info.size;
	put(&f.info, 0, 4);
	(void)put_die(&f, BLOCKS);
	put_end(&f);
	put_end(&f);
	(void)put_function(&f, FUNCTION, "after", 0x1000, 0x10);
	put_end(&f);
	end_unit(&f);
	for (uint32_t target = 0; target < f.info.size + 8; target++) {
		/* One that is right, and one that skips the function. */
		if (target > sibling + 4 - f.unit && f.info.bytes[f.unit + target - 1] == 0)
			continue;
		patch(&f.info, sibling, target, 4);
		read_and_write(&f);
		assert_chain(0x1000, "after :0:0");
		dwarf_reading_done();
	}
}

static void entries_nested_too_deep_lose_their_unit(void **state)
{
	enum { DEPTH = 3000 };

	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	for (int i = 0; i < DEPTH; i++)
		(void)put_die(&f, BLOCKS);
	(void)put_function(&f, FUNCTION, "deep", 0x1000, 0x10);
	for (int i = 0; i < DEPTH; i++)
		put_end(&f);
	(void)put_function(&f, FUNCTION, "shallow", 0x1010, 0x10);
	put_end(&f);
	end_unit(&f);
	read_and_write(&f);
	assert_chain(0x1000, "");
	assert_chain(0x1010, "shallow :0:0");
	assert_int_equal(units_lost(), 1);
}

static void put_ranges_unit(uint64_t ranges)
{
	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	(void)put_die(&f, FUNCTION_IN_RANGES);
	put_text(&f.info, "split");
	put_offset(&f, &f.info, ranges);
	(void)put_die(&f, FUNCTION_TO_END);
	put_text(&f.info, "to end");
	put(&f.info, 0x1080, 8);
	put(&f.info, 0x1090, 8);
	put_end(&f);
	end_unit(&f);
}

static void ranges_are_read_from_lists(void **state)
{
	for (int i = 0; i < 16; i++)
		put(&f.ranges, 0xff, 1);
	for (int i = 0; i < 3; i++) {
		put(&f.ranges, 0x1000 + (uint64_t)i * 0x20, 8);
		put(&f.ranges, 0x1010 + (uint64_t)i * 0x20, 8);
	}
	put(&f.ranges, 0, 16);
	put_ranges_unit(16);
	read_and_write(&f);
	assert_chain(0x1000, "split :0:0");
	assert_chain(0x1010, "");
	assert_chain(0x1040, "split :0:0");
	assert_chain(0x1050, "");
	assert_chain(0x1080, "to end :0:0");
	assert_chain(0x1090, "");
	assert_int_equal(units_lost(), 0);
}

static void missing_ranges_are_a_loss(void **state)
{
	f.has_no_ranges = true;
	put_one_function(&f, "before", 0x1000);
	put_ranges_unit(0);
	read_and_write(&f);
	assert_chain(0x1080, "to end :0:0");
	assert_int_equal(units_lost(), 1);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, clear_fixture, dwarf_reading_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(enumerations_are_types),
		TEST(types_have_code_where_their_language_says_so),
		TEST(types_in_functions_always_have_code),
		TEST(functions_in_functions_are_their_own),
		TEST(siblings_that_lie_are_not_believed),
		TEST(entries_nested_too_deep_lose_their_unit),
		TEST(ranges_are_read_from_lists),
		TEST(missing_ranges_are_a_loss),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
