/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/perf_map_reader.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static void assert_line(const char *text, uint64_t address, uint64_t size, const char *name)
{
	struct perf_map_line line;

	assert_int_equal(perf_map_line_parse(text, strlen(text), &line), 0);
	assert_int_equal(line.address, address);
	assert_int_equal(line.size, size);
	assert_int_equal(line.name_size, strlen(name));
	assert_memory_equal(line.name, name, line.name_size);
	assert_false(line.is_erlang);
}

static void lines_of_each_runtime_are_parsed(void **state)
{
	assert_line("18c4000 300 Builtin:DeoptimizationEntry_Eager", 0x18c4000, 0x300,
		"Builtin:DeoptimizationEntry_Eager");
	assert_line("2ff5f6b77f16 1a1 JS:~f node:internal/process/promises:436:34", 0x2ff5f6b77f16,
		0x1a1, "JS:~f node:internal/process/promises:436:34");
	assert_line("0x00007f9670ec8920 0x00000000000001f0 int java.lang.Object.hashCode()",
		0x7f9670ec8920, 0x1f0, "int java.lang.Object.hashCode()");
	assert_line(
		"0x7f0000001000 2c void [app] A::$b()", 0x7f0000001000, 0x2c, "void [app] A::$b()");
	assert_line("55f3e7400000 8b JIT$$interrupt_handler", 0x55f3e7400000, 0x8b,
		"JIT$$interrupt_handler");
	assert_line("ABCDEFabcdef 0X1F x", 0xabcdefabcdef, 0x1f, "x");
}

static void blanks_and_returns_are_skipped(void **state)
{
	assert_line(" \t1 2 n", 1, 2, "n");
	assert_line("1\t \t2\t \tn", 1, 2, "n");
	assert_line("1 2 a  b ", 1, 2, "a  b ");
	assert_line("1 2 n\r", 1, 2, "n");
	assert_line("1 2 n\r\r", 1, 2, "n\r");
	assert_line("1 2 a\rb", 1, 2, "a\rb");
	assert_line("1 2 \xff\xfe\x01", 1, 2, "\xff\xfe\x01");
}

static void numbers_have_bounds(void **state)
{
	assert_line("0 1 n", 0, 1, "n");
	assert_line("0x0 0xffffffffffffffff n", 0, UINT64_MAX, "n");
	assert_line("fffffffffffffffe 1 n", UINT64_MAX - 1, 1, "n");
	assert_line("00000000000000000000000000000000001 1 n", 1, 1, "n");
}

static void erlang_lines_are_recognized(void **state)
{
	static const struct {
		const char *text, *name;
		bool is_erlang;
	} cases[] = {
		{ "0x7febad660000 68 $global::apply_fun_shared", "global::apply_fun_shared", true },
		{ "0x7febad660000 68 $init:f/2", "init:f/2", true },
		{ "0x7febad660000 68 $$", "$", true },
		{ "0x7febad660000 68 $", "$", false },
		{ "0x7febad660000 68 $\r", "$", false },
		{ "0x7febad660000 0x68 $Proxy12.f()", "$Proxy12.f()", false },
		{ "7febad660000 68 $f", "$f", false },
		{ "7febad660000 0x68 $f", "$f", false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct perf_map_line line;

		assert_int_equal(
			perf_map_line_parse(cases[i].text, strlen(cases[i].text), &line), 0);
		assert_int_equal(line.is_erlang, cases[i].is_erlang);
		assert_int_equal(line.name_size, strlen(cases[i].name));
		assert_memory_equal(line.name, cases[i].name, line.name_size);
	}
}

static void malformed_lines_are_refused(void **state)
{
	static const char *const bad[] = { "", " ", "\r", "1", "1 ", "1 2", "1 2 ", "1 2 \t ",
		"1 2 \r", "1 2\r", "1 2n", "x 2 n", "0x 2 n", "1 0x n", "g 2 n", "1 g n", "1g 2 n",
		"1 2g n", "-1 2 n", "1 -2 n", "+1 2 n", "1,2,n", "1 0 n", "1 0x0 n", "0x0x1 2 n",
		"10000000000000000 1 n", "1 10000000000000000 n", "ffffffffffffffff 1 n",
		"2 ffffffffffffffff n", "1 ffffffffffffffff n", "\xff 1 n", "1\n2 n" };
	static const char with_nul[] = "1 2 a\0b", before[] = "\0 1 2 n";
	struct perf_map_line line = { .size = 77 };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(perf_map_line_parse(bad[i], strlen(bad[i]), &line), -EBADMSG);
	assert_int_equal(perf_map_line_parse(with_nul, sizeof(with_nul) - 1, &line), -EBADMSG);
	assert_int_equal(perf_map_line_parse(before, sizeof(before) - 1, &line), -EBADMSG);
	assert_int_equal(line.size, 77);
}

/* Each beginning of a line is a line or none, and nothing beyond it is looked at. */
static void lines_may_be_cut_anywhere(void **state)
{
	static const char text[] = "0x7febad660000 68 $abc";
	struct perf_map_line line;

	for (size_t size = 0; size < sizeof(text); size++) {
		char *copy = size > 0 ? test_malloc(size) : NULL;
		int r;

		if (copy)
			memcpy(copy, text, size);
		r = perf_map_line_parse(copy ? copy : "", size, &line);
		assert_int_equal(r, size < strlen("0x7febad660000 68 $") ? -EBADMSG : 0);
		if (copy)
			test_free(copy);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_each_runtime_are_parsed),
		cmocka_unit_test(blanks_and_returns_are_skipped),
		cmocka_unit_test(numbers_have_bounds),
		cmocka_unit_test(erlang_lines_are_recognized),
		cmocka_unit_test(malformed_lines_are_refused),
		cmocka_unit_test(lines_may_be_cut_anywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
