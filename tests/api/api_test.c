/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/api.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "tests/api/api_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <dirent.h>

static void the_index_lists_the_routes(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine, ask(engine, "/"), 200, "GET /api/v1/profile?", "GET /metrics\n");
	CHECK_REPLY(engine, ask(engine, "/debug/pprof/"), 200, "profile: CPU profile");
	CHECK_REPLY(engine, ask(engine, "/nothing"), 404, "'/nothing'");
}

static void the_status_has_three_formats(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine, ask(engine, "/api/v1/status"), 200,
		"Content-Type: application/json\r\n",
		"\r\n\r\n{\"service\":{\"version\":\"0.1.0\",");
	CHECK_REPLY(engine, ask(engine, "/api/v1/status?format=json"), 200, "\"rate_hz\":99,");
	CHECK_REPLY(engine, ask(engine, "/api/v1/status?format=text"), 200,
		"Content-Type: text/plain; charset=utf-8\r\n", "\r\n\r\npilotlight 0.1.0, ");
	CHECK_REPLY(engine, ask(engine, "/api/v1/status?format=xml"), 400, "Unknown format 'xml'");
	CHECK_REPLY(engine, ask(engine, "/api/v1/status?fromat=text"), 400, "'fromat'");
	CHECK_REPLY(engine, ask(engine, "/metrics?any=thing"), 200,
		"Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n",
		"\npilotlight_http_requests_total 6\n",
		"\npilotlight_http_responses_total{code=\"4xx\"} 2\n",
		"\npilotlight_queries_answered_total 0\n");
}

static void counters_are_the_servers(void **state)
{
	struct http_counters counters;
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine, ask(engine, "/"), 200, "");
	api_counters(engine->api, &counters);
	assert_int_equal(counters.requests, 1);
	assert_int_equal(counters.statuses[2], 1);
}

static size_t count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	(void)closedir(folder);
	return count;
}

static void failing_allocations_leave_the_listeners(void **state)
{
	struct engine *engine = *state;
	struct http_listener listener = begin_engine(engine);
	const struct api_options options = engine_options(engine, &listener);
	size_t descriptors = count_descriptors();
	struct fault fault = { 0 };

	assert_true(FAIL_EACH_ALLOCATION(api_new(&options, &engine->api, &fault), -ENOMEM,
			    fault.text[0] && !engine->api && count_descriptors() == descriptors,
			    0) >= 3);
	CHECK_REPLY(engine, ask(engine, "/"), 200, "");
	end_engine(engine);
	assert_int_equal(count_descriptors(), descriptors - 1);
}

/* Whatever is missing, the client has an answer or none, and the next one has his. */
static void failing_allocations_end_a_request_and_no_more(void **state)
{
	static const char *const targets[] = { "/api/v1/profile?comm=echo&unit=a",
		"/api/v1/diff?comm=refuse+404", "/metrics", "/api/v1/status?format=text",
		"/api/v1/status" };
	struct engine *engine = *state;
	size_t descriptors;

	start_api(engine, NULL);
	CHECK_REPLY(engine, ask(engine, targets[0]), 200, "comm=echo");
	descriptors = count_descriptors();
	for (size_t i = 0; i < ARRAY_SIZE(targets); i++)
		for (size_t n = 0;; n++) {
			int fd = ask(engine, targets[i]);
			bool has_failed;
			char *reply;

			/* Not what receive() allocates, which comes first. */
			fail_allocation(n + 1);
			reply = receive(engine, fd);
			has_failed = allocation_failed();
			assert_null(engine->api->first);
			assert_int_equal(engine->api->running, 0);
			if (has_failed && *reply)
				assert_true(strncmp(reply, "HTTP/1.1 503 ", 13) == 0 ||
					    strstr(reply, "\r\nContent-Length: 0\r\n"));
			free(reply);
			assert_int_equal(count_descriptors(), descriptors);
			if (!has_failed) {
				assert_true(n >= 4);
				break;
			}
		}
	CHECK_REPLY(engine, ask(engine, targets[0]), 200, "comm=echo");
}

