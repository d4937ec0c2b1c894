/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Guests: local users who may ask for their own samples, and for nothing else. */
#include "base/array.h"
#include "tests/api/api_fixture.h"

enum { ALICE = 1000 };

static void let_guests_in(struct api_options *options)
{
	options->access.allows_self = true;
}

static void guests_ask_profiles_and_nothing_else(void **state)
{
	static const char *const refused[] = {
		"/api/v1/status",
		"/api/v1/status?format=text",
		"/api/v1/timeline?last=1h",
		"/api/v1/incidents",
		"/api/v1/incident?text=x",
		"/api/v1/events",
		"/api/v1/events?enable=offcpu",
		"/metrics",
		"/debug/pprof/",
		"/debug/pprof/profile?seconds=1",
		"/debug/pprof/profile?seconds=1&user=1000",
		"/api/v1/",
		"/api/v1/profile/",
		"/api/v1/%70rofile/x",
		"/api/v2/profile",
		"/favicon.ico",
	};
	struct engine *engine = *state;

	start_api(engine, let_guests_in);
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
		CHECK_REPLY(engine, ask_as_guest(engine, ALICE, refused[i]), 403, "usermod -aG");
	CHECK_REPLY(engine, ask_as_guest(engine, ALICE, "/"), 200, "of your own processes");
	CHECK_REPLY(engine, ask_as_guest(engine, ALICE, "/api/v1/profile?comm=echo"), 200,
		"kind 1, scope 2, owner 1001, ");
	CHECK_REPLY(engine, ask_as_guest(engine, ALICE, "/api/v1/heatmap?comm=echo"), 200,
		"kind 3, scope 2, owner 1001, ");
	CHECK_REPLY(engine,
		ask_as_guest(
			engine, ALICE, "/api/v1/diff?comm=echo&against.last=1h&user=0&scope=1"),
		400, "Unknown parameter 'scope'");
	CHECK_REPLY(engine,
		ask_as_guest(engine, ALICE, "/api/v1/diff?comm=echo&against.user=0&user=0"), 200,
		"kind 2, scope 2, owner 1001, ", ";against.user=0;user=0;");
	/* None of this ended a window. */
	assert_int_equal(engine->seal_requests, 0);
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=echo"), 200, "scope 1, owner 0, ");
	assert_int_equal(engine->seal_requests, 1);
}

static void without_the_setting_there_are_no_guests(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine, ask_as_guest(engine, ALICE, "/"), 403, "SelfAccess=yes");
	CHECK_REPLY(engine, ask_as_guest(engine, ALICE, "/api/v1/profile?comm=echo"), 403,
		"usermod -aG pilotlight");
	assert_int_equal(engine->api->queries.answered, 0);
}

/* Their queries wait, and others run at once. */
static void guests_leave_a_process_to_others(void **state)
{
	struct engine *engine = *state;
	int guests[3], fd;

	start_api(engine, let_guests_in);
	for (size_t i = 0; i < ARRAY_SIZE(guests); i++)
		guests[i] = ask_as_guest(engine, ALICE + (uid_t)i, engine->waiting_target);
	wait_for_queries(engine, QUERY_RUNNING, 1);
	wait_for_queries(engine, QUERY_QUEUED, 2);
	/* Nothing is due while guests wait. */
	assert_true(api_timeout_ns(engine->api) > NSEC_PER_SEC);
	fd = ask(engine, "/api/v1/profile?comm=echo");
	CHECK_REPLY(engine, fd, 200, "scope 1, ");
	assert_int_equal(count_queries(engine, QUERY_QUEUED), 2);
	for (size_t i = 0; i < ARRAY_SIZE(guests); i++) {
		release(engine);
		CHECK_REPLY(engine, guests[i], 200, "scope 2, ");
	}
}

/* Lines that guests cause do not use up what is there for others. */
static void guests_have_a_quota_of_the_log(void **state)
{
	struct engine *engine = *state;

	start_api(engine, let_guests_in);
	for (int i = 0; i < 12; i++) {
		CHECK_REPLY(
			engine, ask_as_guest(engine, ALICE, "/api/v1/profile?comm=echo"), 200, "");
		CHECK_REPLY(engine, ask_as_guest(engine, ALICE, "/api/v1/profile?no=1"), 400, "");
	}
	assert_int_equal(engine->api->log.answers[0].logged, 0);
	assert_int_equal(engine->api->log.refusals[0].logged, 0);
	assert_int_equal(engine->api->log.answers[1].logged, 10);
	assert_int_equal(engine->api->log.refusals[1].logged, 10);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		AS_ROOT_WITH_ENGINE(guests_ask_profiles_and_nothing_else),
		AS_ROOT_WITH_ENGINE(without_the_setting_there_are_no_guests),
		AS_ROOT_WITH_ENGINE(guests_leave_a_process_to_others),
		AS_ROOT_WITH_ENGINE(guests_have_a_quota_of_the_log),
	};

	if (argc > 1 && strcmp(argv[1], "answer") == 0)
		return answer_role();
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
