/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/events.h"

#include "tests/tools/service_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* Removes the lines that say what this machine lacks. */
static void without_missing(char *text)
{
	char *found;

	while ((found = strstr(text, "not here: "))) {
		char *begin = found, *end = strchr(found, '\n') + 1;

		while (begin > text && begin[-1] != '\n')
			begin--;
		memmove(begin, end, strlen(end) + 1);
	}
}

static void events_are_listed_without_a_service(void **state)
{
	service_run_end();
	assert_int_equal(command_run(&events_command, ""), 0);
	without_missing(ran.out);
	assert_string_equal(ran.out,
		"EVENT       PERIOD   WHAT A SAMPLE COUNTS\n"
		"cpu         -        CPU time\n"
		"offcpu      1ms      time off CPU\n"
		"                     costs 0.1 to 0.4 us for each switch of threads, and some us "
		"for each sample\n"
		"runqueue    1ms      time waiting for a CPU\n"
		"                     costs as offcpu, once for both\n"
		"faults      7        page faults\n"
		"                     costs some us for each sample; the kernel counts all others\n"
		"lock        100us    time waiting for locks\n"
		"                     costs 0.25 us for each wait for a futex, 1 us for others, "
		"and some us for each sample\n"
		"kmem:alloc  64.0 KiB kernel memory allocated\n"
		"                     costs 0.15 us for each allocation, and some us for each "
		"sample\n"
		"kmem:live   64.0 KiB kernel memory allocated since sampling began, and not freed\n"
		"                     costs 0.2 us for each allocation and free, and some us for "
		"each sample\n"
		"kmem:waste  16.0 KiB kernel memory allocated beyond what was requested\n"
		"                     costs 0.1 us for each allocation, and some us for each "
		"sample\n"
		"block       100us    time of block I/O\n"
		"                     costs 3 us for each request\n"
		"block:bytes 64.0 KiB bytes of block I/O\n"
		"                     costs as block, once for both\n"
		"heap:alloc  16.0 KiB memory that programs allocated\n"
		"                     costs 0.5 us for each malloc() of the sampled processes\n"
		"heap:live   16.0 KiB memory that programs allocated since sampling began, and not "
		"freed\n"
		"                     costs 2 us for each malloc() with its free(), of the sampled "
		"processes\n"
		"wall        -        time on CPU, off CPU and waiting for a CPU\n");
	assert_string_equal(ran.err, "");
}

static void events_are_lines_of_json(void **state)
{
	static const char offcpu[] =
		"\n{\"name\":\"offcpu\",\"title\":\"time off CPU\",\"unit\":\"nanoseconds\","
		"\"pprof_type\":\"off_cpu\",\"period\":1000000,\"cost\":";

	service_run_end();
	assert_int_equal(command_run(&events_command, "--json"), 0);
	assert_non_null(strstr(ran.out, offcpu));
	assert_int_equal(command_run(&events_command, "cpu"), EXIT_USAGE);
}

static void the_service_lists_and_obeys(void **state)
{
	assert_int_equal(command_run(&events_command, ""), 0);
	assert_string_equal(ran.out, "GET\nformat=text\n");
	assert_int_equal(command_run(&events_command, "--json"), 0);
	assert_string_equal(ran.out, "GET\n");
	assert_int_equal(command_run(&events_command, "enable offcpu,runqueue"), 0);
	assert_string_equal(ran.out, "POST\nenable=offcpu,runqueue\n");
	assert_int_equal(command_run(&events_command, "enable offcpu --for 1h --period=5ms"), 0);
	assert_string_equal(ran.out, "POST\nenable=offcpu\nfor=1h\nperiod=5ms\n");
	assert_int_equal(command_run(&events_command, "disable offcpu"), 0);
	assert_string_equal(ran.out, "POST\ndisable=offcpu\n");
}

static void orders_need_events_and_a_service(void **state)
{
	assert_int_equal(command_run(&events_command, "enable"), EXIT_USAGE);
	assert_int_equal(command_run(&events_command, "disable offcpu --for 1h"), EXIT_USAGE);
	service_run_end();
	assert_int_equal(command_run(&events_command, "enable offcpu"), EXIT_FAILURE);
	assert_non_null(strstr(ran.err, "is pilotlightd running?"));
}

static void help_tells_of_both(void **state)
{
	assert_int_equal(command_run(&events_command, "--help"), 0);
	assert_non_null(strstr(ran.out, "  enable  "));
	assert_non_null(strstr(ran.out, "--socket PATH"));
	assert_int_equal(command_run(&events_command, "enable --help"), 0);
	assert_non_null(strstr(ran.out, "--for TIME"));
}

#define WITH_SERVICE(test) \
	cmocka_unit_test_setup_teardown(test, service_run_set_up, service_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVICE(events_are_listed_without_a_service),
		WITH_SERVICE(events_are_lines_of_json),
		WITH_SERVICE(the_service_lists_and_obeys),
		WITH_SERVICE(orders_need_events_and_a_service),
		WITH_SERVICE(help_tells_of_both),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
