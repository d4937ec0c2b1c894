/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/event_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { EVENTS = 7 };
static const char *const events[EVENTS] = { "offcpu", "cpu-clock", "cycles", "runqueue",
	"page-faults", "cpu-clock", "faults" };

/* Which of the events are taken: '1' each. */
static void expect(const char *asked, const char *taken, bool is_partial)
{
	struct event_choice choice;
	char text[EVENTS + 1] = "";

	event_choice_init(&choice, asked);
	for (size_t i = 0; i < EVENTS; i++)
		text[i] = event_choice_takes(&choice, events[i]) ? '1' : '0';
	assert_string_equal(text, taken);
	assert_int_equal(choice.is_partial, is_partial);
	assert_true(choice.has_others);
}

static void a_source_takes_its_windows(void **state)
{
	expect(NULL, "0100010", true);
	expect("cpu", "0100010", true);
	expect("offcpu", "1000000", false);
	expect("runqueue", "0001000", false);
	expect("faults", "0000001", false);
}

static void an_event_takes_its_windows(void **state)
{
	expect("cpu-clock", "0100010", false);
	expect("cycles", "0010000", false);
	expect("page-faults", "0000100", false);
	expect("none", "0000000", false);
	expect("", "0000000", false);
}

static void wall_takes_its_parts(void **state)
{
	struct event_choice choice;

	expect("wall", "1101010", true);
	event_choice_init(&choice, "wall");
	assert_false(event_choice_takes(&choice, "lock"));
}

static void the_first_event_of_cpu_time_is_taken(void **state)
{
	struct event_choice choice;

	event_choice_init(&choice, NULL);
	assert_true(event_choice_takes(&choice, "cycles"));
	assert_false(choice.has_others);
	assert_false(event_choice_takes(&choice, "cpu-clock"));
	assert_true(event_choice_takes(&choice, "cycles"));
}

static void a_sum_has_a_name_and_the_times_of_one_source(void **state)
{
	struct event_choice choice;

	event_choice_init(&choice, "wall");
	assert_string_equal(event_choice_name(&choice, "cpu-clock"), "wall");
	assert_true(event_choice_counts_time(&choice, "cycles"));
	assert_false(event_choice_counts_time(&choice, "offcpu"));
	event_choice_init(&choice, "offcpu");
	assert_string_equal(event_choice_name(&choice, "offcpu"), "offcpu");
	assert_true(event_choice_counts_time(&choice, "offcpu"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_source_takes_its_windows),
		cmocka_unit_test(an_event_takes_its_windows),
		cmocka_unit_test(wall_takes_its_parts),
		cmocka_unit_test(the_first_event_of_cpu_time_is_taken),
		cmocka_unit_test(a_sum_has_a_name_and_the_times_of_one_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
