/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/extract/dwarf_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct dwarf_fixture f;

static int clear_fixture(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.version = 4;
	f.scratch.fd = -1;
	return 0;
}

static int free_fixture(void **state)
{
	(void)state;
	dwarf_fixture_done(&f);
	return 0;
}

static void read_and_write(void)
{
	assert_int_equal(read_dwarf(&f), 0);
	assert_int_equal(write_dwarf(&f), 0);
}

#define assert_chain(vaddr, text) assert_string_equal(look_up(&f, vaddr), text)

/* A line table with /src/a.c as file 1: line 10 at 0x1000, 11 at 0x1010, 12 at 0x1020. */
static size_t put_line_table(void)
{
	size_t start = f.line.size, header;

	put_length(&f, &f.line);
	put(&f.line, 4, 2);
	header = f.line.size;
	put_offset(&f, &f.line, 0);
	put(&f.line, 1, 1);
	put(&f.line, 1, 1);
	put(&f.line, 1, 1);
	put(&f.line, 0, 1);
	put(&f.line, 1, 1);
	put(&f.line, 10, 1); /* opcode_base */
	put(&f.line, 0x0100000001010100, 8);
	put(&f.line, 0, 1);
	put(&f.line, 0, 1); /* no folders */
	put_text(&f.line, "a.c");
	put(&f.line, 0, 4);
	patch(&f.line, header, f.line.size - header - (f.is_64_bit ? 8 : 4), f.is_64_bit ? 8 : 4);
	put(&f.line, 0x000900, 2);
	f.line.bytes[f.line.size - 2] = 0;
	f.line.bytes[f.line.size - 1] = 9;
	put(&f.line, DW_LNE_set_address, 1);
	put(&f.line, 0x1000, 8);
	put(&f.line, DW_LNS_advance_line, 1);
	put(&f.line, 9, 1);
	for (int i = 0; i < 3; i++) {
		put(&f.line, DW_LNS_copy, 1);
		put(&f.line, DW_LNS_advance_line, 1);
		put(&f.line, 1, 1);
		put(&f.line, DW_LNS_advance_pc, 1);
		put(&f.line, 0x10, 1);
	}
	put(&f.line, 0x010100, 3);
	patch_length(&f, &f.line, start);
	return start;
}

/* The linkage name is that of what is shown as inner(int). */
static void put_program_of(const char *inner_linkage)
{
	size_t inner, outer, lines = put_line_table();

	begin_unit(&f);
	(void)put_unit(&f, DW_LANG_C99, lines);
	inner = put_abstract(&f, "inner", inner_linkage);
	outer = put_abstract(&f, "outer", "outer");
	(void)put_die(&f, VARIABLE);
	put_text(&f.info, "v");
	put(&f.info, 0xaabb02, 3);
	(void)put_function(&f, FUNCTIONS, "main", 0x1000, 0x30);
	(void)put_die(&f, BLOCKS);
	put_inlined(&f, INLINED_CALLS, outer, 0x1010, 0x18, 7);
	(void)put_die(&f, BLOCKS);
	put_inlined(&f, INLINED_CALL, inner, 0x1018, 0x8, 8);
	put_end(&f);
	put_end(&f);
	put_end(&f);
	put_end(&f);
	(void)put_function(&f, FUNCTION, "after", 0x1100, 0x10);
	put_end(&f);
	end_unit(&f);
}

static void put_program(void)
{
	put_program_of("_Z5inneri");
}

static void assert_program(void)
{
	assert_chain(0x1000, "main /src/a.c:10:0");
	assert_chain(0x100f, "main /src/a.c:10:0");
	assert_chain(0x1010, "outer /src/a.c:11:0 < main /src/a.c:7:70");
	assert_chain(0x101f, "inner(int) /src/a.c:11:0 < outer /src/a.c:8:80 < main /src/a.c:7:70");
	assert_chain(0x1020, "outer /src/a.c:12:0 < main /src/a.c:7:70");
	assert_chain(0x1028, "main /src/a.c:12:0");
	assert_chain(0x1030, "");
	assert_chain(0x1100, "after :0:0");
	assert_chain(0x1110, "");
	assert_int_equal(units_lost(&f), 0);
}

static void functions_have_calls_and_lines(void **state)
{
	(void)state;
	put_program();
	read_and_write();
	assert_program();
}

static void all_versions_are_read(void **state)
{
	for (uint16_t version = 2; version <= 5; version++)
		for (int is_64_bit = 0; is_64_bit < 2; is_64_bit++) {
			(void)clear_fixture(state);
			f.version = version;
			f.is_64_bit = is_64_bit;
			/* 64-bit offsets in a form of 32 bits are of no use. */
			if (version < 4 && is_64_bit)
				continue;
			put_program();
			read_and_write();
			assert_program();
			(void)free_fixture(state);
		}
}

