/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_go.h"
#include "tests/base/scratch_fixture.h"
#include "tests/dwarf/go_fixture.h"
#include "tests/extract/unwind_fixture.h"

#include "extract/extraction.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static struct go_fixture fixture;
static struct scratch_fixture scratch;
static struct unwind_go go;
static char text[4096];

static int set_up(void **state)
{
	go_fixture_init(&fixture, GO_1_20);
	return scratch_fixture_init(&scratch, 16 << 20) ? 0 : -1;
}

static int tear_down(void **state)
{
	unwind_go_done(&go);
	scratch_fixture_done(&scratch);
	return 0;
}

static int read_rows(void)
{
	_cleanup_close_ int fd = go_fixture_fd(&fixture);
	const struct extraction_files files = { .binary_fd = fd,
		.debug_fd = -1,
		.alternate_fd = -1,
		.package_fd = -1,
		.scratch_fd = -1,
		.output_fd = -1 };
	struct unwind_files opened;

	unwind_go_done(&go);
	assert_int_equal(unwind_files_open(&opened, &files), 0);
	return unwind_go_read(&go, &opened, &scratch.scratch);
}

/* "offset:rule" of each row, offsets from the start of the code; a star: rbp is saved. */
static const char *rows_text(void)
{
	static const char *const kinds[] = { "stop", "rsp", "", "", "signal", "root", "",
		"switch" };
	const struct unwind_go_row *rows = go.rows.items;
	size_t used = 0;

	text[0] = '\0';
	for (size_t i = 0; i < go.rows.count; i++) {
		struct pilotlight_unwind_rule rule = unwind_go_rule(&rows[i]);

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%x:%s",
			i > 0 ? " " : "", rows[i].offset - GO_FIXTURE_CODE, kinds[rule.kind]);
		if (rule.kind == PILOTLIGHT_UNWIND_CFA)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "+%d%s",
				rule.offset, rule.frame_pointer ? "*" : "");
		if (rule.kind == PILOTLIGHT_UNWIND_CFA)
			assert_int_equal(rule.base, 7);
		if (rule.kind == PILOTLIGHT_UNWIND_SWITCHED) {
			assert_int_equal(rule.base, 6);
			assert_int_equal(rule.offset, 16);
		}
		if (rule.frame_pointer != PILOTLIGHT_UNWIND_FP_SAME) {
			assert_int_equal(rule.frame_pointer, PILOTLIGHT_UNWIND_FP_AT_CFA);
			assert_int_equal(rule.frame_pointer_offset, -16);
		}
		assert_true(used < sizeof(text));
	}
	return text;
}

static void assert_rows(const char *expected)
{
	go_fixture_finish(&fixture);
	assert_int_equal(read_rows(), 0);
	assert_string_equal(rows_text(), expected);
}

/* A function that pushes rbp in its first byte. */
static struct go_fixture_function *add_pushing(const char *name, uint32_t start)
{
	struct go_fixture_function *function = go_fixture_function(&fixture, name, start);

	function->stack = GO_PROGRAM(&fixture, { 0, 1 }, { 8, 3 }, { 40, 8 }, { 8, 1 }, { 0, 1 });
	go_fixture_code(&fixture, start, "\x55", 1);
	return function;
}

static void functions_are_walked_by_the_stack_pointer(void **state)
{
	(void)add_pushing("main.main", 0x10);
	fixture.functions_end = 0x40;
	assert_rows("10:rsp+8 11:rsp+16* 14:rsp+48* 1c:rsp+16* 1d:rsp+8 40:stop");
	assert_int_equal(go.function_count, 1);
	assert_int_equal(go.code_bytes, 0x30);
	assert_int_equal(go.failed, 0);
}

