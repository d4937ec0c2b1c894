/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_options.h"

#include <errno.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { WORDS_MAX = 20 };

static struct record_options options;

/* `line` is split at its spaces. */
static enum record_parse parse(const char *line)
{
	static char text[512];
	static char *argv[WORDS_MAX + 1];
	char *rest = text;
	int argc = 0;

	(void)snprintf(text, sizeof(text), "record%s%s", *line ? " " : "", line);
	while (rest && argc < WORDS_MAX)
		argv[argc++] = strsep(&rest, " ");
	argv[argc] = NULL;
	optind = 0;
	return record_options_parse(argc, argv, &options);
}

static void defaults_suit_a_first_try(void **state)
{
	(void)state;
	assert_int_equal(parse(""), RECORD_PARSE_RUN);
	assert_int_equal(options.rate_hz, 99);
	assert_true(options.duration_ns == 0);
	assert_int_equal(options.pid_count, 0);
	assert_string_equal(options.path, "flamegraph.svg");
	assert_string_equal(options.format->name, "svg");
	assert_true(options.wants_kernel);
	assert_true(options.wants_tables);
	assert_false(
		options.wants_all || options.wants_lines || options.is_quiet || options.is_verbose);
	assert_null(options.command);
}

static void each_option_is_taken(void **state)
{
	(void)state;
	assert_int_equal(
		parse("-F 499 -d 0.5 -p 12 -p 34 -o x.pb.gz --no-kernel --stack-slots 64 -q -v "
		      "--lines"),
		RECORD_PARSE_RUN);
	assert_int_equal(options.rate_hz, 499);
	assert_true(options.duration_ns == 500000000);
	assert_int_equal(options.pid_count, 2);
	assert_int_equal(options.pids[0], 12);
	assert_int_equal(options.pids[1], 34);
	assert_string_equal(options.path, "x.pb.gz");
	assert_string_equal(options.format->name, "pprof");
	assert_false(options.wants_kernel);
	assert_true(options.wants_tables);
	assert_int_equal(options.stack_slots, 64);
	assert_true(options.is_quiet && options.is_verbose && options.wants_lines);
}

static void stacks_are_walked_as_asked(void **state)
{
	(void)state;
	assert_int_equal(parse("--unwind=fp"), RECORD_PARSE_RUN);
	assert_false(options.wants_tables);
	assert_int_equal(parse("--unwind=fp --unwind=auto"), RECORD_PARSE_RUN);
	assert_true(options.wants_tables);
	assert_int_equal(parse("--unwind=dwarf"), RECORD_PARSE_WRONG);
	assert_int_equal(parse("--unwind"), RECORD_PARSE_WRONG);
}

static void a_command_needs_no_dashes(void **state)
{
	static const char *const lines[] = { "-F 9 make -j4 -F x", "-F 9 -- make -j4 -F x" };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(parse(lines[i]), RECORD_PARSE_RUN);
		assert_int_equal(options.rate_hz, 9);
		assert_string_equal(options.command[0], "make");
		assert_string_equal(options.command[1], "-j4");
		assert_string_equal(options.command[2], "-F");
		assert_string_equal(options.command[3], "x");
		assert_null(options.command[4]);
	}
	assert_int_equal(parse("-a make"), RECORD_PARSE_RUN);
	assert_true(options.wants_all);
}

static void durations_have_units(void **state)
{
	static const struct {
		const char *line;
		uint64_t ms;
	} cases[] = { { "-d 10", 10000 }, { "-d 2s", 2000 }, { "-d 250ms", 250 },
		{ "-d 1.5min", 90000 }, { "-d 1h", 3600000 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].line), RECORD_PARSE_RUN);
		assert_true(options.duration_ns == cases[i].ms * 1000000);
	}
}

static void formats_are_found(void **state)
{
	static const char *const cases[][2] = {
		{ "-o x.svg", "svg" },
		{ "-o x.folded", "folded" },
		{ "-o x.pb.gz", "pprof" },
		{ "-o x.txt", "txt" },
		{ "-o x.svg -f folded", "folded" },
		{ "-o -", "svg" },
		{ "-o - -f pprof", "pprof" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i][0]), RECORD_PARSE_RUN);
		assert_string_equal(options.format->name, cases[i][1]);
	}
}

static void mistakes_leave_the_options_untouched(void **state)
{
	static const char *const lines[] = { "-F", "-F 0", "-F -1", "-F 20001", "-F 9x",
		"-F 18446744073709551617", "-d 0", "-d -1", "-d 1parsec", "-d nan", "-d 604801",
		"-p 0", "-p 2147483648", "-p self", "-f gif", "-o x.gif", "-o .svg",
		"--stack-slots 0", "--nonsense", "-a -p 1", "-p 1 true", "-p 1 -- true" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		options.rate_hz = 77;
		assert_int_equal(parse(lines[i]), RECORD_PARSE_WRONG);
		assert_int_equal(options.rate_hz, 77);
	}
}

static void pids_are_bounded(void **state)
{
	char *argv[2 * (RECORD_PIDS_MAX + 1) + 2] = { "record" };
	int argc = 1;

	(void)state;
	for (int i = 0; i <= RECORD_PIDS_MAX; i++) {
		argv[argc++] = "-p";
		argv[argc++] = "1";
	}
	optind = 0;
	assert_int_equal(record_options_parse(argc, argv, &options), RECORD_PARSE_WRONG);
	optind = 0;
	assert_int_equal(record_options_parse(argc - 2, argv, &options), RECORD_PARSE_RUN);
	assert_int_equal(options.pid_count, RECORD_PIDS_MAX);
}

static void a_rate_above_the_kernels_is_refused(void **state)
{
	char path[] = "/tmp/record-options-test.XXXXXX";
	struct fault fault = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "1000\n", 5), 5);
	assert_int_equal(record_options_check_rate(1000, path, &fault), 0);
	assert_string_equal(fault.text, "");
	assert_int_equal(record_options_check_rate(1001, path, &fault), -EINVAL);
	assert_non_null(strstr(fault.text, "sample 1001 times"));
	assert_non_null(strstr(fault.text, "use -F 1000 or less"));
	assert_non_null(strstr(fault.text, "kernel.perf_event_max_sample_rate=1001"));
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(record_options_check_rate(20000, path, NULL), 0);
	(void)close(fd);
	(void)unlink(path);
	assert_int_equal(record_options_check_rate(20000, path, NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_suit_a_first_try),
		cmocka_unit_test(each_option_is_taken),
		cmocka_unit_test(stacks_are_walked_as_asked),
		cmocka_unit_test(a_command_needs_no_dashes),
		cmocka_unit_test(durations_have_units),
		cmocka_unit_test(formats_are_found),
		cmocka_unit_test(mistakes_leave_the_options_untouched),
		cmocka_unit_test(pids_are_bounded),
		cmocka_unit_test(a_rate_above_the_kernels_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
