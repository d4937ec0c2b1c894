/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_options.h"

#include "tests/tools/command_run.h"
#include "tools/record/record.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct record_options *options;

static int set_up(void **state)
{
	options = malloc(record_command.bytes);
	return options ? 0 : -1;
}

static int tear_down(void **state)
{
	free(options);
	return 0;
}

static int parse_words(int argc, char **argv)
{
	int status, r = command_parse(&record_command, argc, argv, options, &status);

	return r == 0 ? record_options_check(options) : status;
}

/* `line` is split at its spaces. Returns 0 or EXIT_USAGE. */
static int parse(const char *line)
{
	char *argv[COMMAND_RUN_WORDS_MAX + 1] = { (char *)"record" };

	return parse_words(command_run_split(line, argv, 1), argv);
}

static void defaults_suit_a_first_try(void **state)
{
	assert_int_equal(parse(""), 0);
	assert_int_equal(options->rate_hz, 99);
	assert_true(options->duration_ns == 0);
	assert_int_equal(options->pid_count, 0);
	assert_string_equal(options->path, "flamegraph.svg");
	assert_string_equal(options->format->name, "svg");
	assert_true(options->samples_kernel);
	assert_string_equal(options->unwind, "auto");
	assert_false(options->samples_all || options->is_by_line || options->is_quiet ||
		     options->is_verbose);
	assert_null(options->command);
}

static void each_option_is_parsed(void **state)
{
	assert_int_equal(
		parse("-F 499 -d 0.5 -p 12 -p 34 -o x.pb.gz --no-kernel --stack-slots 64 -q -v "
		      "--lines"),
		0);
	assert_int_equal(options->rate_hz, 499);
	assert_true(options->duration_ns == 500000000);
	assert_int_equal(options->pid_count, 2);
	assert_int_equal(options->pids[0], 12);
	assert_int_equal(options->pids[1], 34);
	assert_string_equal(options->path, "x.pb.gz");
	assert_string_equal(options->format->name, "pprof");
	assert_false(options->samples_kernel);
	assert_string_equal(options->unwind, "auto");
	assert_int_equal(options->stack_slots, 64);
	assert_true(options->is_quiet && options->is_verbose && options->is_by_line);
}

static void times_are_for_formats_that_tell_them(void **state)
{
	assert_int_equal(parse("--times -o a.pb.gz"), 0);
	assert_true(options->has_times);
	assert_int_equal(parse("--times -f otlp -o a"), 0);
	assert_true(parse("--times") != 0);
	assert_true(parse("--times -o a.folded") != 0);
	assert_int_equal(parse("-o a.pb.gz"), 0);
	assert_false(options->has_times);
}

static void wakers_end_waits(void **state)
{
	assert_int_equal(parse("-e offcpu --wakers"), 0);
	assert_true(options->samples_wakers);
	assert_int_equal(parse("-e wall --wakers"), 0);
	assert_true(parse("--wakers") != 0);
	assert_true(parse("-e lock --wakers") != 0);
}

static void stacks_are_walked_as_asked(void **state)
{
	assert_int_equal(parse("--unwind=fp"), 0);
	assert_string_equal(options->unwind, "fp");
	assert_int_equal(parse("--unwind=fp --unwind=auto"), 0);
	assert_string_equal(options->unwind, "auto");
	assert_int_equal(parse("--unwind=dwarf"), EXIT_USAGE);
	assert_int_equal(parse("--unwind"), EXIT_USAGE);
}

static void events_are_chosen(void **state)
{
	const uint32_t cpu = 1U << PILOTLIGHT_SOURCE_CPU, off = 1U << PILOTLIGHT_SOURCE_OFFCPU;
	const uint32_t queue = 1U << PILOTLIGHT_SOURCE_RUNQUEUE, wall = 1U << RECORD_WALL;
	static const char *const wrong[] = { "-e", "-e cycle", "-e cpu,", "-e ,cpu", "-e cp",
		"-e cpuu", "-e cpu,,wall", "-e cpu,wall -o -" };

	assert_int_equal(parse(""), 0);
	assert_int_equal(options->outputs, cpu);
	assert_int_equal(record_options_sources(options), cpu);
	assert_int_equal(parse("-e offcpu"), 0);
	assert_int_equal(options->outputs, off);
	assert_int_equal(parse("-e cpu,offcpu --event=runqueue -e cpu"), 0);
	assert_int_equal(options->outputs, cpu | off | queue);
	assert_int_equal(parse("-e wall"), 0);
	assert_int_equal(options->outputs, wall);
	assert_int_equal(record_options_sources(options), cpu | off | queue);
	assert_int_equal(parse("-e wall -o -"), 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse(wrong[i]), EXIT_USAGE);
}

