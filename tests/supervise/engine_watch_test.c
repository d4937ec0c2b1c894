/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "supervise/engine_watch.h"

#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const uint64_t ms = NSEC_PER_SEC / 1000, second = NSEC_PER_SEC;

static void backoff_grows_to_a_bound(void **state)
{
	static const uint64_t pauses_ms[] = { 100, 200, 400, 800, 1600, 3200, 5000, 5000 };
	struct engine_watch watch;
	uint64_t now = second;

	engine_watch_init(&watch, 0);
	for (size_t i = 0; i < 8; i++) {
		engine_watch_started(&watch, now);
		assert_int_equal(engine_watch_ended(&watch, false, second, now), pauses_ms[i] * ms);
		assert_int_equal(engine_watch_next_ns(&watch), now + pauses_ms[i] * ms);
		now += pauses_ms[i] * ms;
		assert_int_equal(engine_watch_next_action(&watch, now - 1), ENGINE_WATCH_NOTHING);
		assert_int_equal(engine_watch_next_action(&watch, now), ENGINE_WATCH_START);
		assert_int_equal(engine_watch_next_action(&watch, now), ENGINE_WATCH_NOTHING);
	}
	/* An engine that ran for a minute resets the backoff. */
	assert_int_equal(engine_watch_ended(&watch, false, 60 * second, now), 100 * ms);
	assert_int_equal(engine_watch_ended(&watch, false, 59 * second, now), 200 * ms);
}

static void a_ready_engine_is_restarted_within_a_second(void **state)
{
	static const uint64_t pauses_ms[] = { 100, 200, 400, 800, 1000, 1000 };
	struct engine_watch watch;

	engine_watch_init(&watch, 0);
	for (size_t i = 0; i < 6; i++) {
		engine_watch_started(&watch, second);
		engine_watch_progressed(&watch, second);
		assert_int_equal(engine_watch_ended(&watch, false, 1, second), pauses_ms[i] * ms);
	}
	/* The next one makes no progress. */
	engine_watch_started(&watch, second);
	assert_int_equal(engine_watch_ended(&watch, false, 1, second), 2 * second);
}

static void requested_restarts_are_immediate_but_bounded(void **state)
{
	struct engine_watch watch;

	engine_watch_init(&watch, 0);
	assert_int_equal(engine_watch_ended(&watch, true, second, 5), 0);
	assert_int_equal(engine_watch_next_action(&watch, 5), ENGINE_WATCH_START);
	assert_int_equal(engine_watch_ended(&watch, true, second - 1, 5), 100 * ms);
	assert_int_equal(engine_watch_ended(&watch, true, 0, 5), 200 * ms);
	assert_int_equal(engine_watch_ended(&watch, true, second, 5), 0);
}

static void a_silent_engine_is_killed(void **state)
{
	struct engine_watch watch;

	engine_watch_init(&watch, 20 * second);
	assert_int_equal(engine_watch_next_ns(&watch), UINT64_MAX);
	engine_watch_started(&watch, second);
	assert_int_equal(engine_watch_next_ns(&watch), 11 * second);
	engine_watch_progressed(&watch, 5 * second);
	assert_int_equal(engine_watch_next_action(&watch, 15 * second - 1), ENGINE_WATCH_NOTHING);
	engine_watch_extend(&watch, 2 * second);
	assert_int_equal(engine_watch_next_action(&watch, 17 * second - 1), ENGINE_WATCH_NOTHING);
	assert_int_equal(engine_watch_next_action(&watch, 17 * second), ENGINE_WATCH_ABORT);
	/* Progress after the abort changes nothing. */
	engine_watch_progressed(&watch, 17 * second);
	assert_int_equal(engine_watch_next_action(&watch, 18 * second - 1), ENGINE_WATCH_NOTHING);
	assert_int_equal(engine_watch_next_action(&watch, 18 * second), ENGINE_WATCH_KILL);
	assert_int_equal(engine_watch_next_action(&watch, 18 * second), ENGINE_WATCH_NOTHING);
	assert_int_equal(engine_watch_next_action(&watch, 19 * second), ENGINE_WATCH_KILL);
	assert_int_equal(engine_watch_ended(&watch, false, 18 * second, 19 * second), 100 * ms);
	assert_int_equal(engine_watch_next_ns(&watch), 19 * second + 100 * ms);
	/* No engine runs, so there is no deadline to extend. */
	engine_watch_extend(&watch, second);
	assert_int_equal(engine_watch_next_ns(&watch), 19 * second + 100 * ms);
}

static void a_stopping_engine_has_its_timeout(void **state)
{
	struct engine_watch watch;

	engine_watch_init(&watch, 2 * second);
	engine_watch_started(&watch, second);
	engine_watch_stopping(&watch, second);
	assert_int_equal(engine_watch_next_action(&watch, 20 * second), ENGINE_WATCH_NOTHING);
	assert_int_equal(engine_watch_next_ns(&watch), 21 * second);
	assert_int_equal(engine_watch_next_action(&watch, 21 * second), ENGINE_WATCH_KILL);
}

static void a_hung_engine_leaves_half_of_the_watchdogs_time(void **state)
{
	static const struct {
		uint64_t watchdog_ns, timeout_ns;
	} cases[] = {
		{ 60ULL * NSEC_PER_SEC, 30ULL * NSEC_PER_SEC },
		{ UINT64_MAX, UINT64_MAX / 2 },
		{ 0, 60ULL * NSEC_PER_SEC },
	};
	struct engine_watch watch;

	for (size_t i = 0; i < 3; i++) {
		engine_watch_init(&watch, cases[i].watchdog_ns);
		engine_watch_started(&watch, second);
		assert_int_equal(engine_watch_next_ns(&watch), second + cases[i].timeout_ns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(backoff_grows_to_a_bound),
		cmocka_unit_test(a_ready_engine_is_restarted_within_a_second),
		cmocka_unit_test(requested_restarts_are_immediate_but_bounded),
		cmocka_unit_test(a_silent_engine_is_killed),
		cmocka_unit_test(a_stopping_engine_has_its_timeout),
		cmocka_unit_test(a_hung_engine_leaves_half_of_the_watchdogs_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