static void failing_allocations_end_a_new_profile_and_no_more(void **state)
{
	struct engine *engine = *state;
	size_t n;

	start_api(engine, NULL);
	for (n = 0;; n++) {
		int fd = ask(engine, "/debug/pprof/profile?seconds=600");
		bool has_failed;
		char *reply;

		wait_for_queries(engine, QUERY_RECORDING, 1);
		engine->api->first->end_ns = clock_realtime_ns();
		engine->api->first->deadline_ns = 0;
		fail_allocation(n + 1);
		reply = receive(engine, fd);
		has_failed = allocation_failed();
		assert_null(engine->api->first);
		if (!has_failed)
			assert_int_equal(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
		else if (*reply)
			assert_int_equal(strncmp(reply, "HTTP/1.1 503 ", 13), 0);
		free(reply);
		if (!has_failed)
			break;
	}
	assert_true(n >= 4);
}

static unsigned lines_logged, last_lines;

static int count_line(const struct log_event *event, const char *text)
{
	(void)event;
	lines_logged += strstr(text, "refused to user") != NULL;
	last_lines += strstr(text, "no more such messages for a minute") != NULL;
	return 1;
}

static void refusals_do_not_fill_the_log(void **state)
{
	struct engine *engine = *state;

	lines_logged = last_lines = 0;
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(count_line);
	start_api(engine, NULL);
	for (int i = 0; i < 25; i++)
		CHECK_REPLY(engine, ask(engine, "/api/v1/profile?nuit=x"), 400, "'nuit'");
	assert_int_equal(lines_logged, 10);
	assert_int_equal(last_lines, 1);
	assert_int_equal(engine->api->queries.refused, 25);
	/* In the next minute they are again. */
	engine->api->log.refusals[0].since_ns -= 61ULL * NSEC_PER_SEC;
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?nuit=x"), 400, "'nuit'");
	assert_int_equal(lines_logged, 11);
	end_engine(engine);
	log_set_sink(NULL);
	log_set_level(LOG_LEVEL_WARNING);
}

static unsigned answers_logged;

/* Who asked, for what, and what came of it: as fields, and for people. */
static int check_answer(const struct log_event *event, const char *text)
{
	char expected[6][32];
	const char *const names[] = { "PATH", "STATUS", "BYTES", "PEER", "PEER_UID", "PEER_PID" };

	if (!event->id || strcmp(event->id, "7f3a1c5e92d04b8ab6e1d0c94f5a2e06") != 0)
		return 1;
	answers_logged++;
	assert_int_equal(event->level, LOG_LEVEL_INFO);
	(void)snprintf(expected[0], sizeof(expected[0]), "/api/v1/profile");
	(void)snprintf(expected[1], sizeof(expected[1]), "200");
	(void)snprintf(expected[2], sizeof(expected[2]), "1000");
	(void)snprintf(expected[3], sizeof(expected[3]), "unix");
	(void)snprintf(expected[4], sizeof(expected[4]), "%u", (unsigned)getuid());
	(void)snprintf(expected[5], sizeof(expected[5]), "%d", (int)getpid());
	assert_int_equal(event->field_count, 6);
	for (size_t i = 0; i < 6; i++) {
		assert_string_equal(event->fields[i].name, names[i]);
		assert_string_equal(event->fields[i].value, expected[i]);
	}
	assert_non_null(strstr(text, "'/api/v1/profile' answered to user "));
	assert_non_null(strstr(text, " with status 200, 1000 bytes"));
	assert_int_equal(
		strstr(text, "no more such messages for a minute") != NULL, answers_logged == 10);
	return 1;
}

static void profiles_that_are_answered_are_logged(void **state)
{
	struct engine *engine = *state;

	answers_logged = 0;
	log_set_level(LOG_LEVEL_INFO);
	log_set_sink(check_answer);
	start_api(engine, NULL);
	CHECK_REPLY(engine, ask(engine, "/metrics"), 200, "pilotlight_");
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=refuse+404"), 404, "not to be had");
	assert_int_equal(answers_logged, 0);
	for (int i = 0; i < 12; i++)
		CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=many+1000"), 200, "mmmm");
	assert_int_equal(answers_logged, 10);
	engine->api->log.answers[0].since_ns -= 61ULL * NSEC_PER_SEC;
	CHECK_REPLY(engine, ask(engine, "/api/v1/profile?comm=many+1000"), 200, "mmmm");
	assert_int_equal(answers_logged, 11);
	end_engine(engine);
	log_set_sink(NULL);
	log_set_level(LOG_LEVEL_WARNING);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_ENGINE(the_index_lists_the_routes),
		WITH_ENGINE(the_status_has_three_formats),
		WITH_ENGINE(counters_are_the_servers),
		WITH_ENGINE(refusals_do_not_fill_the_log),
		WITH_ENGINE(profiles_that_are_answered_are_logged),
		WITH_ENGINE(failing_allocations_leave_the_listeners),
		WITH_ENGINE(failing_allocations_end_a_request_and_no_more),
		WITH_ENGINE(failing_allocations_end_a_new_profile_and_no_more),
	};

	if (argc > 1 && strcmp(argv[1], "answer") == 0)
		return answer_role();
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
