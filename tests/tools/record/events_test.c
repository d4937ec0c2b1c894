/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/events.h"

#include "tests/tools/command_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static void events_are_listed(void **state)
{
	assert_int_equal(command_run(&events_command, ""), 0);
	assert_string_equal(ran.out,
		"EVENT     PERIOD  WHAT A SAMPLE COUNTS\n"
		"cpu       -       CPU time\n"
		"offcpu    1ms     time off CPU\n"
		"runqueue  1ms     time waiting for a CPU\n"
		"faults    7       page faults\n"
		"lock      100us   time waiting for locks\n"
		"wall      -       time on CPU, off CPU and waiting for a CPU\n");
	assert_string_equal(ran.err, "");
}

static void events_are_lines_of_json(void **state)
{
	static const char offcpu[] =
		"\n{\"name\":\"offcpu\",\"title\":\"time off CPU\",\"unit\":\"nanoseconds\","
		"\"pprof_type\":\"off_cpu\",\"period\":1000000}\n";

	assert_int_equal(command_run(&events_command, "--json"), 0);
	assert_non_null(strstr(ran.out, offcpu));
	assert_int_equal(command_run(&events_command, "cpu"), EXIT_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_are_listed),
		cmocka_unit_test(events_are_lines_of_json),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
