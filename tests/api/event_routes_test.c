/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Events are listed, and turned on for a time by those who may. */
#include "base/array.h"
#include "tests/api/api_fixture.h"

#define EVENTS "/api/v1/events"

enum {
	OFFCPU = 1 << PILOTLIGHT_SOURCE_OFFCPU,
	RUNQUEUE = 1 << PILOTLIGHT_SOURCE_RUNQUEUE,
};

static int post(struct engine *engine, const char *target)
{
	return ask_by(engine, "POST", target);
}

static void events_are_listed(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine, ask(engine, EVENTS), 200, "{\"name\":\"offcpu\"", "\"is_on\":false",
		"\"is_allowed\":false");
	CHECK_REPLY(engine, ask(engine, EVENTS "?format=text"), 200, "EVENT ", "\noffcpu ",
		"not allowed");
	CHECK_REPLY(engine, ask(engine, EVENTS "?format=xml"), 400, "Use 'json' or 'text'");
	CHECK_REPLY(engine, ask(engine, EVENTS "?enable=offcpu"), 400, "Unknown parameter");
	assert_int_equal(engine->orders, 0);
}

static void orders_reach_the_engine(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine, post(engine, EVENTS "?enable=offcpu"), 200, "EVENT ");
	assert_true(engine->order.is_on);
	assert_int_equal(engine->order.sources, OFFCPU);
	assert_int_equal(engine->order.for_ns, 600 * (uint64_t)NSEC_PER_SEC);
	assert_int_equal(engine->order.period, 0);
	CHECK_REPLY(engine, post(engine, EVENTS "?enable=runqueue,offcpu&for=1h+30min&period=5ms"),
		200, "");
	assert_int_equal(engine->order.sources, OFFCPU | RUNQUEUE);
	assert_int_equal(engine->order.for_ns, 5400 * (uint64_t)NSEC_PER_SEC);
	assert_int_equal(engine->order.period, 5000000);
	CHECK_REPLY(engine, post(engine, EVENTS "?disable=runqueue"), 200, "");
	assert_false(engine->order.is_on);
	assert_int_equal(engine->order.sources, RUNQUEUE);
	assert_int_equal(engine->orders, 3);
}

static void events_of_perf_reach_it_by_name(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine, post(engine, EVENTS "?enable=cs,faults,sched:sched_switch&period=9"),
		200, "");
	assert_int_equal(engine->order.sources, 1 << PILOTLIGHT_SOURCE_FAULTS);
	assert_int_equal(engine->order.counted_count, 2);
	assert_string_equal(engine->order.counted[0].name, "context-switches");
	assert_string_equal(engine->order.counted[1].name, "sched:sched_switch");
	assert_int_equal(engine->order.period, 9);
	CHECK_REPLY(
		engine, post(engine, EVENTS "?enable=cs,offcpu&period=9"), 400, "several units");
	CHECK_REPLY(engine, post(engine, EVENTS "?enable=r1,r2,r3,r4,r5"), 400, "'r5'");
	assert_int_equal(engine->orders, 1);
}

static void wrong_orders_are_refused(void **state)
{
	static const struct {
		const char *target, *why;
	} wrong[] = {
		{ EVENTS, "either 'enable' or 'disable'" },
		{ EVENTS "?enable=offcpu&disable=cpu", "either 'enable' or 'disable'" },
		{ EVENTS "?enable=offcpu,nothing", "Unknown event 'nothing'" },
		{ EVENTS "?enable=usdt:a:b:c", "Unknown event 'usdt:a:b:c'" },
		{ EVENTS "?enable=offcpu&for=soon", "'soon' is not a duration" },
		{ EVENTS "?enable=offcpu&period=often", "'often' is not a period" },
		{ EVENTS "?enable=offcpu&period=0s", "is not a period" },
		{ EVENTS "?disable=offcpu&for=1h", "go with 'enable' alone" },
		{ EVENTS "?enable=offcpu&last=1h", "Unknown parameter 'last'" },
	};
	struct engine *engine = *state;

	start_api(engine, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		CHECK_REPLY(engine, post(engine, wrong[i].target), 400, wrong[i].why);
	assert_int_equal(engine->orders, 0);
	/* The engine's own reasons. */
	engine->order_error = -EPERM;
	CHECK_REPLY(engine, post(engine, EVENTS "?enable=offcpu"), 403, "not now.");
	engine->order_error = -EINVAL;
	CHECK_REPLY(engine, post(engine, EVENTS "?enable=offcpu"), 400, "not now.");
	engine->order_error = -ENOSPC;
	CHECK_REPLY(engine, post(engine, EVENTS "?enable=offcpu"), 503, "not now.");
}

static void let_guests_in(struct api_options *options)
{
	options->access.allows_self = true;
}

static void guests_order_nothing(void **state)
{
	struct engine *engine = *state;
	int fd;

	start_api(engine, let_guests_in);
	assert_int_equal(setgroups(0, NULL), 0);
	assert_int_equal(setegid(1000), 0);
	assert_int_equal(seteuid(1000), 0);
	fd = post(engine, EVENTS "?enable=offcpu");
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(setegid(0), 0);
	CHECK_REPLY(engine, fd, 403, "usermod -aG");
	assert_int_equal(engine->orders, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_ENGINE(events_are_listed),
		WITH_ENGINE(orders_reach_the_engine),
		WITH_ENGINE(events_of_perf_reach_it_by_name),
		WITH_ENGINE(wrong_orders_are_refused),
		AS_ROOT_WITH_ENGINE(guests_order_nothing),
	};

	if (argc > 1 && strcmp(argv[1], "answer") == 0)
		return answer_role();
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
