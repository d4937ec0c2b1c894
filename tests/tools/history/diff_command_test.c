/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/diff_command.h"

#include "tests/harness/failing_allocation.h"
#include "tests/tools/service_run.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void two_selections_become_a_graph_and_a_table(void **state)
{
	(void)state;
	assert_int_equal(
		service_run_line(diff_main, "diff --last 1h --unit a --against --from @86400 -p 7"),
		0);
	assert_string_equal(service.out,
		"last=1h\nunit=a\n"
		"against.pid=7\nagainst.from=@86400.000000000\nformat=txt\n");
	assert_string_equal(service.err, "written to diff.svg\n");
	assert_string_equal(service_run_file("diff.svg"),
		"last=1h\nunit=a\n"
		"against.pid=7\nagainst.from=@86400.000000000\nformat=svg\n");
}

static void one_of_them_may_be_asked_for(void **state)
{
	(void)state;
	assert_int_equal(service_run_line(diff_main,
				 "diff -o d.txt --normalise time --lines --against --last 1h"),
		0);
	assert_string_equal(service.out, "");
	assert_string_equal(service_run_file("d.txt"),
		"against.last=1h\nnormalise=time\nlines=1\nformat=txt\n");
	assert_int_equal(service_run_line(diff_main, "diff -q -f svg --against --last 1h"), 0);
	assert_string_equal(service.out, "");
	assert_string_equal(service.err, "");
	assert_string_equal(service_run_file("diff.svg"), "against.last=1h\nformat=svg\n");
	assert_int_equal(service_run_line(diff_main, "diff -f txt --against --last 1h"), 0);
	assert_string_equal(service.out, "against.last=1h\nformat=txt\n");
	assert_int_equal(service_run_line(diff_main, "diff -o - --against --last 1h"), 0);
	assert_string_equal(service.out, "against.last=1h\nformat=txt\n");
	assert_int_equal(service_run_line(diff_main, "diff -o x -f svg --against --last 1h"), 0);
	assert_string_equal(service_run_file("x"), "against.last=1h\nformat=svg\n");
}

static void wrong_use_is_told(void **state)
{
	static const char *const cases[][2] = {
		{ "diff --last 1h", "diff needs --against" },
		{ "diff --last 1h --against", "diff needs --against" },
		{ "diff --against --last 1h -f folded", "not 'folded'" },
		{ "diff --against --last 1h -o x.html", "'x.html'" },
		{ "diff --against --last 1h nginx", "'nginx'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(service_run_line(diff_main, cases[i][0]), 2);
		assert_true(service_run_complained(cases[i][1]));
		assert_string_equal(service.out, "");
	}
	assert_int_equal(service_run_line(diff_main, "diff --nonsense"), 2);
	assert_int_equal(service_run_line(diff_main, "diff --help"), 0);
	assert_int_equal(strncmp(service.out, "usage: pilotlight diff", 22), 0);
}

/* All but the format, which is added to a copy, may just fit. */
static void a_selection_that_is_too_long_is_told(void **state)
{
	static const size_t sizes[] = { 4087, 4200 };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		char word[4300];
		char *argv[] = { "diff", "--against", "--comm", word, NULL };
		int err, status;

		/* "/api/v1/diff?against.comm=" and 12261 bytes leave one or two of the room. */
		memset(word, '%', sizeof(word));
		word[sizes[i]] = '\0';
		err = command_run_replace(STDERR_FILENO, "", 0);
		status = diff_main(4, argv);
		(void)fflush(NULL);
		command_run_restore(STDERR_FILENO, err, service.err);
		assert_int_equal(status, i == 0 ? 1 : 2);
		assert_true(service_run_complained("select less at once"));
		assert_int_not_equal(access("diff.svg", F_OK), 0);
	}
}

static void what_fails_first_is_the_end(void **state)
{
	(void)state;
	assert_int_equal(service_run_line(diff_main, "diff --unit bad --against --last 1h"), 1);
	assert_true(service_run_complained("answers 400"));
	assert_string_equal(service.out, "");
	service_run_end();
	assert_int_equal(service_run_line(diff_main, "diff --against --last 1h"), 1);
	assert_true(service_run_complained("is pilotlightd running?"));
}

static void failing_allocations_are_told(void **state)
{
	size_t n;

	(void)state;
	for (n = 0;; n++) {
		int status;

		fail_allocation(n);
		status = service_run_line(diff_main, "diff -q --against --last 1h");
		if (!allocation_failed()) {
			assert_int_equal(status, 0);
			break;
		}
		assert_int_equal(status, 1);
	}
	assert_true(n >= 8);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, service_run_set_up, service_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(two_selections_become_a_graph_and_a_table),
		TEST(one_of_them_may_be_asked_for),
		TEST(wrong_use_is_told),
		TEST(a_selection_that_is_too_long_is_told),
		TEST(what_fails_first_is_the_end),
		TEST(failing_allocations_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