static void a_line_program_is_run_once(void **state)
{
	(void)state;
	put_program();
	begin_unit(&f);
	(void)put_unit(&f, DW_LANG_C99, 0);
	(void)put_function(&f, FUNCTION, "twin", 0x1200, 0x10);
	put_end(&f);
	end_unit(&f);
	read_and_write();
	assert_program();
	assert_chain(0x1200, "twin :0:0");
}

static void names_come_by_references(void **state)
{
	size_t named, mangled, between;

	(void)state;
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
	read_and_write();
	assert_chain(0x1010, "plain :0:0");
	assert_chain(0x1020, "long::name() :0:0");
	assert_chain(0x1030, "long::name() :0:0");
	assert_chain(0x1040, "near :0:0");
}

static void references_across_units_are_followed(void **state)
{
	size_t named;

	(void)state;
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
	read_and_write();
	assert_chain(0x1000, "there :0:0");
	assert_chain(0x1010, " :0:0");
	assert_chain(0x1020, " :0:0");
}

static void circles_of_references_end(void **state)
{
	size_t first, reference;

	(void)state;
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
	read_and_write();
	assert_chain(0x1000, " :0:0");
	assert_chain(0x1010, " :0:0");
	assert_chain(0x1020, "after :0:0");
	assert_int_equal(units_lost(&f), 0);
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

static void types_have_code_where_their_language_says_so(void **state)
{
	(void)state;
	put_types(DW_LANG_Rust);
	read_and_write();
	assert_chain(0x1000, "one :0:0");
	assert_chain(0x1010, "two :0:0");
	assert_chain(0x1020, "around :0:0");
	assert_chain(0x1040, "three :0:0");
	assert_chain(0x1050, "four :0:0");
	assert_chain(0x1060, "last :0:0");
	/* Its line table is not there. */
	assert_int_equal(units_lost(&f), 1);
}

static void types_in_functions_always_have_code(void **state)
{
	(void)state;
	put_types(DW_LANG_C_plus_plus_14);
	read_and_write();
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

	(void)state;
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
	read_and_write();
	assert_chain(0x1000, "outer :0:0");
	assert_chain(0x1010, "inner :0:0 < outer :2:20");
	assert_chain(0x1020, "nested :0:0");
	assert_chain(0x1028, "inner :0:0 < nested :1:10");
	assert_chain(0x1040, "deepest :0:0");
	assert_int_equal(units_lost(&f), 0);
}

static void siblings_that_lie_are_not_believed(void **state)
{
	size_t sibling;

	(void)state;
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
		read_and_write();
		assert_chain(0x1000, "after :0:0");
		dwarf_fixture_done(&f);
	}
}

static void what_is_too_deep_is_a_loss(void **state)
{
	enum { DEPTH = 3000 };

	(void)state;
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
	read_and_write();
	assert_chain(0x1000, "");
	assert_chain(0x1010, "shallow :0:0");
	assert_int_equal(units_lost(&f), 1);
}

static void put_one_function(const char *name, uint64_t start)
{
	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	(void)put_function(&f, FUNCTION, name, start, 0x10);
	put_end(&f);
	end_unit(&f);
}

/* A unit that `damage` has broken off costs itself; what it had told before stays. */
static void assert_lost(void (*damage)(void))
{
	put_one_function("before", 0x1000);
	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	(void)put_function(&f, FUNCTIONS, "within", 0x1010, 0x10);
	damage();
	end_unit(&f);
	put_one_function("after", 0x1020);
	read_and_write();
	assert_chain(0x1000, "before :0:0");
	assert_chain(0x1010, "within :0:0");
	assert_chain(0x1020, "after :0:0");
	assert_int_equal(units_lost(&f), 1);
}

static void put_unknown_code(void)
{
	(void)put_die(&f, 1000);
}

static void put_unknown_form(void)
{
	(void)put_die(&f, DEEPER);
}

static void put_half_a_function(void)
{
	(void)put_die(&f, FUNCTION);
	put_text(&f.info, "half");
	put(&f.info, 0x1080, 4);
}

static void put_half_a_code(void)
{
	put(&f.info, 0x80, 1);
}

static void put_half_a_name(void)
{
	(void)put_die(&f, FUNCTION);
	put(&f.info, 'x', 1);
}

static void damage_costs_its_unit(void **state)
{
	void (*const damages[])(void) = { put_unknown_code, put_unknown_form, put_half_a_function,
		put_half_a_code, put_half_a_name };

	for (size_t i = 0; i < sizeof(damages) / sizeof(*damages); i++) {
		(void)clear_fixture(state);
		assert_lost(damages[i]);
		(void)free_fixture(state);
	}
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
	(void)state;
	for (int i = 0; i < 16; i++)
		put(&f.ranges, 0xff, 1);
	for (int i = 0; i < 3; i++) {
		put(&f.ranges, 0x1000 + (uint64_t)i * 0x20, 8);
		put(&f.ranges, 0x1010 + (uint64_t)i * 0x20, 8);
	}
	put(&f.ranges, 0, 16);
	put_ranges_unit(16);
	read_and_write();
	assert_chain(0x1000, "split :0:0");
	assert_chain(0x1010, "");
	assert_chain(0x1040, "split :0:0");
	assert_chain(0x1050, "");
	assert_chain(0x1080, "to end :0:0");
	assert_chain(0x1090, "");
	assert_int_equal(units_lost(&f), 0);
}

