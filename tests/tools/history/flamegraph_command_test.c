/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/flamegraph_command.h"

#include "tests/harness/failing_allocation.h"
#include "tests/tools/service_run.h"

#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void each_command_has_its_place_and_format(void **state)
{
	(void)state;
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph --last 10min"), 0);
	assert_string_equal(service.err, "written to flamegraph.svg\n");
	assert_string_equal(service.out, "");
	assert_string_equal(service_run_file("flamegraph.svg"), "last=10min\nformat=svg\n");
	assert_int_equal(service_run_line(report_main, "report"), 0);
	assert_string_equal(service.out, "format=txt\n");
	assert_string_equal(service.err, "");
	assert_int_equal(service_run_line(export_main, "export -q"), 0);
	assert_string_equal(service.err, "");
	assert_string_equal(service_run_file("profile.pb.gz"), "format=pprof\n");
}

static void every_option_of_a_selection_becomes_a_parameter(void **state)
{
	static const char *const names[] = { "pid", "tid", "comm", "thread", "exe", "unit",
		"cgroup", "container", "pod", "slice", "build-id", "event" };

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char line[128], expected[128];

		(void)snprintf(
			line, sizeof(line), "report --%s a&b=%%1 --%s ü", names[i], names[i]);
		(void)snprintf(expected, sizeof(expected), "%s=a&b=%%1\n%s=ü\nformat=txt\n",
			names[i], names[i]);
		assert_int_equal(service_run_line(report_main, line), 0);
		assert_string_equal(service.out, expected);
	}
	assert_int_equal(service_run_line(report_main, "report -p 12 --lines"), 0);
	assert_string_equal(service.out, "pid=12\nlines=1\nformat=txt\n");
}

