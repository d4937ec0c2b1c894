/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/event_source.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void names_are_found(void **state)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		enum pilotlight_source found = PILOTLIGHT_SOURCES;

		/* The name of a place says nothing of the event in it. */
		assert_int_equal(event_source_find(event_sources[i].name, &found),
			!event_source_is_counted(i));
		if (!event_source_is_counted(i))
			assert_int_equal(found, i);
	}
}

static void a_sum_and_an_event_are_no_sources(void **state)
{
	static const char *const names[] = { "wall", "cpu-clock", "", "CPU", "offcpu " };
	enum pilotlight_source found = PILOTLIGHT_SOURCES;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(event_source_find(names[i], &found));
	assert_int_equal(found, PILOTLIGHT_SOURCES);
}

static void events_have_a_source(void **state)
{
	static const struct {
		const char *event, *source;
	} cases[] = {
		{ "cpu-clock", "cpu" },
		{ "cycles", "cpu" },
		{ "", "cpu" },
		{ "cache-misses", "event-0" },
		{ "sched:sched_process_exec", "event-0" },
		{ "event-1", "event-0" },
		{ "cpu", "cpu" },
		{ "offcpu", "offcpu" },
		{ "runqueue", "runqueue" },
		{ "wall", "wall" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_string_equal(event_source_of(cases[i].event)->name, cases[i].source);
	assert_true(event_source_is_cpu(event_source_of("cycles")));
	assert_false(event_source_is_cpu(event_source_of("offcpu")));
	assert_false(event_source_is_cpu(&event_source_wall));
}

static void sources_have_their_events_alone(void **state)
{
	const struct event_source *cpu = &event_sources[PILOTLIGHT_SOURCE_CPU];
	const struct event_source *offcpu = &event_sources[PILOTLIGHT_SOURCE_OFFCPU];

	assert_true(event_source_has(cpu, "cpu-clock"));
	assert_true(event_source_has(cpu, "cycles"));
	assert_true(event_source_has(offcpu, "offcpu"));
	assert_false(event_source_has(cpu, "offcpu"));
	assert_false(event_source_has(cpu, "page-faults"));
	assert_false(event_source_has(cpu, ""));
	assert_false(event_source_has(offcpu, "cpu-clock"));
	assert_false(event_source_has(offcpu, ""));
}

/* It indexes arrays, and events come from stored files. */
static void an_index_is_of_a_source(void **state)
{
	static const char *const names[] = { "wall", "", "page-faults", "cpu" };
	enum pilotlight_source found = PILOTLIGHT_SOURCES;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_false(event_source_index(names[i], &found));
	assert_int_equal(found, PILOTLIGHT_SOURCES);
	assert_true(event_source_index("cycles", &found));
	assert_int_equal(found, PILOTLIGHT_SOURCE_CPU);
	assert_true(event_source_index("runqueue", &found));
	assert_int_equal(found, PILOTLIGHT_SOURCE_RUNQUEUE);
}

/* Else a sum could not tell a stack that ran from the same stack that was blocked. */
static void stacks_of_threads_that_did_not_run_say_so(void **state)
{
	assert_null(event_source_wait(PILOTLIGHT_SOURCE_CPU, PILOTLIGHT_WAIT_NONE));
	assert_string_equal(
		event_source_wait(PILOTLIGHT_SOURCE_OFFCPU, PILOTLIGHT_WAIT_NONE), "[blocked]");
	assert_string_equal(event_source_wait(PILOTLIGHT_SOURCE_RUNQUEUE, PILOTLIGHT_WAIT_NONE),
		"[waiting for a CPU]");
	assert_string_equal(
		event_source_wait(PILOTLIGHT_SOURCE_OFFCPU, PILOTLIGHT_WAIT_INTERRUPTIBLE),
		"[blocked]");
	assert_string_equal(event_source_wait(PILOTLIGHT_SOURCE_OFFCPU, PILOTLIGHT_WAIT_DISK),
		"[blocked: I/O]");
	assert_string_equal(
		event_source_wait(PILOTLIGHT_SOURCE_RUNQUEUE, PILOTLIGHT_WAIT_PREEMPTED),
		"[waiting for a CPU: preempted]");
	assert_string_equal(
		event_source_wait(PILOTLIGHT_SOURCE_RUNQUEUE, PILOTLIGHT_WAIT_THROTTLED),
		"[throttled by cpu.max]");
	assert_string_equal(event_source_wait(PILOTLIGHT_SOURCE_LOCK, PILOTLIGHT_WAIT_RWSEM_READ),
		"[lock: rwsem, read]");
	assert_string_equal(
		event_source_wait(PILOTLIGHT_SOURCE_LOCK, PILOTLIGHT_WAIT_NONE), "[lock]");
	assert_string_equal(
		event_source_wait(PILOTLIGHT_SOURCE_BLOCK_BYTES, PILOTLIGHT_WAIT_BLOCK_WRITE),
		"[block: write]");
	assert_null(event_source_wait(PILOTLIGHT_SOURCE_CPU, PILOTLIGHT_WAIT_DISK));
	assert_null(event_source_wait(PILOTLIGHT_SOURCE_FAULTS, PILOTLIGHT_WAIT_NONE));
}

/* Pyroscope refuses a type with a '-'. */
static void all_is_said_of_each(void **state)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++) {
		const struct event_source *source = &event_sources[i];

		assert_true(source->unit[0]);
		assert_int_equal(source->title == NULL, event_source_is_counted(i));
		assert_int_equal(source->pprof_type == NULL, event_source_is_counted(i));
		if (source->pprof_type)
			assert_int_equal(strspn(source->pprof_type, "abcdefghijklmnopqrstuvwxyz_"),
				strlen(source->pprof_type));
		assert_int_equal(source->default_period > 0, i != PILOTLIGHT_SOURCE_CPU);
		/* The service cannot sample the memory of programs. */
		assert_int_equal(source->service_period > 0,
			i != PILOTLIGHT_SOURCE_CPU && i != PILOTLIGHT_SOURCE_HEAP_ALLOC &&
				i != PILOTLIGHT_SOURCE_HEAP_LIVE);
		assert_int_equal(
			event_source_unit(source) == EVENT_UNIT_COUNT, source->noun != NULL);
	}
}

