/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/extract/dwarf_reading.h"

static struct dwarf_fixture f;

static int clear_fixture(void **state)
{
	dwarf_fixture_init(&f);
	dwarf_reading_init(NULL);
	return 0;
}

static void names_come_by_references(void **state)
{
	size_t named, mangled, between;

	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	named = put_function(&f, FUNCTION, "plain", 0x1000, 0x10);
	mangled = put_abstract(&f, "short", "_ZN4long4nameEv");
	between = put_die(&f, ABSTRACT_OF);
	put(&f.info, mangled, 4);
	(void)put_die(&f, FUNCTION_OF);
	put(&f.info, named, 4);
	put_pc_range(&f, 0x1010, 0x10);
	(void)put_die(&f, FUNCTION_OF);
	put(&f.info, between, 4);
	put_pc_range(&f, 0x1020, 0x10);
	/* A linkage name is preferred wherever it is; of plain names the nearest. */
	(void)put_die(&f, NAMED_FUNCTION_OF);
	put_text(&f.info, "near");
	put(&f.info, between, 4);
	put_pc_range(&f, 0x1030, 0x10);
	(void)put_die(&f, NAMED_FUNCTION_OF);
	put_text(&f.info, "near");
	put(&f.info, named, 4);
	put_pc_range(&f, 0x1040, 0x10);
	put_end(&f);
	end_unit(&f);
	read_and_write(&f);
	assert_chain(0x1010, "plain :0:0");
	assert_chain(0x1020, "long::name() :0:0");
	assert_chain(0x1030, "long::name() :0:0");
	assert_chain(0x1040, "near :0:0");
	assert_false(reading.gaps.alternate);
	assert_int_equal(units_lost(), 0);
}

static void references_across_units_are_followed(void **state)
{
	size_t named;

	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	named = put_abstract(&f, "there", "there");
	put_end(&f);
	end_unit(&f);
	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	(void)put_die(&f, FUNCTION_ELSEWHERE);
	put(&f.info, named, 4);
	put_pc_range(&f, 0x1000, 0x10);
	(void)put_die(&f, FUNCTION_ELSEWHERE);
	put(&f.info, 0x12345678, 4);
	put_pc_range(&f, 0x1010, 0x10);
	/* There is no alternate file, and none is looked for. */
	(void)put_die(&f, FUNCTION_IN_ALTERNATE);
	put(&f.info, named, 4);
	put_pc_range(&f, 0x1020, 0x10);
	put_end(&f);
	end_unit(&f);
	read_and_write(&f);
	assert_chain(0x1000, "there :0:0");
	assert_chain(0x1010, " :0:0");
	assert_chain(0x1020, " :0:0");
	assert_true(reading.gaps.alternate);
	assert_int_equal(units_lost(), 1);
}

/* Once for the file, however many names there are in it. */
static void a_missing_alternate_is_one_loss(void **state)
{
	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	for (uint64_t i = 0; i < 3; i++) {
		(void)put_die(&f, FUNCTION_IN_ALTERNATE);
		put(&f.info, 0x20, 4);
		put_pc_range(&f, 0x1000 + 0x10 * i, 0x10);
	}
	put_end(&f);
	end_unit(&f);
	read_and_write(&f);
	assert_true(reading.gaps.alternate);
	assert_int_equal(units_lost(), 1);
}

static void circles_of_references_end(void **state)
{
	size_t first, reference;

	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	first = put_die(&f, ABSTRACT_OF);
	reference = f.info.size;
	put(&f.info, 0, 4);
	(void)put_die(&f, ABSTRACT_OF);
	put(&f.info, first, 4);
	patch(&f.info, reference, reference + 4 - f.unit, 4);
	(void)put_die(&f, FUNCTION_OF);
	put(&f.info, first, 4);
	put_pc_range(&f, 0x1000, 0x10);
	(void)put_die(&f, FUNCTION_OF);
	put(&f.info, f.info.size - 1 - f.unit, 4); /* itself */
	put_pc_range(&f, 0x1010, 0x10);
	(void)put_function(&f, FUNCTION, "after", 0x1020, 0x10);
	put_end(&f);
	end_unit(&f);
	read_and_write(&f);
	assert_chain(0x1000, " :0:0");
	assert_chain(0x1010, " :0:0");
	assert_chain(0x1020, "after :0:0");
	assert_int_equal(units_lost(), 0);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, clear_fixture, dwarf_reading_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_come_by_references),
		TEST(references_across_units_are_followed),
		TEST(a_missing_alternate_is_one_loss),
		TEST(circles_of_references_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