/* Until Go 1.20 a function moves the stack pointer first. */
static void a_frame_pointer_is_saved_by_the_next_instruction(void **state)
{
	static const struct {
		const char *code;
		uint32_t depth;
		const char *rows;
	} cases[] = {
		{ "\x48\x89\x2c\x24\0\0\0\0", 8, "0:rsp+8 4:rsp+16 8:rsp+16* 14:rsp+8 40:stop" },
		{ "\x48\x89\x6c\x24\x18\0\0\0", 32, "0:rsp+8 4:rsp+40 9:rsp+40* 14:rsp+8 40:stop" },
		{ "\x48\x89\xac\x24\0\2\0\0", 520,
			"0:rsp+8 4:rsp+528 c:rsp+528* 14:rsp+8 40:stop" },
		/* Elsewhere, or not at all. */
		{ "\x48\x89\x2c\x24\0\0\0\0", 16, "0:rsp+8 4:rsp+24 14:rsp+8 40:stop" },
		{ "\x48\x89\x6c\x24\x10\0\0\0", 32, "0:rsp+8 4:rsp+40 14:rsp+8 40:stop" },
		{ "\x48\x89\xac\x24\1\2\0\0", 520, "0:rsp+8 4:rsp+528 14:rsp+8 40:stop" },
		{ "\x48\x89\x5c\x24\x18\0\0\0", 32, "0:rsp+8 4:rsp+40 14:rsp+8 40:stop" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct go_fixture_function *function;

		go_fixture_init(&fixture, GO_1_18);
		function = go_fixture_function(&fixture, "main.main", 0);
		function->stack =
			GO_PROGRAM(&fixture, { 0, 4 }, { (int32_t)cases[i].depth, 16 }, { 0, 1 });
		fixture.functions_end = 0x40;
		go_fixture_code(&fixture, 4, cases[i].code, 8);
		assert_rows(cases[i].rows);
	}
}

/* Padding belongs to the function before it. */
static void equal_rows_are_one(void **state)
{
	(void)add_pushing("main.a", 0x10);
	(void)add_pushing("main.b", 0x20);
	fixture.functions_end = 0x30;
	assert_rows("10:rsp+8 11:rsp+16* 14:rsp+48* 1c:rsp+16* 1d:rsp+8 21:rsp+16* 24:rsp+48* "
		    "2c:rsp+16* 2d:rsp+8 30:stop");
	assert_int_equal(go.function_count, 2);
}

static void some_functions_of_the_runtime_are_special(void **state)
{
	struct go_fixture_function *function;

	(void)add_pushing("runtime.goexit", 0x10);
	(void)add_pushing("runtime.asmcgocall", 0x20);
	/* It has no frame of its own in Go 1.20. */
	function = go_fixture_function(&fixture, "runtime.systemstack", 0x30);
	function->stack = GO_PROGRAM(&fixture, { 0, 8 });
	(void)add_pushing("runtime.sigreturn", 0x40);
	(void)add_pushing("_rt0_amd64_linux", 0x50);
	(void)add_pushing("runtime.mstart", 0x60);
	fixture.functions_end = 0x70;
	assert_rows("10:root 20:rsp+8 21:switch 2d:rsp+8 30:switch 3f:signal 50:root 70:stop");
	assert_int_equal(go.function_count, 6);
}

/* The linker lists functions in C, but knows nothing of their frames. */
static void functions_in_c_are_left_out(void **state)
{
	(void)add_pushing("main.a", 0);
	(void)go_fixture_function(&fixture, "x_cgo_init", 0x10);
	(void)add_pushing("main.b", 0x20);
	(void)go_fixture_function(&fixture, "burn", 0x30);
	fixture.functions_end = 0x40;
	assert_rows("0:rsp+8 1:rsp+16* 4:rsp+48* c:rsp+16* d:rsp+8 10:stop 20:rsp+8 21:rsp+16* "
		    "24:rsp+48* 2c:rsp+16* 2d:rsp+8 30:stop");
	assert_int_equal(go.function_count, 2);
	assert_int_equal(go.failed, 0);
}

static void functions_that_make_no_sense_leave_nothing(void **state)
{
	struct go_fixture_function *function;

	(void)add_pushing("main.a", 0);
	function = go_fixture_function(&fixture, "main.below", 0x10);
	function->stack = GO_PROGRAM(&fixture, { 0, 4 }, { -8, 4 }, { 0, 1 });
	function = go_fixture_function(&fixture, "main.long", 0x20);
	function->stack = GO_PROGRAM(&fixture, { 0, 4 }, { INT32_MAX, 4 }, { 0, 1 });
	function = go_fixture_function(&fixture, "main.outside", 0x30);
	function->stack = GO_FIXTURE_TABLE_BYTES;
	/* Beyond the code. */
	(void)add_pushing("main.last", 0x40);
	fixture.functions_end = GO_FIXTURE_CODE_BYTES + 1;
	assert_rows("0:rsp+8 1:rsp+16* 4:rsp+48* c:rsp+16* d:rsp+8 14:stop 18:rsp+8 "
		    "24:stop 28:rsp+8 30:stop");
	assert_int_equal(go.failed, 2);
	assert_int_equal(go.function_count, 3);
	/* One that begins behind its end, and one before the function before it. */
	go_fixture_put(&fixture, go_fixture_entry(&fixture, 2), 0x60, 4);
	assert_int_equal(read_rows(), 0);
	assert_int_equal(go.failed, 4);
	assert_string_equal(rows_text(), "0:rsp+8 1:rsp+16* 4:rsp+48* c:rsp+16* d:rsp+8 60:stop");
}

/* No frame is before the file, and no instruction behind its end. */
static void code_is_read_within_the_file(void **state)
{
	struct go_fixture_function *function = go_fixture_function(&fixture, "main.a", 0);

	function->stack = GO_PROGRAM(&fixture, { 16, 4 }, { 0, 4 });
	function = go_fixture_function(&fixture, "main.b", GO_FIXTURE_BYTES - GO_FIXTURE_CODE - 4);
	function->stack = GO_PROGRAM(&fixture, { 0, 2 }, { 16, 2 });
	fixture.functions_end = GO_FIXTURE_BYTES - GO_FIXTURE_CODE;
	go_fixture_finish(&fixture);
	/* The segment has all of the file's rest. */
	go_fixture_put(&fixture, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_filesz),
		GO_FIXTURE_BYTES - GO_FIXTURE_CODE, 8);
	go_fixture_put(&fixture, sizeof(Elf64_Ehdr) + offsetof(Elf64_Phdr, p_memsz),
		GO_FIXTURE_BYTES - GO_FIXTURE_CODE, 8);
	assert_int_equal(read_rows(), 0);
	assert_string_equal(rows_text(), "0:rsp+24 4:rsp+8 5ffe:rsp+24 6000:stop");
}

