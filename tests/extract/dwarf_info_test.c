/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/extract/dwarf_reading.h"
#include "tests/harness/failing_allocation.h"

static struct dwarf_fixture f;

static int clear_fixture(void **state)
{
	dwarf_fixture_init(&f);
	dwarf_reading_init(NULL);
	return 0;
}

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
	put(&f.line, 0x0900, 2);
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
	assert_int_equal(units_lost(), 0);
}

static void functions_have_calls_and_lines(void **state)
{
	put_program();
	read_and_write(&f);
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
			read_and_write(&f);
			assert_program();
			(void)dwarf_reading_tear_down(state);
		}
}

static void a_line_program_is_run_once(void **state)
{
	put_program();
	begin_unit(&f);
	(void)put_unit(&f, DW_LANG_C99, 0);
	(void)put_function(&f, FUNCTION, "twin", 0x1200, 0x10);
	put_end(&f);
	end_unit(&f);
	read_and_write(&f);
	assert_program();
	assert_chain(0x1200, "twin :0:0");
}

/* A unit that `damage` has broken off costs itself; what it had told before stays. */
static void assert_lost(void (*damage)(void))
{
	put_one_function(&f, "before", 0x1000);
	begin_unit(&f);
	(void)put_die(&f, UNIT_WITHOUT_LINES);
	(void)put_function(&f, FUNCTIONS, "within", 0x1010, 0x10);
	damage();
	end_unit(&f);
	put_one_function(&f, "after", 0x1020);
	read_and_write(&f);
	assert_chain(0x1000, "before :0:0");
	assert_chain(0x1010, "within :0:0");
	assert_chain(0x1020, "after :0:0");
	assert_int_equal(units_lost(), 1);
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
		(void)dwarf_reading_tear_down(state);
	}
}

static void partial_units_are_not_walked(void **state)
{
	put_one_function(&f, "code", 0x1000);
	begin_unit(&f);
	(void)put_die(&f, PARTIAL_UNIT);
	(void)put_function(&f, FUNCTION, "none", 0x1010, 0x10);
	put_end(&f);
	end_unit(&f);
	read_and_write(&f);
	assert_chain(0x1000, "code :0:0");
	assert_chain(0x1010, "");
	assert_int_equal(units_lost(), 0);
}

static void a_unit_beyond_the_section_ends_the_rest(void **state)
{
	put_one_function(&f, "before", 0x1000);
	put_one_function(&f, "after", 0x1010);
	patch(&f.info, f.unit, 0x7fffffff, 4);
	read_and_write(&f);
	assert_chain(0x1000, "before :0:0");
	assert_chain(0x1010, "");
	assert_int_equal(units_lost(), 1);
}

static void a_file_without_dwarf_has_none(void **state)
{
	assert_int_equal(read_dwarf(&f), -ENODATA);
	dwarf_reading_done();
	/* Units alone, whose abbreviations are missing. */
	put_one_function(&f, "lost", 0x1000);
	f.abbrev.size = 0;
	assert_int_equal(read_dwarf(&f), -ENODATA);
}

static void nonsense_is_an_error(void **state)
{
	put_one_function(&f, "lost", 0x1000);
	patch(&f.info, 4, 77, 2);
	assert_int_equal(read_dwarf(&f), -ENOEXEC);
	dwarf_reading_done();
	patch(&f.info, 4, 4, 2);
	patch(&f.info, 6, 0xffff, 4); /* its abbreviations */
	assert_int_equal(read_dwarf(&f), -ENOEXEC);
}

static void many_abbreviations_are_read_for_each_unit(void **state)
{
	char name[32];

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
		put_one_function(&f, name, 0x1000 + i * 16);
	}
	read_and_write(&f);
	for (uint64_t i = 0; i < 400; i++) {
		(void)snprintf(name, sizeof(name), "f%u :0:0", (unsigned int)i);
		assert_chain(0x1000 + i * 16, name);
	}
	assert_int_equal(units_lost(), 0);
}

static void failing_allocations_are_reported(void **state)
{
	/* What cannot be demangled for lack of memory stays mangled, so nothing is mangled here. */
	put_program_of("inner(int)");
	assert_true(FAIL_EACH_ALLOCATION(
			    (dwarf_reading_done(), read_dwarf(&f)), -ENOMEM, true, 0) >= 5);
	assert_int_equal(write_dwarf(), 0);
	assert_program();
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, clear_fixture, dwarf_reading_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(functions_have_calls_and_lines),
		TEST(all_versions_are_read),
		TEST(a_line_program_is_run_once),
		TEST(damage_costs_its_unit),
		TEST(partial_units_are_not_walked),
		TEST(a_unit_beyond_the_section_ends_the_rest),
		TEST(a_file_without_dwarf_has_none),
		TEST(nonsense_is_an_error),
		TEST(many_abbreviations_are_read_for_each_unit),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
