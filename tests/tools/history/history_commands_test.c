/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/history/history_commands.h"

#include "tests/harness/failing_allocation.h"
#include "tests/tools/service_run.h"

#include <pty.h>
#include <setjmp.h>
#include <stdarg.h>
#include <termios.h>

#include <cmocka.h>

#define BAD "\xef\xbf\xbd"

static void each_command_has_its_place_and_format(void **state)
{
	assert_int_equal(command_run(&flamegraph_command, "--last 10min"), 0);
	assert_string_equal(ran.err, "written to flamegraph.svg\n");
	assert_string_equal(ran.out, "");
	assert_string_equal(service_run_file("flamegraph.svg"), "last=10min\nformat=svg\n");
	/* A name that nobody chose: what was there is kept. */
	assert_int_equal(command_run(&flamegraph_command, "--last 5min"), 0);
	assert_string_equal(
		ran.err, "written to flamegraph.svg; the one before is flamegraph.svg.old now\n");
	assert_string_equal(service_run_file("flamegraph.svg.old"), "last=10min\nformat=svg\n");
	assert_int_equal(command_run(&flamegraph_command, "-o flamegraph.svg"), 0);
	assert_string_equal(ran.err, "written to flamegraph.svg\n");
	assert_string_equal(service_run_file("flamegraph.svg.old"), "last=10min\nformat=svg\n");
	assert_int_equal(command_run(&report_command, ""), 0);
	assert_string_equal(ran.out, "format=txt\n");
	assert_string_equal(ran.err, "");
	assert_int_equal(command_run(&export_command, "-q"), 0);
	assert_string_equal(ran.err, "");
	assert_string_equal(service_run_file("profile.pb.gz"), "format=pprof\n");
}

static void every_option_of_a_selection_becomes_a_parameter(void **state)
{
	static const char *const names[] = { "pid", "tid", "comm", "thread", "exe", "unit",
		"cgroup", "container", "pod", "slice", "build-id", "event" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char line[128], expected[128];

		(void)snprintf(line, sizeof(line), "--%s a&b=%%1 --%s ü", names[i], names[i]);
		(void)snprintf(expected, sizeof(expected), "%s=a&b=%%1\n%s=ü\nformat=txt\n",
			names[i], names[i]);
		assert_int_equal(command_run(&report_command, line), 0);
		assert_string_equal(ran.out, expected);
	}
	assert_int_equal(command_run(&report_command, "-e wall"), 0);
	assert_string_equal(ran.out, "event=wall\nformat=txt\n");
	assert_int_equal(command_run(&report_command, "-e cs"), 0);
	assert_string_equal(ran.out, "event=context-switches\nformat=txt\n");
	assert_int_equal(command_run(&report_command, "-e migrations:u"), 0);
	assert_string_equal(ran.out, "event=cpu-migrations:u\nformat=txt\n");
	assert_int_equal(command_run(&report_command, "-e cycles"), 0);
	assert_string_equal(ran.out, "event=cycles\nformat=txt\n");
	assert_int_equal(command_run(&report_command, "-e sched:sched_switch"), 0);
	assert_string_equal(ran.out, "event=sched:sched_switch\nformat=txt\n");
	assert_int_equal(command_run(&report_command, "-p 12 --lines"), 0);
	assert_string_equal(ran.out, "pid=12\nlines=1\nformat=txt\n");
	assert_int_equal(command_run(&export_command, "-o - --comm-roots"), 0);
	assert_string_equal(ran.out, "labels=roots\nformat=pprof\n");
	assert_int_equal(command_run(&export_command, "-o - -f otlp --times"), 0);
	assert_string_equal(ran.out, "times=yes\nformat=otlp\n");
}

/* The service cannot look users up. */
static void users_are_sent_by_number(void **state)
{
	assert_int_equal(command_run(&report_command, "--user root --user 1234"), 0);
	assert_string_equal(ran.out, "user=0\nuser=1234\nformat=txt\n");
	assert_int_equal(command_run(&report_command, "--user no-such-user"), 2);
	assert_true(command_run_complained("there is no user 'no-such-user'"));
	assert_int_equal(command_run(&diff_command, "--user 1 --against --user root"), 0);
	assert_non_null(strstr(service_run_file("diff.svg"), "user=1\nagainst.user=0\n"));
}

