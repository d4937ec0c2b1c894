/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/config_events.h"

#include "base/event_source.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static char reason[CONFIG_REASON_BYTES];

static void each_kind_of_event_is_known(void **state)
{
	struct config_events events = { 0 };

	assert_int_equal(config_events_add(&events, "lock", reason), 0);
	assert_int_equal(config_events_add(&events, "faults/period=13/", reason), 0);
	assert_int_equal(config_events_add(&events, "cache-misses:u", reason), 0);
	assert_int_equal(
		config_events_add(&events, "sched:sched_process_exec/period=5/", reason), 0);
	assert_int_equal(
		events.sources, 1U << PILOTLIGHT_SOURCE_LOCK | 1U << PILOTLIGHT_SOURCE_FAULTS);
	assert_int_equal(events.periods[PILOTLIGHT_SOURCE_LOCK], 0);
	assert_int_equal(events.periods[PILOTLIGHT_SOURCE_FAULTS], 13);
	assert_int_equal(events.counted_count, 2);
	assert_string_equal(events.counted[0].event.name, "cache-misses:u");
	assert_int_equal(events.counted[0].event.type, PERF_TYPE_HARDWARE);
	assert_int_equal(events.counted[0].least_period, 10007);
	assert_string_equal(events.counted[1].event.name, "sched:sched_process_exec");
	assert_int_equal(events.counted[1].event.kind, PILOTLIGHT_COUNTED_TRACEPOINT);
	assert_int_equal(events.counted[1].least_period, 5);
	/* The same event again, by another name, has the later period. */
	assert_int_equal(config_events_add(&events, "cs", reason), 0);
	assert_int_equal(config_events_add(&events, "context-switches/period=9/", reason), 0);
	assert_int_equal(events.counted_count, 3);
	assert_int_equal(events.counted[2].least_period, 9);
}

static void wall_is_its_parts(void **state)
{
	struct config_events events = { 0 };

	assert_int_equal(config_events_add(&events, "wall", reason), 0);
	assert_int_equal(events.sources, 1U << PILOTLIGHT_SOURCE_CPU |
						 1U << PILOTLIGHT_SOURCE_OFFCPU |
						 1U << PILOTLIGHT_SOURCE_RUNQUEUE);
}

static void what_is_wrong_adds_nothing(void **state)
{
	static const struct config_events none;
	struct config_events events = { 0 };

	assert_int_equal(config_events_add(&events, "", reason), -EINVAL);
	assert_int_equal(config_events_add(&events, "nothing", reason), -EINVAL);
	assert_int_equal(config_events_add(&events, "lock/period=1/", reason), -EINVAL);
	assert_int_equal(
		config_events_add(&events,
			"x:xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"
			"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
			reason),
		-EINVAL);
	assert_memory_equal(&events, &none, sizeof(events));
}

static void allowed_events_are_lists_or_words(void **state)
{
	struct config_events events;

	assert_int_equal(config_events_parse_allowed("cheap", &events, reason), 0);
	assert_int_equal(events.sources, event_source_cheap());
	assert_int_equal(config_events_parse_allowed("all", &events, reason), 0);
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		assert_int_equal((events.sources & 1U << i) != 0, !event_source_is_counted(i));
	assert_int_equal(events.counted_count, 0);
	assert_int_equal(config_events_parse_allowed("none", &events, reason), 0);
	assert_int_equal(events.sources, 0);
	assert_int_equal(
		config_events_parse_allowed(
			" faults,cache-misses  sched:sched_switch/period=99/", &events, reason),
		0);
	assert_int_equal(events.sources, 1U << PILOTLIGHT_SOURCE_FAULTS);
	assert_int_equal(events.counted_count, 2);
	assert_int_equal(events.counted[1].least_period, 99);
	assert_int_equal(config_events_parse_allowed("faults all", &events, reason), -EINVAL);
	assert_int_equal(events.counted_count, 2);
}

static void there_is_room_for_some(void **state)
{
	struct config_events events = { 0 };
	char name[16];

	for (int i = 0; i < COUNTED_LIMITS_MAX; i++) {
		(void)snprintf(name, sizeof(name), "r%x", i);
		assert_int_equal(config_events_add(&events, name, reason), 0);
	}
	assert_int_equal(config_events_add(&events, "r100", reason), -EINVAL);
	assert_non_null(strstr(reason, "one too many"));
	assert_int_equal(config_events_add(&events, "r1/period=7/", reason), 0);
	assert_int_equal(events.counted_count, COUNTED_LIMITS_MAX);
}

/* A place is for one event; fewer can be on than are allowed. */
static void the_configuration_has_few_at_a_time(void **state)
{
	struct config config = { 0 };
	struct config_events events;
	const struct config_knob *knob = &config_knobs[config_knob_find("Sampling", "Events")];

	for (int i = 0; i < PILOTLIGHT_COUNTED_EVENTS; i++) {
		char name[16];

		(void)snprintf(name, sizeof(name), "r%x", i);
		assert_int_equal(config_knob_set(knob, name, &config, reason), 0);
	}
	assert_int_equal(config_knob_set(knob, "r9", &config, reason), -EINVAL);
	assert_non_null(strstr(reason, "at most 4 events of perf"));
	assert_int_equal(config_knob_set(knob, "block", &config, reason), 0);
	config_events_read(&config, &events);
	assert_int_equal(events.counted_count, PILOTLIGHT_COUNTED_EVENTS);
	assert_int_equal(events.sources, 1U << PILOTLIGHT_SOURCE_BLOCK);
	config_knob_clear(knob, &config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_of_event_is_known),
		cmocka_unit_test(wall_is_its_parts),
		cmocka_unit_test(what_is_wrong_adds_nothing),
		cmocka_unit_test(allowed_events_are_lists_or_words),
		cmocka_unit_test(there_is_room_for_some),
		cmocka_unit_test(the_configuration_has_few_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