static void events_of_perf_have_places(void **state)
{
	const enum pilotlight_source first = PILOTLIGHT_SOURCE_COUNTED;
	static const char *const wrong[] = { "-e cs,migrations,cycles,instructions,branches",
		"-e cs/period=0/", "-e cs:x", "-e sched:", "-e event-0" };
	char path[PATH_MAX];

	assert_int_equal(parse("-e cpu,cache-misses,sched:sched_process_exec,faults "
			       "-e cycles:u/period=77/,cache-misses"),
		0);
	assert_int_equal(options->outputs,
		1U << PILOTLIGHT_SOURCE_CPU | 1U << PILOTLIGHT_SOURCE_FAULTS | 7U << first);
	assert_int_equal(record_options_sources(options), options->outputs);
	assert_string_equal(record_output_name(options, first), "cache-misses");
	assert_string_equal(options->counted[1].name, "sched:sched_process_exec");
	assert_int_equal(options->counted[1].kind, PILOTLIGHT_COUNTED_TRACEPOINT);
	assert_string_equal(options->counted[2].name, "cpu-cycles:u");
	assert_int_equal(record_options_period(options, first), 10007);
	assert_int_equal(record_options_period(options, first + 1), 1);
	assert_int_equal(record_options_period(options, first + 2), 77);
	assert_string_equal(record_options_path(options, first + 1, path),
		"flamegraph.sched:sched_process_exec.svg");
	assert_int_equal(parse("-e cs,cache-misses -c 3"), 0);
	assert_int_equal(record_options_period(options, first), 3);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse(wrong[i]), EXIT_USAGE);
}

static void probes_have_a_binary(void **state)
{
	const enum pilotlight_source first = PILOTLIGHT_SOURCE_COUNTED;
	static const char *const wrong[] = { "-e usdt:", "-e usdt:a", "-e usdt:a:b", "-e usdt::b:c",
		"-e usdt:a::c", "-e usdt:a:b:", "-e usdt:a:b:c/period=0/" };
	char path[PATH_MAX];

	assert_int_equal(parse("-e usdt:/usr/lib/a,cs,usdt:x:/b:app:begin/period=5/"), EXIT_USAGE);
	assert_int_equal(parse("-e usdt:/usr/lib/a:app:begin,cs,usdt:x:/b:app:end/period=5/"), 0);
	assert_string_equal(options->counted[0].name, "usdt:a:app:begin");
	assert_int_equal(options->counted[0].kind, PILOTLIGHT_COUNTED_PROBE);
	assert_int_equal(options->probes[0].path_size, strlen("/usr/lib/a"));
	assert_string_equal(options->counted[1].name, "context-switches");
	assert_string_equal(options->counted[2].name, "usdt:b:app:end");
	assert_int_equal(strncmp(options->probes[2].path, "x:/b:", 5), 0);
	assert_int_equal(options->probes[2].path_size, 4);
	assert_int_equal(options->probes[2].provider_size, 3);
	assert_int_equal(record_options_period(options, first), 1);
	assert_int_equal(record_options_period(options, first + 2), 5);
	assert_string_equal(
		record_options_path(options, first, path), "flamegraph.usdt:a:app:begin.svg");
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse(wrong[i]), EXIT_USAGE);
}

static void events_have_periods(void **state)
{
	const enum pilotlight_source off = PILOTLIGHT_SOURCE_OFFCPU;
	const enum pilotlight_source faults = PILOTLIGHT_SOURCE_FAULTS;
	static const char *const wrong[] = { "-e faults/period=0/", "-e faults/period=/",
		"-e faults/period=7", "-e faults/", "-e faults//", "-e faults/count=7/",
		"-e faults/period=1/x", "-e faults/period=99999999999999999999999999/",
		"-e cpu/period=1/", "-e wall/period=1/", "-c 0", "-c x" };

	assert_int_equal(parse("-e faults,offcpu"), 0);
	assert_int_equal(record_options_period(options, faults), 7);
	assert_int_equal(record_options_period(options, off), 1000000);
	assert_int_equal(parse("-e faults,offcpu -c 100"), 0);
	assert_int_equal(record_options_period(options, faults), 100);
	assert_int_equal(record_options_period(options, off), 1000000);
	assert_int_equal(record_options_period(options, PILOTLIGHT_SOURCE_CPU), 0);
	assert_int_equal(parse("-c 100 -e faults/period=1/,offcpu/period=5000/,cpu"), 0);
	assert_int_equal(record_options_period(options, faults), 1);
	assert_int_equal(record_options_period(options, off), 5000);
	assert_int_equal(options->outputs, 1U << PILOTLIGHT_SOURCE_CPU | 1U << off | 1U << faults);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse(wrong[i]), EXIT_USAGE);
}

static void heaps_are_those_of_named_processes(void **state)
{
	static const char *const wrong[] = { "-e heap:alloc", "-e heap:live,cpu",
		"-e heap:alloc -a -- true" };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse(wrong[i]), EXIT_USAGE);
	assert_int_equal(parse("-e heap:alloc,heap:live -p 1"), 0);
	assert_int_equal(parse("-e heap:live/period=1/ -- true"), 0);
	assert_int_equal(record_options_period(options, PILOTLIGHT_SOURCE_HEAP_LIVE), 1);
}