static void titles_say_what_events_are(void **state)
{
	assert_string_equal(event_source_title("faults"), "page faults");
	assert_string_equal(event_source_title("cpu-clock"), "CPU time");
	assert_string_equal(event_source_title("cache-misses"), "cache-misses");
}

static void types_are_identifiers(void **state)
{
	char text[EVENT_TYPE_BYTES], name[2 * EVENT_TYPE_BYTES];

	assert_string_equal(event_source_type("offcpu", text), "off_cpu");
	assert_string_equal(event_source_type("cycles", text), "cpu");
	assert_string_equal(event_source_type("wall", text), "wall");
	assert_string_equal(event_source_type("cache-misses", text), "cache_misses");
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(strlen(event_source_type(name, text)), EVENT_TYPE_BYTES - 1);
}

static void units_are_known(void **state)
{
	struct event_source bytes = { .unit = "bytes" };

	assert_int_equal(event_source_unit(event_source_of("faults")), EVENT_UNIT_COUNT);
	assert_int_equal(event_source_unit(event_source_of("cache-misses")), EVENT_UNIT_COUNT);
	assert_int_equal(event_source_unit(event_source_of("offcpu")), EVENT_UNIT_TIME);
	assert_int_equal(event_source_unit(event_source_of("cycles")), EVENT_UNIT_TIME);
	assert_int_equal(event_source_unit(&event_source_wall), EVENT_UNIT_TIME);
	assert_int_equal(event_source_unit(&bytes), EVENT_UNIT_BYTES);
}

/* Others count no time, or time that the parts have already. */
static void wall_has_three_parts(void **state)
{
	for (enum pilotlight_source i = 0; i < PILOTLIGHT_SOURCES; i++)
		assert_int_equal(event_source_is_of_wall(i), i <= PILOTLIGHT_SOURCE_RUNQUEUE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found),
		cmocka_unit_test(a_sum_and_an_event_are_no_sources),
		cmocka_unit_test(events_have_a_source),
		cmocka_unit_test(sources_have_their_events_alone),
		cmocka_unit_test(an_index_is_of_a_source),
		cmocka_unit_test(stacks_of_threads_that_did_not_run_say_so),
		cmocka_unit_test(all_is_said_of_each),
		cmocka_unit_test(titles_say_what_events_are),
		cmocka_unit_test(types_are_identifiers),
		cmocka_unit_test(units_are_known),
		cmocka_unit_test(wall_has_three_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
