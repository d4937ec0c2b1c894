/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/go_module.h"
#include "dwarf/go_table.h"
#include "tests/base/scratch_fixture.h"
#include "tests/dwarf/go_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct go_fixture fixture;
static struct scratch_fixture scratch;
static struct elf_file file;
static struct go_table table;

static int set_up(void **state)
{
	go_fixture_init(&fixture, GO_1_20);
	return scratch_fixture_init(&scratch, 64 << 20) ? 0 : -1;
}

static int tear_down(void **state)
{
	go_table_close(&table);
	scratch_fixture_done(&scratch);
	return 0;
}

static int open_table(void)
{
	go_table_close(&table);
	file = go_fixture_elf(&fixture);
	return go_table_open(&table, &file, &scratch.scratch);
}

static void add_functions(void)
{
	struct go_fixture_function *function;

	(void)go_fixture_file(&fixture, "/src/other.go");
	(void)go_fixture_file(&fixture, "/src/main.go");
	function = go_fixture_function(&fixture, "main.main", 0x10);
	function->stack = GO_PROGRAM(&fixture, { 0, 5 }, { 24, 100 }, { 0, 3 });
	function->file = GO_PROGRAM(&fixture, { 0, 200 });
	function->line = GO_PROGRAM(&fixture, { 7, 8 }, { 5, 200 });
	function->inlined = GO_PROGRAM(&fixture, { -1, 4 }, { 0, 4 });
	function->unit = 1;
	function->inlined_calls = 32;
	(void)go_fixture_function(&fixture, "main.generic[...]", 0x100);
	fixture.functions_end = 0x140;
}

static void assert_value(struct go_program *program, int32_t value, uint64_t end)
{
	uint64_t start = program->address, found_start, found_end;
	int32_t found;

	assert_int_equal(go_program_next(program, &found_start, &found_end, &found), 1);
	assert_int_equal(found, value);
	assert_int_equal(found_start, start);
	assert_int_equal(found_end, GO_FIXTURE_TEXT + end);
}

static int end_of(struct go_program *program)
{
	uint64_t start, end;
	int32_t value;

	return go_program_next(program, &start, &end, &value);
}

static void assert_functions(bool has_inlined)
{
	struct go_function function;
	struct go_program program;

	assert_int_equal(table.function_count, 2);
	assert_int_equal(go_table_function(&table, 0, &function), 0);
	assert_int_equal(function.start, GO_FIXTURE_TEXT + 0x10);
	assert_int_equal(function.end, GO_FIXTURE_TEXT + 0x100);
	assert_string_equal(go_table_name(&table, function.name), "main.main");
	assert_int_equal(function.unit, 1);
	assert_string_equal(go_table_file(&table, function.unit, 0), "/src/main.go");
	assert_int_equal(function.inlined, has_inlined ? 32 : GO_NOT_INLINED);
	go_program_init(&program, &table, &function, function.stack_program);
	assert_value(&program, 0, 0x15);
	assert_value(&program, 24, 0x79);
	assert_value(&program, 0, 0x7c);
	assert_int_equal(end_of(&program), 0);
	go_program_init(&program, &table, &function, function.line_program);
	assert_value(&program, 7, 0x18);
	assert_value(&program, 5, 0xe0);
	go_program_init(&program, &table, &function, function.inline_program);
	assert_value(&program, -1, 0x14);
	assert_value(&program, 0, 0x18);
	assert_int_equal(go_table_function(&table, 1, &function), 0);
	assert_int_equal(function.end, GO_FIXTURE_TEXT + 0x140);
	assert_string_equal(go_table_name(&table, function.name), "main.generic[...]");
	go_program_init(&program, &table, &function, function.stack_program);
	assert_int_equal(end_of(&program), 0);
}

static void each_version_is_read(void **state)
{
	static const enum go_version versions[] = { GO_1_16, GO_1_18, GO_1_20 };

	for (size_t i = 0; i < 3; i++) {
		go_fixture_init(&fixture, versions[i]);
		add_functions();
		go_fixture_finish(&fixture);
		assert_int_equal(open_table(), 0);
		assert_int_equal(table.version, versions[i]);
		assert_functions(versions[i] != GO_1_16);
		assert_int_equal(
			table.inlined_offset, versions[i] == GO_1_16 ? 0 : GO_FIXTURE_INLINED);
	}
}

static void the_table_is_found_in_other_sections(void **state)
{
	static const char *const sections[] = { ".gopclntab", ".data.rel.ro.gopclntab", NULL };

	for (size_t i = 0; i < 3; i++) {
		go_fixture_init(&fixture, GO_1_20);
		fixture.section = sections[i];
		add_functions();
		go_fixture_finish(&fixture);
		assert_int_equal(open_table(), 0);
		assert_functions(true);
		assert_int_equal(go_table_is_in(&file), 1);
	}
}