/* The service knows its own zone alone, so it is sent seconds; durations stay what they are. */
static void calendar_times_are_in_the_zone_of_the_user(void **state)
{
	static const char *const cases[][3] = {
		/* Five hours east of UTC it is the evening before there. */
		{ "XXX-5", "--from 2025-11-20T03:10 --to 03:15",
			"from=@1763590200.000000000\nto=@1763590500.000000000\nformat=txt\n" },
		{ "UTC", "--to +5min --comm x --from 2025-11-19T22:10",
			"comm=x\nfrom=@1763590200.000000000\nto=@1763590500.000000000\n"
			"format=txt\n" },
		{ "UTC", "--to 2025-11-19T22:15 --last 1h",
			"last=1h\nto=@1763590500.000000000\nformat=txt\n" },
		{ "UTC", "--from 2025-11-19T22:10:00.25",
			"from=@1763590200.250000000\nwindows=exact\nformat=txt\n" },
		{ "UTC", "--last 1h", "last=1h\nformat=txt\n" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(setenv("TZ", cases[i][0], 1), 0);
		assert_int_equal(command_run(&report_command, cases[i][1]), 0);
		assert_string_equal(ran.out, cases[i][2]);
	}
	assert_int_equal(unsetenv("TZ"), 0);
}

static void malformed_times_are_reported(void **state)
{
	static const char *const cases[][2] = {
		{ "--from 25:00", "from: \"25:00\" is no time: there is no such time of day" },
		{ "--from now --to now", "the end is not after the beginning" },
		{ "--from -1h --last 1h", "last and from both set the beginning" },
		{ "--last 1h --last 2h", "--last is given twice" },
		{ "--from -2h --from -1h", "--from is given twice" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(command_run(&report_command, cases[i][0]), 2);
		assert_true(command_run_complained(cases[i][1]));
		assert_string_equal(ran.out, "");
	}
}

static void the_ending_or_f_chooses_the_format(void **state)
{
	static const struct {
		const struct command *command;
		const char *line, *file, *format;
	} cases[] = {
		{ &report_command, "-o x.svg", "x.svg", "svg" },
		{ &report_command, "-o x.svg -f folded", "x.svg", "folded" },
		{ &flamegraph_command, "-o x.pb.gz", "x.pb.gz", "pprof" },
		{ &export_command, "-f txt", "profile.txt", "txt" },
		{ &flamegraph_command, "-f pprof", "flamegraph.pb.gz", "pprof" },
		{ &flamegraph_command, "--output=x --format=txt", "x", "txt" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char expected[sizeof(service_run_folded)];

		assert_int_equal(command_run(cases[i].command, cases[i].line), 0);
		(void)snprintf(expected, sizeof(expected), "format=%s\n", cases[i].format);
		if (strcmp(cases[i].format, "folded") == 0)
			(void)snprintf(expected, sizeof(expected), "%s", service_run_folded);
		assert_string_equal(service_run_file(cases[i].file), expected);
	}
	assert_int_equal(command_run(&flamegraph_command, "-o -"), 0);
	assert_string_equal(ran.out, "format=svg\n");
	assert_int_equal(command_run(&export_command, "-o -"), 0);
	assert_string_equal(ran.out, "format=pprof\n");
}

static void a_format_must_be_known(void **state)
{
	static const char *const cases[][2] = {
		{ "-o x.gif", "the ending of 'x.gif' names no format" },
		{ "-f gif", "not 'gif'" },
		{ "nginx", "'nginx'" },
		{ "--unit", "--unit needs NAME" },
		{ "--nonsense", "see `pilotlight flamegraph --help`" },
		{ "-o", "-o needs FILE" },
		{ "-qx", "there is no option '-x'" },
		{ "--quiet=yes", "--quiet takes no value" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(command_run(&flamegraph_command, cases[i][0]), 2);
		assert_true(command_run_complained(cases[i][1]));
		assert_string_equal(ran.out, "");
	}
}

static void a_selection_that_is_too_long_is_reported(void **state)
{
	char word[4200];
	char *argv[] = { "report", "--comm", word, NULL };

	/* Each of these is three bytes of a request. */
	memset(word, '%', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	assert_int_equal(command_run_words(&report_command, 3, argv, "", 0), 2);
	assert_true(command_run_complained("select less at once"));
}

static void a_refused_query_leaves_no_file(void **state)
{
	assert_int_equal(command_run(&flamegraph_command, "--unit bad"), 1);
	assert_true(command_run_complained("answers 400: unit 'bad' is none: write nginx.service"));
	assert_int_equal(command_run(&flamegraph_command, "--unit none"), 1);
	assert_true(command_run_complained("answers 404: Nothing matches unit 'none'"));
	assert_int_not_equal(access("flamegraph.svg", F_OK), 0);
	service_run_end();
	assert_int_equal(command_run(&flamegraph_command, ""), 1);
	assert_true(command_run_complained("is pilotlightd running?"));
	assert_int_equal(command_run(&flamegraph_command, "--socket /nowhere/at/all"), 1);
	assert_true(command_run_complained("'/nowhere/at/all'"));
	assert_int_not_equal(access("flamegraph.svg", F_OK), 0);
}

static void an_old_file_stays_where_the_new_one_fails(void **state)
{
	FILE *file = fopen("flamegraph.svg", "w");

	assert_non_null(file);
	assert_true(fputs("old", file) >= 0);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(command_run(&flamegraph_command, "--unit bad"), 1);
	assert_string_equal(service_run_file("flamegraph.svg"), "old");
	assert_int_equal(command_run(&flamegraph_command, "--unit empty"), 0);
	assert_string_equal(service_run_file("flamegraph.svg"), "");
}

/* The file is opened first, as a query may take long. */
static void an_unwritable_target_is_reported(void **state)
{
	assert_int_equal(command_run(&report_command, "--socket /none -o nowhere/x.txt"), 1);
	assert_true(command_run_complained("nowhere/x.txt"));
	assert_int_equal(command_run(&report_command, "-f txt -o /dev/full"), 1);
	assert_true(command_run_complained("/dev/full"));
}

/* Runs a command on a pseudo terminal, which then holds at most 4 KiB of output. Returns its exit
 * status, or -1 if there are no pseudo terminals here. */
static int run_on_terminal(const struct command *command, const char *line, char text[4096])
{
	char *argv[COMMAND_RUN_WORDS_MAX + 1] = { (char *)command->name };
	int terminal, ours, saved, err, status;
	struct termios raw;
	ssize_t size;

	cfmakeraw(&raw);
	if (openpty(&terminal, &ours, NULL, &raw, NULL) < 0)
		return -1;
	(void)fflush(NULL);
	saved = dup(STDOUT_FILENO);
	err = command_run_replace(STDERR_FILENO, "", 0);
	assert_int_equal(dup2(ours, STDOUT_FILENO), STDOUT_FILENO);
	status = command_main(command, command_run_split(line, argv, 1), argv);
	(void)fflush(NULL);
	(void)dup2(saved, STDOUT_FILENO);
	command_run_restore(STDERR_FILENO, err, ran.err);
	assert_int_equal(fcntl(terminal, F_SETFL, O_NONBLOCK), 0);
	size = read(terminal, text, 4095);
	text[size > 0 ? size : 0] = '\0';
	(void)close(saved);
	(void)close(ours);
	(void)close(terminal);
	return status;
}

static void a_terminal_gets_no_binary_output(void **state)
{
	char text[4096];
	int status = run_on_terminal(&export_command, "-o -", text);

	if (status < 0) {
		print_message("there are no pseudo terminals here\n");
		skip();
	}
	assert_int_equal(status, 2);
	assert_true(command_run_complained("standard output is a terminal"));
	assert_string_equal(text, "");
}

static void a_terminal_gets_few_rows(void **state)
{
	char text[4096];

	if (run_on_terminal(&report_command, "", text) < 0) {
		print_message("there are no pseudo terminals here\n");
		skip();
	}
	assert_string_equal(text, "format=txt\nrows=30\n");
	assert_int_equal(run_on_terminal(&diff_command, "-f txt --against --last 1h", text), 0);
	assert_string_equal(text, "against.last=1h\nformat=txt\nrows=30\n");
	assert_int_equal(run_on_terminal(&report_command, "--rows 0", text), 0);
	assert_string_equal(text, "format=txt\n");
	assert_int_equal(run_on_terminal(&flamegraph_command, "-o -", text), 0);
	assert_string_equal(text, "format=svg\n");
	assert_int_equal(command_run(&report_command, "-n 7"), 0);
	assert_string_equal(ran.out, "format=txt\nrows=7\n");
	assert_int_equal(command_run(&report_command, "-n 7 -o x.svg"), 0);
	assert_string_equal(service_run_file("x.svg"), "format=svg\n");
	assert_int_equal(command_run(&report_command, "-n 1000000"), 2);
}

static void a_terminal_gets_no_control_sequences_of_the_service(void **state)
{
	char text[4096];
	int status = run_on_terminal(&report_command, "--unit hostile", text);

	if (status < 0) {
		print_message("there are no pseudo terminals here\n");
		skip();
	}
	assert_int_equal(status, 0);
	assert_string_equal(text, BAD "]0;title" BAD "main\t50 %" BAD "[1A" BAD "2K" BAD "\n");
	/* Others get what the service sent. */
	assert_int_equal(command_run(&report_command, "--unit hostile"), 0);
	assert_string_equal(ran.out, service_run_hostile);
	assert_int_equal(command_run(&report_command, "--unit hostile -o x.txt"), 0);
	assert_string_equal(service_run_file("x.txt"), service_run_hostile);
}

static void failing_allocations_leave_nothing_behind(void **state)
{
	size_t n;

	for (n = 0;; n++) {
		int status;
		bool has_failed;

		fail_allocation(n);
		status = command_run(&flamegraph_command, "-q --from @86400");
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
		service_run_file("flamegraph.svg"), "from=@86400.000000000\nformat=svg\n");
}

static void two_selections_become_a_graph_and_a_table(void **state)
{
	assert_int_equal(
		command_run(&diff_command, "--last 1h --unit a --against --from @86400 -p 7"), 0);
	assert_string_equal(ran.out, "last=1h\nunit=a\n"
				     "against.pid=7\nagainst.from=@86400.000000000\nformat=txt\n");
	assert_string_equal(ran.err, "written to diff.svg\n");
	assert_string_equal(service_run_file("diff.svg"),
		"last=1h\nunit=a\n"
		"against.pid=7\nagainst.from=@86400.000000000\nformat=svg\n");
}

static void a_page_with_both_sides_can_be_requested(void **state)
{
	assert_int_equal(command_run(&diff_command, "-f html --last 1h --against --last 1d"), 0);
	assert_string_equal(ran.err, "written to diff.html\n");
	assert_string_equal(
		service_run_file("diff.html"), "last=1h\nagainst.last=1d\nformat=html\n");
}

static void the_graph_or_the_table_can_be_requested(void **state)
{
	assert_int_equal(
		command_run(&diff_command, "-o d.txt --normalise time --lines --against --last 1h"),
		0);
	assert_string_equal(ran.out, "");
	assert_string_equal(service_run_file("d.txt"),
		"against.last=1h\nnormalise=time\nlines=1\nformat=txt\n");
	assert_int_equal(command_run(&diff_command, "-q -f svg --against --last 1h"), 0);
	assert_string_equal(ran.out, "");
	assert_string_equal(ran.err, "");
	assert_string_equal(service_run_file("diff.svg"), "against.last=1h\nformat=svg\n");
	assert_int_equal(command_run(&diff_command, "-f txt --against --last 1h"), 0);
	assert_string_equal(ran.out, "against.last=1h\nformat=txt\n");
	assert_int_equal(command_run(&diff_command, "-o - --against --last 1h"), 0);
	assert_string_equal(ran.out, "against.last=1h\nformat=txt\n");
	assert_int_equal(command_run(&diff_command, "-o x -f svg --against --last 1h"), 0);
	assert_string_equal(service_run_file("x"), "against.last=1h\nformat=svg\n");
}

static void a_rise_above_the_bound_has_a_status(void **state)
{
	static const struct {
		const char *line;
		int status;
		const char *says;
	} cases[] = {
		{ "--fail-above 3% --unit slower --against --last 1h", 3, "rose by 12.90 points" },
		{ "-f txt --fail-above 12.89 --unit slower --against --last 1h", 3, "12.89" },
		{ "--fail-above 12.9% --unit slower --against --last 1h", 0, NULL },
		{ "--fail-above 0 --unit other --against --last 1h", 0, NULL },
		{ "--unit slower --against --last 1h", 0, NULL },
		{ "--fail-above much --against --last 1h", 2, "percentage points, such as 3%" },
		{ "--fail-above 3%% --against --last 1h", 2, "not '3%%'" },
		{ "--fail-above 3% -f svg --against --last 1h", 2, "needs the table" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(command_run(&diff_command, cases[i].line), cases[i].status);
		if (cases[i].says)
			assert_non_null(strstr(ran.err, cases[i].says));
	}
}

static void a_difference_needs_two_selections(void **state)
{
	static const char *const cases[][2] = {
		{ "--last 1h", "diff needs --against" },
		{ "--last 1h --against", "diff needs --against" },
		{ "--against --last 1h -f folded", "not 'folded'" },
		{ "--against --last 1h -o x.json", "'x.json'" },
		{ "--against --last 1h nginx", "'nginx'" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(command_run(&diff_command, cases[i][0]), 2);
		assert_true(command_run_complained(cases[i][1]));
		assert_string_equal(ran.out, "");
	}
}

/* All but the format, which is added to a copy, may just fit. */
static void a_difference_that_is_too_long_is_refused(void **state)
{
	static const size_t sizes[] = { 4087, 4200 };

	for (size_t i = 0; i < 2; i++) {
		char word[4300];
		char *argv[] = { "diff", "--against", "--comm", word, NULL };

		/* "/api/v1/diff?against.comm=" and 12261 bytes leave one or two of the room. */
		memset(word, '%', sizeof(word));
		word[sizes[i]] = '\0';
		assert_int_equal(command_run_words(&diff_command, 4, argv, "", 0), 2);
		assert_true(command_run_complained("select less at once"));
		assert_int_not_equal(access("diff.svg", F_OK), 0);
	}
}

static void a_failing_first_request_ends_the_command(void **state)
{
	assert_int_equal(command_run(&diff_command, "--unit bad --against --last 1h"), 1);
	assert_true(command_run_complained("answers 400"));
	assert_string_equal(ran.out, "");
	service_run_end();
	assert_int_equal(command_run(&diff_command, "--against --last 1h"), 1);
	assert_true(command_run_complained("is pilotlightd running?"));
}

static void failing_allocations_end_a_difference(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(
			    command_run(&diff_command, "-q --against --last 1h"), 1, true, 0) >= 8);
}

static void the_service_reports_its_state(void **state)
{
	assert_int_equal(command_run(&status_command, ""), 0);
	assert_string_equal(ran.out, "well\n");
	assert_string_equal(ran.err, "");
	assert_int_equal(command_run(&status_command, "--json"), 0);
	assert_string_equal(ran.out, "{}\n");
}

/* The service knows their numbers only, and its text may be hostile. */
static void users_are_shown_by_name(void **state)
{
	assert_int_equal(command_run(&status_command, "--users"), 0);
	assert_string_equal(ran.out, "root (user 0)\n  Binaries   3, 1.0% of the room\n"
				     "user 4000000000\n\xef\xbf\xbd[2J\n");
	assert_int_equal(command_run(&status_command, "--users --json"), 0);
	assert_string_equal(ran.out, "{}\n");
	assert_true(FAIL_EACH_ALLOCATION(command_run(&status_command, "--users"), 1, true, 0) >= 3);
}

static void a_service_that_does_not_answer_is_a_failure(void **state)
{
	service_run_end();
	assert_int_equal(command_run(&status_command, ""), 1);
	assert_true(command_run_complained("is pilotlightd running?"));
	assert_int_equal(command_run(&status_command, "--socket nowhere"), 1);
	assert_true(command_run_complained("no socket at 'nowhere'"));
}

static void the_state_has_no_selection(void **state)
{
	assert_int_equal(command_run(&status_command, "nginx"), 2);
	assert_true(command_run_complained("'nginx'"));
	assert_int_equal(command_run(&status_command, "--last 1h"), 2);
	assert_string_equal(ran.out, "");
}

static void failing_allocations_end_the_state(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(command_run(&status_command, ""), 1, true, 0) >= 3);
}

static void a_gone_reader_gets_no_message(void **state)
{
	int saved = dup(STDOUT_FILENO), err, ends[2], status;
	char *argv[] = { "report", NULL };

	(void)signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	(void)close(ends[0]);
	(void)fflush(NULL);
	err = command_run_replace(STDERR_FILENO, "", 0);
	assert_int_equal(dup2(ends[1], STDOUT_FILENO), STDOUT_FILENO);
	(void)close(ends[1]);
	status = command_main(&report_command, 1, argv);
	(void)dup2(saved, STDOUT_FILENO);
	(void)close(saved);
	command_run_restore(STDERR_FILENO, err, ran.err);
	assert_int_equal(status, 1);
	assert_string_equal(ran.err, "");
}

/* Until these words have come; false at the end. */
static bool wait_for(int terminal, const char *words)
{
	char text[4096] = "";
	size_t size = 0;

	while (!strstr(text, words)) {
		ssize_t n = read(terminal, text + size, sizeof(text) - 1 - size);

		if (n <= 0)
			return false;
		size += (size_t)n;
		text[size] = '\0';
	}
	return true;
}

static void a_terminal_shows_progress(void **state)
{
	char *argv[] = { "flamegraph", "--unit", "never", NULL };
	int terminal, ours;
	pid_t child;

	if (openpty(&terminal, &ours, NULL, NULL, NULL) < 0) {
		print_message("there are no pseudo terminals here\n");
		skip();
	}
	child = fork();
	if (child == 0) {
		(void)dup2(ours, STDERR_FILENO);
		_exit(command_main(&flamegraph_command, 3, argv));
	}
	(void)close(ours);
	assert_true(wait_for(terminal, "waiting for pilotlightd: "));
	(void)kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_not_equal(access("flamegraph.svg", F_OK), 0);
	(void)close(terminal);
}

#define TEST(function) \
	cmocka_unit_test_setup_teardown(function, service_run_set_up, service_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_command_has_its_place_and_format),
		TEST(every_option_of_a_selection_becomes_a_parameter),
		TEST(users_are_sent_by_number),
		TEST(calendar_times_are_in_the_zone_of_the_user),
		TEST(malformed_times_are_reported),
		TEST(the_ending_or_f_chooses_the_format),
		TEST(a_format_must_be_known),
		TEST(a_selection_that_is_too_long_is_reported),
		TEST(a_refused_query_leaves_no_file),
		TEST(an_old_file_stays_where_the_new_one_fails),
		TEST(an_unwritable_target_is_reported),
		TEST(a_terminal_gets_no_binary_output),
		TEST(a_terminal_gets_few_rows),
		TEST(a_terminal_gets_no_control_sequences_of_the_service),
		TEST(failing_allocations_leave_nothing_behind),
		TEST(two_selections_become_a_graph_and_a_table),
		TEST(a_page_with_both_sides_can_be_requested),
		TEST(the_graph_or_the_table_can_be_requested),
		TEST(a_rise_above_the_bound_has_a_status),
		TEST(a_difference_needs_two_selections),
		TEST(a_difference_that_is_too_long_is_refused),
		TEST(a_failing_first_request_ends_the_command),
		TEST(failing_allocations_end_a_difference),
		TEST(the_service_reports_its_state),
		TEST(users_are_shown_by_name),
		TEST(a_service_that_does_not_answer_is_a_failure),
		TEST(the_state_has_no_selection),
		TEST(failing_allocations_end_the_state),
		TEST(a_gone_reader_gets_no_message),
		TEST(a_terminal_shows_progress),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