static void a_table_that_is_too_big_has_no_rows(void **state)
{
	(void)add_pushing("main.a", 0);
	go_fixture_finish(&fixture);
	scratch.scratch.limit_bytes = GO_FIXTURE_TABLE_BYTES - 1;
	assert_int_equal(read_rows(), 0);
	assert_int_equal(go.function_count, 0);
	assert_int_equal(go.rows.count, 0);
	/* Room for the table, but not for rows. */
	scratch.scratch.limit_bytes = 64 << 10;
	assert_int_equal(read_rows(), 0);
	assert_int_equal(go.rows.count, 0);
}

static void programs_without_a_table_have_no_rows(void **state)
{
	(void)add_pushing("main.a", 0);
	go_fixture_finish(&fixture);
	go_fixture_put(&fixture, GO_FIXTURE_TABLE, 0, 8);
	assert_int_equal(read_rows(), 0);
	assert_int_equal(go.rows.count, 0);
	go_fixture_finish(&fixture);
	go_fixture_put(&fixture, GO_FIXTURE_TABLE + 64, GO_FIXTURE_TABLE_BYTES, 8);
	assert_int_equal(read_rows(), 0);
	assert_int_equal(go.rows.count, 0);
	/* aarch64 */
	go_fixture_finish(&fixture);
	go_fixture_put(&fixture, offsetof(Elf64_Ehdr, e_machine), EM_AARCH64, 2);
	assert_int_equal(read_rows(), 0);
	assert_int_equal(go.rows.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			functions_are_walked_by_the_stack_pointer, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_frame_pointer_is_saved_by_the_next_instruction, set_up, tear_down),
		cmocka_unit_test_setup_teardown(equal_rows_are_one, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			some_functions_of_the_runtime_are_special, set_up, tear_down),
		cmocka_unit_test_setup_teardown(functions_in_c_are_left_out, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			functions_that_make_no_sense_leave_nothing, set_up, tear_down),
		cmocka_unit_test_setup_teardown(code_is_read_within_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_table_that_is_too_big_has_no_rows, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			programs_without_a_table_have_no_rows, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