static void missing_ranges_are_a_loss(void **state)
{
	(void)state;
	f.has_no_ranges = true;
	put_one_function("before", 0x1000);
	put_ranges_unit(0);
	read_and_write();
	assert_chain(0x1080, "to end :0:0");
	assert_int_equal(units_lost(&f), 1);
}

static void partial_units_are_not_walked(void **state)
{
	(void)state;
	put_one_function("code", 0x1000);
	begin_unit(&f);
	(void)put_die(&f, PARTIAL_UNIT);
	(void)put_function(&f, FUNCTION, "none", 0x1010, 0x10);
	put_end(&f);
	end_unit(&f);
	read_and_write();
	assert_chain(0x1000, "code :0:0");
	assert_chain(0x1010, "");
	assert_int_equal(units_lost(&f), 0);
}

static void a_unit_that_libdw_refuses_ends_the_rest(void **state)
{
	(void)state;
	put_one_function("before", 0x1000);
	put_one_function("after", 0x1010);
	patch(&f.info, f.unit, 0x7fffffff, 4);
	read_and_write();
	assert_chain(0x1000, "before :0:0");
	assert_chain(0x1010, "");
	assert_int_equal(units_lost(&f), 1);
}

static void a_file_without_dwarf_has_none(void **state)
{
	(void)state;
	assert_int_equal(read_dwarf(&f), -ENODATA);
	dwarf_fixture_done(&f);
	/* Units alone, whose abbreviations are missing. */
	put_one_function("lost", 0x1000);
	f.abbrev.size = 0;
	assert_int_equal(read_dwarf(&f), -ENODATA);
}

static void nonsense_is_an_error(void **state)
{
	(void)state;
	put_one_function("lost", 0x1000);
	patch(&f.info, 4, 77, 2);
	assert_int_equal(read_dwarf(&f), -ENOEXEC);
	dwarf_fixture_done(&f);
	patch(&f.info, 4, 4, 2);
	patch(&f.info, 6, 0xffff, 4); /* its abbreviations */
	assert_int_equal(read_dwarf(&f), -ENOEXEC);
}

static void many_abbreviations_make_libdw_begin_anew(void **state)
{
	char name[32];

	(void)state;
	/* Each unit counts them all, and some hundred units go beyond the bound. */
	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	put_end(&f);
	end_unit(&f);
	f.abbrev.size--;
	for (uint64_t code = 100; code < 2400; code++)
		put_abbreviation(&f, code, DW_TAG_variable, false, ATTRIBUTES());
	put(&f.abbrev, 0, 1);
	for (uint64_t i = 0; i < 400; i++) {
		(void)snprintf(name, sizeof(name), "f%u", (unsigned int)i);
		put_one_function(name, 0x1000 + i * 16);
	}
	read_and_write();
	for (uint64_t i = 0; i < 400; i++) {
		(void)snprintf(name, sizeof(name), "f%u :0:0", (unsigned int)i);
		assert_chain(0x1000 + i * 16, name);
	}
	assert_int_equal(units_lost(&f), 0);
}

static void failing_allocations_are_told(void **state)
{
	size_t n;
	int r;

	/* What cannot be demangled for lack of memory stays mangled, so nothing is mangled here. */
	put_program_of("inner(int)");
	for (n = 0;; n++) {
		fail_allocation(n);
		r = read_dwarf(&f);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		(void)free_fixture(state);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 5);
	assert_int_equal(write_dwarf(&f), 0);
	assert_program();
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, clear_fixture, free_fixture)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_have_calls_and_lines),
		TEST(all_versions_are_read),
		TEST(a_line_program_is_run_once),
		TEST(names_come_by_references),
		TEST(references_across_units_are_followed),
		TEST(circles_of_references_end),
		TEST(types_have_code_where_their_language_says_so),
		TEST(types_in_functions_always_have_code),
		TEST(functions_in_functions_are_their_own),
		TEST(siblings_that_lie_are_not_believed),
		TEST(what_is_too_deep_is_a_loss),
		TEST(damage_costs_its_unit),
		TEST(ranges_are_read_from_lists),
		TEST(missing_ranges_are_a_loss),
		TEST(partial_units_are_not_walked),
		TEST(a_unit_that_libdw_refuses_ends_the_rest),
		TEST(a_file_without_dwarf_has_none),
		TEST(nonsense_is_an_error),
		TEST(many_abbreviations_make_libdw_begin_anew),
		TEST(failing_allocations_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