/* The service knows its own zone alone, so it is sent seconds; durations stay what they are. */
static void calendar_times_are_of_the_zone_of_who_asks(void **state)
{
	static const char *const cases[][3] = {
		/* Five hours east of UTC it is the evening before there. */
		{ "XXX-5", "report --from 2025-11-20T03:10 --to 03:15",
			"format=txt\nfrom=@1763590200.000000000\nto=@1763590500.000000000\n" },
		{ "UTC", "report --to +5min --comm x --from 2025-11-19T22:10",
			"comm=x\nformat=txt\nfrom=@1763590200.000000000\nto=@1763590500."
			"000000000\n" },
		{ "UTC", "report --to 2025-11-19T22:15 --last 1h",
			"last=1h\nformat=txt\nto=@1763590500.000000000\n" },
		{ "UTC", "report --from 2025-11-19T22:10:00.25",
			"format=txt\nfrom=@1763590200.250000000\n" },
		{ "UTC", "report --last 1h", "last=1h\nformat=txt\n" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(setenv("TZ", cases[i][0], 1), 0);
		assert_int_equal(service_run_line(report_main, cases[i][1]), 0);
		assert_string_equal(service.out, cases[i][2]);
	}
	assert_int_equal(unsetenv("TZ"), 0);
}

static void times_that_are_none_are_told(void **state)
{
	static const char *const cases[][2] = {
		{ "report --from 25:00",
			"from: \"25:00\" is no time: there is no such time of day" },
		{ "report --from now --to now", "the end is not after the beginning" },
		{ "report --from -1h --last 1h", "last and from both tell the beginning" },
		{ "report --last 1h --last 2h", "given twice, and once will do: 'last'" },
		{ "report --from -2h --from -1h", "given twice, and once will do: 'from'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(service_run_line(report_main, cases[i][0]), 2);
		assert_true(service_run_complained(cases[i][1]));
		assert_string_equal(service.out, "");
	}
}

static void the_ending_or_f_chooses_the_format(void **state)
{
	static const char *const cases[][3] = {
		{ "report -o x.svg", "x.svg", "svg" },
		{ "report -o x.svg -f folded", "x.svg", "folded" },
		{ "flamegraph -o x.pb.gz", "x.pb.gz", "pprof" },
		{ "export -f txt", "profile.txt", "txt" },
		{ "flamegraph -f pprof", "flamegraph.pb.gz", "pprof" },
		{ "flamegraph --output=x --format=txt", "x", "txt" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[sizeof(service_run_folded)];

		/* All of them are one command, with its own defaults. */
		assert_int_equal(service_run_line(cases[i][0][0] == 'r'	  ? report_main
						  : cases[i][0][0] == 'e' ? export_main
									  : flamegraph_main,
					 cases[i][0]),
			0);
		(void)snprintf(expected, sizeof(expected), "format=%s\n", cases[i][2]);
		if (strcmp(cases[i][2], "folded") == 0)
			(void)snprintf(expected, sizeof(expected), "%s", service_run_folded);
		assert_string_equal(service_run_file(cases[i][1]), expected);
	}
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph -o -"), 0);
	assert_string_equal(service.out, "format=svg\n");
	assert_int_equal(service_run_line(export_main, "export -o -"), 0);
	assert_string_equal(service.out, "format=pprof\n");
}

static void wrong_use_is_told(void **state)
{
	static const char *const cases[][2] = {
		{ "flamegraph -o x.gif", "the ending of 'x.gif' names no format" },
		{ "flamegraph -f gif", "not 'gif'" },
		{ "flamegraph nginx", "'nginx'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(service_run_line(flamegraph_main, cases[i][0]), 2);
		assert_true(service_run_complained(cases[i][1]));
		assert_string_equal(service.out, "");
	}
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph --unit"), 2);
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph --nonsense"), 2);
	assert_non_null(strstr(service.err, "see `pilotlight flamegraph --help`"));
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph -o"), 2);
}

static void a_selection_that_is_too_long_is_told(void **state)
{
	char word[4200];
	char *argv[] = { "report", "--comm", word, NULL };
	int out, err, status;

	(void)state;
	/* Each of these is three bytes of a request. */
	memset(word, '%', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	out = command_run_replace(STDOUT_FILENO, "", 0);
	err = command_run_replace(STDERR_FILENO, "", 0);
	status = report_main(3, argv);
	(void)fflush(NULL);
	command_run_restore(STDOUT_FILENO, out, service.out);
	command_run_restore(STDERR_FILENO, err, service.err);
	assert_int_equal(status, 2);
	assert_true(service_run_complained("select less at once"));
}

static void help_is_for_each(void **state)
{
	(void)state;
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph --help"), 0);
	assert_int_equal(strncmp(service.out, "usage: pilotlight flamegraph", 28), 0);
	assert_int_equal(service_run_line(report_main, "report -h"), 0);
	assert_int_equal(strncmp(service.out, "usage: pilotlight report", 24), 0);
	assert_int_equal(service_run_line(export_main, "export -h"), 0);
	assert_int_equal(strncmp(service.out, "usage: pilotlight export", 24), 0);
}

static void what_the_service_refuses_leaves_no_file(void **state)
{
	(void)state;
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph --unit bad"), 1);
	assert_true(service_run_complained("answers 400: unit 'bad' is none: write nginx.service"));
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph --unit none"), 1);
	assert_true(service_run_complained("answers 404: Nothing matches unit 'none'"));
	assert_int_not_equal(access("flamegraph.svg", F_OK), 0);
	service_run_end();
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph"), 1);
	assert_true(service_run_complained("is pilotlightd running?"));
	assert_int_equal(
		service_run_line(flamegraph_main, "flamegraph --socket /nowhere/at/all"), 1);
	assert_true(service_run_complained("'/nowhere/at/all'"));
	assert_int_not_equal(access("flamegraph.svg", F_OK), 0);
}

static void an_old_file_stays_where_the_new_one_fails(void **state)
{
	FILE *file = fopen("flamegraph.svg", "w");

	(void)state;
	assert_non_null(file);
	assert_true(fputs("old", file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph --unit bad"), 1);
	assert_string_equal(service_run_file("flamegraph.svg"), "old");
	assert_int_equal(service_run_line(flamegraph_main, "flamegraph --unit empty"), 0);
	assert_string_equal(service_run_file("flamegraph.svg"), "");
}

static void a_place_that_cannot_be_written_is_told(void **state)
{
	(void)state;
	assert_int_equal(service_run_line(report_main, "report -o nowhere/x.txt"), 1);
	assert_true(service_run_complained("nowhere/x.txt"));
	assert_int_equal(service_run_line(report_main, "report -f txt -o /dev/full"), 1);
	assert_true(service_run_complained("/dev/full"));
}

static void a_terminal_is_spared_what_is_no_text(void **state)
{
	char *argv[] = { "export", "-o", "-", NULL };
	int terminal, ours, saved, err, status;

	(void)state;
	if (openpty(&terminal, &ours, NULL, NULL, NULL) < 0) {
		print_message("there are no pseudo terminals here\n");
		skip();
	}
	(void)fflush(NULL);
	saved = dup(STDOUT_FILENO);
	err = command_run_replace(STDERR_FILENO, "", 0);
	assert_int_equal(dup2(ours, STDOUT_FILENO), STDOUT_FILENO);
	status = export_main(3, argv);
	(void)fflush(NULL);
	(void)dup2(saved, STDOUT_FILENO);
	command_run_restore(STDERR_FILENO, err, service.err);
	assert_int_equal(status, 2);
	assert_true(service_run_complained("standard output is a terminal"));
	(void)close(saved);
	(void)close(ours);
	(void)close(terminal);
}

static void failing_allocations_leave_nothing_behind(void **state)
{
	size_t n;

	(void)state;
	for (n = 0;; n++) {
		int status;
		bool has_failed;

		fail_allocation(n);
		status = service_run_line(flamegraph_main, "flamegraph -q --from @86400");
		has_failed = allocation_failed();
		if (!has_failed) {
			assert_int_equal(status, 0);
			break;
		}
		assert_int_equal(status, 1);
		assert_int_not_equal(access("flamegraph.svg", F_OK), 0);
	}
	assert_true(n >= 6);
	assert_string_equal(
		service_run_file("flamegraph.svg"), "format=svg\nfrom=@86400.000000000\n");
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, service_run_set_up, service_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_command_has_its_place_and_format),
		TEST(every_option_of_a_selection_becomes_a_parameter),
		TEST(calendar_times_are_of_the_zone_of_who_asks),
		TEST(times_that_are_none_are_told),
		TEST(the_ending_or_f_chooses_the_format),
		TEST(wrong_use_is_told),
		TEST(a_selection_that_is_too_long_is_told),
		TEST(help_is_for_each),
		TEST(what_the_service_refuses_leaves_no_file),
		TEST(an_old_file_stays_where_the_new_one_fails),
		TEST(a_place_that_cannot_be_written_is_told),
		TEST(a_terminal_is_spared_what_is_no_text),
		TEST(failing_allocations_leave_nothing_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