static void the_module_is_found_by_relocations(void **state)
{
	fixture.has_relocations = true;
	add_functions();
	go_fixture_finish(&fixture);
	assert_int_equal(open_table(), 0);
	assert_functions(true);
	assert_int_equal(table.inlined_offset, GO_FIXTURE_INLINED);
	/* Behind the end of the file. */
	go_fixture_put(&fixture,
		GO_FIXTURE_HEADERS + 3 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
		GO_FIXTURE_BYTES, 8);
	assert_int_equal(open_table(), -ENOEXEC);
}

/* Only the header says where the code begins, and nothing says where the inlined calls are. */
static void a_module_is_not_needed_before_go_1_26(void **state)
{
	fixture.has_no_module = true;
	fixture.text = GO_FIXTURE_TEXT;
	add_functions();
	go_fixture_finish(&fixture);
	assert_int_equal(open_table(), 0);
	assert_functions(true);
	assert_int_equal(table.inlined_bytes, 0);
	go_fixture_put(&fixture, GO_FIXTURE_TABLE + 24, 0, 8);
	assert_int_equal(open_table(), -ENOEXEC);
}

/* Words that look like a module. */
static void a_module_has_the_tables_names(void **state)
{
	add_functions();
	go_fixture_finish(&fixture);
	go_fixture_put(&fixture, GO_FIXTURE_MODULE - 8, GO_FIXTURE_TABLE + GO_FIXTURE_BIAS, 8);
	assert_int_equal(open_table(), 0);
	assert_functions(true);
	/* The data of functions are nowhere. */
	go_fixture_put(&fixture, GO_FIXTURE_MODULE + 40 * 8, 1, 8);
	assert_int_equal(open_table(), 0);
	assert_functions(true);
	assert_int_equal(table.inlined_bytes, 0);
	go_fixture_put(&fixture, GO_FIXTURE_MODULE + 8, 1, 8);
	assert_int_equal(open_table(), -ENOEXEC);
}

static void headers_that_make_no_sense_are_refused(void **state)
{
	static const struct {
		uint32_t at;
		uint64_t value;
		int error;
	} cases[] = {
		{ 0, 0xfffffffb | 0x0801ULL << 48, -ENODATA }, /* Go 1.2 */
		{ 0, 0xfffffff1 | 0x0401ULL << 48, -ENODATA }, /* 32-bit */
		{ 0, 0xfffffff1 | 0x0803ULL << 48, -ENODATA },
		{ 0, 0xfffffff1 | 0x0801ULL << 48 | 1ULL << 32, -ENODATA },
		{ 0, 0xfffffff1 | 0x0801ULL << 48 | 1ULL << 40, -ENODATA },
		{ 8, 1 << 20, -ENOEXEC }, /* functions */
		{ 8, UINT64_MAX / 2, -ENOEXEC },
		{ 32, UINT64_MAX, -ENOEXEC }, /* names */
		{ 64, GO_FIXTURE_TABLE_BYTES, -ENOEXEC },
		{ 64, GO_FIXTURE_TABLE_BYTES - 8, -ENOEXEC },
	};

	add_functions();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		go_fixture_finish(&fixture);
		go_fixture_put(&fixture, GO_FIXTURE_TABLE + cases[i].at, cases[i].value, 8);
		assert_int_equal(open_table(), cases[i].error);
	}
	go_fixture_finish(&fixture);
	go_fixture_put(&fixture,
		GO_FIXTURE_HEADERS + 4 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size), 71, 8);
	assert_int_equal(open_table(), -ENODATA);
	file.is_64 = false;
	go_table_close(&table);
	assert_int_equal(go_table_open(&table, &file, &scratch.scratch), -ENODATA);
}

static void other_programs_have_no_table(void **state)
{
	add_functions();
	fixture.section = NULL;
	go_fixture_finish(&fixture);
	memset(fixture.bytes + GO_FIXTURE_TABLE, 0, 8);
	assert_int_equal(open_table(), -ENODATA);
	/* The name of the build-id's section. */
	fixture.bytes[GO_FIXTURE_HEADERS + 0x800 + 12] = 'x';
	assert_int_equal(go_table_is_in(&file), 0);
}

static void functions_that_make_no_sense_are_refused(void **state)
{
	struct go_function function;

	add_functions();
	go_fixture_finish(&fixture);
	/* The second begins before the first. */
	go_fixture_put(&fixture, go_fixture_entry(&fixture, 2), 0x10, 4);
	assert_int_equal(open_table(), 0);
	assert_int_equal(go_table_function(&table, 0, &function), -ENOEXEC);
	assert_int_equal(go_table_function(&table, 1, &function), 0);
	/* Its record is outside of the table. */
	go_fixture_put(&fixture, go_fixture_entry(&fixture, 3), GO_FIXTURE_TABLE_BYTES, 4);
	assert_int_equal(open_table(), 0);
	assert_int_equal(go_table_function(&table, 1, &function), -ENOEXEC);
	assert_null(go_table_name(&table, GO_FIXTURE_TABLE_BYTES));
	assert_null(go_table_file(&table, UINT32_MAX, UINT32_MAX));
	/* Of a file that is not part of the program. */
	go_fixture_put(&fixture, GO_FIXTURE_TABLE + GO_FIXTURE_UNITS, 0xffffffff, 4);
	assert_int_equal(open_table(), 0);
	assert_null(go_table_file(&table, 0, 0));
}