static void each_event_has_its_path(void **state)
{
	static const struct {
		const char *line, *cpu, *wall;
	} cases[] = {
		{ "-e cpu,wall", "flamegraph.cpu.svg", "flamegraph.wall.svg" },
		{ "-e cpu,wall -o a/b.c.pb.gz", "a/b.c.cpu.pb.gz", "a/b.c.wall.pb.gz" },
		{ "-e cpu,wall -f folded -o stacks", "stacks.cpu", "stacks.wall" },
		{ "-e cpu,wall -f pprof -o x.svg", "x.cpu.svg", "x.wall.svg" },
		{ "-e wall -o x.svg", "x.svg", "x.svg" },
	};
	char path[PATH_MAX], long_path[PATH_MAX];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].line), 0);
		assert_string_equal(
			record_options_path(options, PILOTLIGHT_SOURCE_CPU, path), cases[i].cpu);
		assert_string_equal(record_options_path(options, RECORD_WALL, path), cases[i].wall);
	}
	memset(long_path, 'x', sizeof(long_path) - 10);
	(void)strcpy(long_path + sizeof(long_path) - 10, ".svg");
	assert_int_equal(parse("-e cpu,offcpu"), 0);
	options->path = long_path;
	assert_non_null(record_options_path(options, PILOTLIGHT_SOURCE_CPU, path));
	assert_null(record_options_path(options, PILOTLIGHT_SOURCE_OFFCPU, path));
}

static void a_command_needs_no_dashes(void **state)
{
	static const char *const lines[] = { "-F 9 make -j4 -F x", "-F 9 -- make -j4 -F x" };

	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(parse(lines[i]), 0);
		assert_int_equal(options->rate_hz, 9);
		assert_string_equal(options->command[0], "make");
		assert_string_equal(options->command[1], "-j4");
		assert_string_equal(options->command[2], "-F");
		assert_string_equal(options->command[3], "x");
		assert_null(options->command[4]);
	}
	assert_int_equal(parse("-a make"), 0);
	assert_true(options->samples_all);
}

static void durations_have_units(void **state)
{
	static const struct {
		const char *line;
		uint64_t ms;
	} cases[] = { { "-d 10", 10000 }, { "-d 2s", 2000 }, { "-d 250ms", 250 },
		{ "-d 1.5min", 90000 }, { "-d 1h", 3600000 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i].line), 0);
		assert_true(options->duration_ns == cases[i].ms * 1000000);
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

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse(cases[i][0]), 0);
		assert_string_equal(options->format->name, cases[i][1]);
	}
}

static void mistakes_are_refused(void **state)
{
	static const char *const lines[] = { "-F", "-F 0", "-F -1", "-F 20001", "-F 9x",
		"-F 18446744073709551617", "-d 0", "-d -1", "-d 1parsec", "-d nan", "-d 604801",
		"-p 0", "-p 2147483648", "-p self", "-f gif", "-o x.gif", "-o .svg",
		"--stack-slots 0", "--nonsense", "-a -p 1", "-p 1 true", "-p 1 -- true" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(parse(lines[i]), EXIT_USAGE);
	}
}

static void pids_are_bounded(void **state)
{
	char *argv[2 * (RECORD_PIDS_MAX + 1) + 2] = { "record" };
	int argc = 1;

	for (int i = 0; i <= RECORD_PIDS_MAX; i++) {
		argv[argc++] = "-p";
		argv[argc++] = "1";
	}
	assert_int_equal(parse_words(argc, argv), EXIT_USAGE);
	assert_int_equal(parse_words(argc - 2, argv), 0);
	assert_int_equal(options->pid_count, RECORD_PIDS_MAX);
}

static void a_rate_above_the_kernels_is_refused(void **state)
{
	char path[] = "/tmp/record-options-test.XXXXXX";
	struct fault fault = { 0 };
	int fd = mkstemp(path);

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
		cmocka_unit_test(each_option_is_parsed),
		cmocka_unit_test(times_are_for_formats_that_tell_them),
		cmocka_unit_test(wakers_end_waits),
		cmocka_unit_test(stacks_are_walked_as_asked),
		cmocka_unit_test(events_are_chosen),
		cmocka_unit_test(events_of_perf_have_places),
		cmocka_unit_test(probes_have_a_binary),
		cmocka_unit_test(events_have_periods),
		cmocka_unit_test(heaps_are_those_of_named_processes),
		cmocka_unit_test(each_event_has_its_path),
		cmocka_unit_test(a_command_needs_no_dashes),
		cmocka_unit_test(durations_have_units),
		cmocka_unit_test(formats_are_found),
		cmocka_unit_test(mistakes_are_refused),
		cmocka_unit_test(pids_are_bounded),
		cmocka_unit_test(a_rate_above_the_kernels_is_refused),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
