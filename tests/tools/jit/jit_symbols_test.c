/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/jit/jit_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* `second` is put over the end of `first`, which moves away later. */
static void write_example(void)
{
	struct jitdump_fixture *dump = &jit_run.dump;

	jitdump_fixture_header(dump, 1);
	jitdump_fixture_load(dump, 5000000000, 1, 0x20000, 0x100, 0, "above");
	jitdump_fixture_load(dump, 6000000000, 1, 0x10000, 0x100, 1, "first one");
	jitdump_fixture_load(dump, 7000000000, 1, 0x10080, 0x100, 2, "second");
	jitdump_fixture_load(dump, 8000000000, 1, 0x20000, 0x40, 3, "over");
	jitdump_fixture_move(dump, 9000000000, 1, 0x20000, 0x30000, 0x40, 3);
}

static void the_end_of_the_file_is_shown_by_address(void **state)
{
	write_example();
	assert_int_equal(jit_run_dump(&jit_symbols, ""), EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	assert_string_equal(ran.out, "10000 80 first one\n"
				     "10080 100 second\n"
				     "20040 c0 above\n"
				     "30000 40 over\n");
}

static void other_times_show_other_code(void **state)
{
	write_example();
	assert_int_equal(jit_run_dump(&jit_symbols, "--at 4.999999999"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "");
	assert_int_equal(jit_run_dump(&jit_symbols, "--at 5.0"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "20000 100 above\n");
	assert_int_equal(jit_run_dump(&jit_symbols, "--at 6999999999"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "10000 100 first one\n20000 100 above\n");
	assert_int_equal(jit_run_dump(&jit_symbols, "--at=8.5"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "10000 80 first one\n"
				     "10080 100 second\n"
				     "20000 40 over\n"
				     "20040 c0 above\n");
}

static void json_is_an_object_a_line(void **state)
{
	write_example();
	assert_int_equal(jit_run_dump(&jit_symbols, "--json --at 5.5"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "{\"address\":\"0x20000\",\"size\":256,\"name\":\"above\","
				     "\"since\":\"5.000000000\"}\n");
}

static void a_perf_map_is_sorted_and_its_last_line_wins(void **state)
{
	static const char map[] = "7f0000002000 20 with a blank\n"
				  "0x7f0000001000 0x40 old\n"
				  "nonsense\n"
				  "7f0000001000 20 new\n"
				  "7f0000003000 10 without an end";

	assert_true(jit_run_write(map, sizeof(map) - 1));
	assert_int_equal(jit_run_file(&jit_symbols, ""), EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	assert_string_equal(ran.out, "7f0000001000 20 new\n"
				     "7f0000001020 20 old\n"
				     "7f0000002000 20 with a blank\n"
				     "7f0000003000 10 without an end\n");
	assert_int_equal(jit_run_file(&jit_symbols, "--at 5.0"), EXIT_FAILURE);
	assert_true(command_run_complained("leave --at out"));
}

static void times_of_the_cpu_cannot_be_asked_for(void **state)
{
	jitdump_fixture_header_of(&jit_run.dump, 1, 0, 1);
	jitdump_fixture_load(&jit_run.dump, 5000000000, 1, 0x20000, 0x100, 0, "hot");
	assert_int_equal(jit_run_dump(&jit_symbols, ""), EXIT_SUCCESS);
	assert_string_equal(ran.out, "20000 100 hot\n");
	assert_int_equal(jit_run_dump(&jit_symbols, "--at 5.0"), EXIT_FAILURE);
	assert_true(command_run_complained("the CPU's counter"));
}

static void records_before_an_impossible_one_are_shown(void **state)
{
	size_t at;

	jitdump_fixture_header(&jit_run.dump, 1);
	jitdump_fixture_load(&jit_run.dump, 3, 1, 0x1000, 4, 0, "whole");
	at = jit_run.dump.size;
	jitdump_fixture_load(&jit_run.dump, 3, 1, 0x2000, 4, 0, "lost");
	jitdump_fixture_set_u32(&jit_run.dump, at + 4, 0xffffffff);
	assert_int_equal(jit_run_dump(&jit_symbols, ""), EXIT_SUCCESS);
	assert_string_equal(ran.out, "1000 4 whole\n");
	assert_true(command_run_complained("continuing with what comes before"));
}

static void other_kinds_of_files_fail(void **state)
{
	assert_true(jit_run_write("\177ELF and more\nof it\n", 20));
	assert_int_equal(jit_run_file(&jit_symbols, ""), EXIT_FAILURE);
	assert_true(command_run_complained("neither a jitdump file nor a perf map"));
	assert_int_equal(command_run(&jit_symbols, "/dev/null"), EXIT_FAILURE);
	assert_true(command_run_complained("is no regular file"));
	/* A perf map that is still empty. */
	assert_true(jit_run_write("", 0));
	assert_int_equal(jit_run_file(&jit_symbols, ""), EXIT_SUCCESS);
	assert_string_equal(ran.out, "");
}

static void failing_allocations_are_reported(void **state)
{
	write_example();
	assert_true(jit_run_write(jit_run.dump.bytes, jit_run.dump.size));
	assert_true(FAIL_EACH_ALLOCATION(jit_run_file(&jit_symbols, ""), EXIT_FAILURE,
			    command_run_complained("Cannot allocate memory"), EXIT_SUCCESS) > 3);
	assert_int_equal(jit_run_lines(ran.out), 4);
}

#define JIT_TEST(function) \
	cmocka_unit_test_setup_teardown(function, jit_run_set_up, jit_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		JIT_TEST(the_end_of_the_file_is_shown_by_address),
		JIT_TEST(other_times_show_other_code),
		JIT_TEST(json_is_an_object_a_line),
		JIT_TEST(a_perf_map_is_sorted_and_its_last_line_wins),
		JIT_TEST(times_of_the_cpu_cannot_be_asked_for),
		JIT_TEST(records_before_an_impossible_one_are_shown),
		JIT_TEST(other_kinds_of_files_fail),
		JIT_TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