static void programs_end_with_their_function(void **state)
{
	struct go_function function = { .start = GO_FIXTURE_TEXT, .end = GO_FIXTURE_TEXT + 10 };
	struct go_program program;
	uint32_t at = GO_PROGRAM(&fixture, { 1, 8 }, { 2, 100 }, { 3, 1 });

	add_functions();
	go_fixture_finish(&fixture);
	assert_int_equal(open_table(), 0);
	go_program_init(&program, &table, &function, at);
	assert_value(&program, 1, 8);
	assert_value(&program, 2, 10);
	assert_int_equal(end_of(&program), 0);
	/* Without a program nothing is known. */
	go_program_init(&program, &table, &function, 0);
	assert_int_equal(end_of(&program), 0);
}

static void programs_that_make_no_sense_are_refused(void **state)
{
	static const char *const programs[] = {
		"\x02\x80\x80\x80\x80\x10", /* a length of 2^32 */
		"\x80\x80\x80\x80\x10\x01", /* a difference of 2^32 */
	};
	struct go_function function = { .start = GO_FIXTURE_TEXT, .end = GO_FIXTURE_TEXT + 10 };
	struct go_program program;

	add_functions();
	go_fixture_finish(&fixture);
	for (size_t i = 0; i < 2; i++) {
		memcpy(fixture.bytes + GO_FIXTURE_TABLE + GO_FIXTURE_PROGRAMS + 0x100, programs[i],
			6);
		assert_int_equal(open_table(), 0);
		go_program_init(&program, &table, &function, 0x100);
		assert_int_equal(end_of(&program), -ENOEXEC);
	}
	/* Code of no length. */
	memcpy(fixture.bytes + GO_FIXTURE_TABLE + GO_FIXTURE_PROGRAMS + 0x100, "\x02\0", 2);
	assert_int_equal(open_table(), 0);
	go_program_init(&program, &table, &function, 0x100);
	assert_int_equal(end_of(&program), -ENOEXEC);
	go_program_init(&program, &table, &function, GO_FIXTURE_TABLE_BYTES);
	assert_int_equal(end_of(&program), -ENOEXEC);
}

/* Many functions may have the same long name, or the same program. */
static void reading_costs_a_few_times_the_file(void **state)
{
	struct go_function function = { .start = GO_FIXTURE_TEXT, .end = GO_FIXTURE_TEXT + 2 };
	struct go_program program;
	uint64_t start, end, bytes = 0, steps = 0;
	int32_t value;
	uint32_t at = GO_PROGRAM(&fixture, { 1, 1 }, { 2, 1 });
	const char *name;

	add_functions();
	go_fixture_finish(&fixture);
	memset(fixture.bytes + GO_FIXTURE_TABLE + GO_FIXTURE_NAMES, 'x', 0x1ff);
	assert_int_equal(open_table(), 0);
	while ((name = go_table_name(&table, 0)))
		bytes += strlen(name) + 1;
	assert_in_range(bytes, GO_FIXTURE_BYTES, 8 * GO_FIXTURE_BYTES);
	assert_null(go_table_file(&table, 0, 0));
	go_program_init(&program, &table, &function, at);
	assert_int_equal(end_of(&program), -ENOEXEC);
	assert_int_equal(open_table(), 0);
	do {
		go_program_init(&program, &table, &function, at);
		while (go_program_next(&program, &start, &end, &value) > 0)
			steps++;
	} while (go_table_charge(&table, 1));
	assert_in_range(steps, GO_FIXTURE_BYTES, 8 * GO_FIXTURE_BYTES);
}

static void a_table_too_long_for_the_scratch_is_refused(void **state)
{
	add_functions();
	go_fixture_finish(&fixture);
	scratch.scratch.limit_bytes = scratch.scratch.used_bytes;
	assert_int_equal(open_table(), -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(each_version_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_table_is_found_in_other_sections, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			the_module_is_found_by_relocations, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_module_is_not_needed_before_go_1_26, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_module_has_the_tables_names, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			headers_that_make_no_sense_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(other_programs_have_no_table, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			functions_that_make_no_sense_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			programs_end_with_their_function, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			programs_that_make_no_sense_are_refused, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			reading_costs_a_few_times_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_table_too_long_for_the_scratch_is_refused, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
