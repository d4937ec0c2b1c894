/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Incidents of the fixture's history: the list, and their time as a selection. */
#include "store/incident_log.h"
#include "tests/answer/answer_fixture.h"
#include "tests/harness/failing_allocation.h"

enum { SECOND = 1000000000 };

static void add_by(
	const struct answer_fixture *fixture, uint64_t time_ns, const char *cause, const char *text)
{
	struct incident_list list;
	struct incident incident = {
		.time_ns = time_ns,
		.kept_from_ns = time_ns - 2ULL * SECOND,
		.kept_to_ns = time_ns + 2ULL * SECOND,
	};

	(void)snprintf(incident.cause, sizeof(incident.cause), "%s", cause);
	incident_set_text(&incident, text);
	assert_int_equal(incident_log_read(fixture->history, &list, NULL), 0);
	assert_int_equal(incident_log_add(fixture->history, &list, &incident, NULL), 0);
	incident_list_done(&list);
}

static void add(const struct answer_fixture *fixture, uint64_t time_ns, const char *text)
{
	add_by(fixture, time_ns, "manual", text);
}

static int set_up(void **state)
{
	int r = answer_fixture_set_up(state);
	struct answer_fixture *fixture = *state;

	add(fixture, ANSWER_FIXTURE_SECOND + 5ULL * SECOND, "deploy 42");
	add(fixture, ANSWER_FIXTURE_NEXT + 5ULL * SECOND, "\"quoted\"");
	return r;
}

static void all_are_listed(void **state)
{
	struct answer_fixture *fixture = *state;

	fixture->request.kind = ANSWER_INCIDENTS;
	ASK(fixture, NULL);
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "    1  2026-09-04 10:00:15"));
	assert_non_null(strstr(fixture->output, "manual           deploy 42\n"));
	ASK(fixture, "format", "json");
	answer_fixture_expect(fixture, 200, "");
	assert_string_equal(fixture->reply.content_type, "application/json");
	assert_non_null(strstr(fixture->output, "\"number\":2,"));
	assert_non_null(strstr(fixture->output, "\"text\":\"\\\"quoted\\\"\"}]}"));
	ASK(fixture, "format", "svg");
	answer_fixture_expect(fixture, 400, "txt or json");
	ASK(fixture, "last", "1h");
	answer_fixture_expect(fixture, 400,
		"last is only for a profile, a difference, a heat map or a time line;");
	ASK(fixture, "rows", "1");
	answer_fixture_expect(fixture, 400, "rows is only for");
}

static void none_is_a_sentence(void **state)
{
	struct answer_fixture *fixture = *state;

	(void)strcat(fixture->request.history, "/none");
	fixture->request.kind = ANSWER_INCIDENTS;
	ASK(fixture, NULL);
	answer_fixture_expect(fixture, 200, "");
	assert_string_equal(fixture->output, "No incidents.\n");
	ASK(fixture, "format", "json");
	assert_string_equal(fixture->output, "{\"incidents\":[]}\n");
}

static void one_can_be_asked_for(void **state)
{
	struct answer_fixture *fixture = *state;

	fixture->request.kind = ANSWER_INCIDENTS;
	ASK(fixture, "incident", "2");
	answer_fixture_expect(fixture, 200, "");
	assert_null(strstr(fixture->output, "deploy 42"));
	assert_non_null(strstr(fixture->output, "    2  2026-09-05 00:00:05"));
	ASK(fixture, "incident", "3");
	answer_fixture_expect(fixture, 400, "no such incident");
}

/* It lasted for seconds. The user's is compared whole: both windows of that day are within. */
static void a_threshold_is_compared_around_its_time(void **state)
{
	struct answer_fixture *fixture = *state;
	struct incident incident = { .time_ns = ANSWER_FIXTURE_SECOND + 35ULL * SECOND,
		.kept_from_ns = ANSWER_FIXTURE_FIRST,
		.kept_to_ns = ANSWER_FIXTURE_SECOND + 300ULL * SECOND,
		.cause = "unit-cpu" };
	struct incident_list list;

	assert_int_equal(incident_log_read(fixture->history, &list, NULL), 0);
	assert_int_equal(incident_log_add(fixture->history, &list, &incident, NULL), 0);
	incident_list_done(&list);
	fixture->request.kind = ANSWER_PROFILE;
	ASK(fixture, "incident", "3", "format", "folded");
	assert_int_equal(answer_fixture_count(fixture, "alpha;"), 12);
	fixture->request.kind = ANSWER_DIFFERENCE;
	/* Its window ended 25 s before. */
	ASK(fixture, "incident", "3", "format", "txt");
	answer_fixture_expect(fixture, 404,
		"no history of incident 3 any more, or nothing was recorded from 2026-09-04 "
		"10:00:25 to ");
}

/* It began with the history; or the windows around it are deleted. */
static void nothing_to_compare_with_is_said(void **state)
{
	static const struct {
		uint64_t time_ns;
		enum answer_kind kind;
		const char *format, *says;
	} cases[] = {
		{ ANSWER_FIXTURE_FIRST + 2ULL * SECOND, ANSWER_DIFFERENCE, "txt",
			"nothing to compare incident 3 with: no history from 2026-09-04 09:00:00 "
			"to "
			"2026-09-04 10:00:00; pilotlight flamegraph --incident 3 shows it alone" },
		{ ANSWER_FIXTURE_FIRST - 60ULL * SECOND, ANSWER_DIFFERENCE, "svg",
			"no history of incident 3 any more" },
		{ ANSWER_FIXTURE_FIRST - 60ULL * SECOND, ANSWER_PROFILE, "svg",
			"no history of incident 3 any more" },
		{ ANSWER_FIXTURE_FIRST - 60ULL * SECOND, ANSWER_HEATMAP, "svg",
			"no history of incident 3 any more" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct answer_fixture *fixture;

		assert_int_equal(answer_fixture_tear_down(state), 0);
		assert_int_equal(set_up(state), 0);
		fixture = *state;
		add(fixture, cases[i].time_ns, "early");
		fixture->request.kind = cases[i].kind;
		ASK(fixture, "incident", "3", "format", cases[i].format);
		answer_fixture_expect(fixture, 404, cases[i].says);
		if (cases[i].kind == ANSWER_DIFFERENCE) {
			ASK(fixture, "incident", "3", "format", "txt", "against.from",
				"yesterday 09:00:00", "against.to", "09:10:00");
			answer_fixture_expect(fixture, 404, "no history");
		}
	}
}

/* Of the last hour: alpha 12, beta 3. */
static void what_a_threshold_has_found_is_compared_alone(void **state)
{
	struct answer_fixture *fixture = *state;

	add_by(fixture, ANSWER_FIXTURE_SECOND + 5ULL * SECOND, "unit-cpu",
		"alpha.service: 90.0 % of a CPU, usually 0.0 %");
	add_by(fixture, ANSWER_FIXTURE_SECOND + 5ULL * SECOND, "throttled",
		"/system.slice/alpha.service: 90.0 % of its periods (threshold 30 %)");
	add_by(fixture, ANSWER_FIXTURE_SECOND + 5ULL * SECOND, "host-cpu",
		"90.0 % (threshold 80 %)");
	fixture->request.kind = ANSWER_DIFFERENCE;
	for (uint64_t number = 3; number <= 4; number++) {
		char text[2] = { (char)('0' + number), '\0' };

		ASK(fixture, "incident", text, "format", "txt");
		answer_fixture_expect(fixture, 200, "");
		assert_non_null(strstr(fixture->output,
			number == 3 ? "unit alpha.service" : "cgroup /system.slice/alpha.service"));
		assert_non_null(strstr(fixture->output, "12 stored, "));
		/* By time, without being asked. */
		assert_non_null(strstr(fixture->output, "shares are of the time of all CPUs"));
	}
	/* Unless somebody selects; and of the host there is nothing to select. */
	ASK(fixture, "incident", "3", "format", "txt", "unit", "*");
	assert_non_null(strstr(fixture->output, "15 stored, "));
	ASK(fixture, "incident", "5", "format", "txt");
	assert_non_null(strstr(fixture->output, "15 stored, "));
}

static void what_is_new_is_compared_with_nothing(void **state)
{
	struct answer_fixture *fixture = *state;

	add_by(fixture, ANSWER_FIXTURE_NEXT + 5ULL * SECOND, "unit-cpu",
		"gamma.service: 90.0 % of a CPU, usually 0.0 %");
	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "incident", "3", "format", "txt", "against.from", "yesterday 10:00:00",
		"against.to", "10:00:10");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "0 stored, "));
	assert_non_null(strstr(fixture->output, "2 stored, "));
	/* A user's selection may be a mistake. */
	ASK(fixture, "incident", "3", "format", "txt", "against.from", "yesterday 10:00:00",
		"against.to", "10:00:10", "unit", "gamma");
	answer_fixture_expect(fixture, 404, "no such unit");
}

/* It is short, so it is not compressed, and says so. */
static void a_client_that_takes_gzip_gets_text(void **state)
{
	struct answer_fixture *fixture = *state;

	fixture->request.kind = ANSWER_INCIDENTS;
	fixture->request.accepts_gzip = 1;
	ASK(fixture, NULL);
	answer_fixture_expect(fixture, 200, "");
	assert_false(fixture->reply.is_gzip);
	assert_non_null(strstr(fixture->output, "deploy 42"));
}

/* The window of its time alone: 7 samples of alpha. */
static void an_incident_selects_its_time(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "incident", "1", "format", "folded");
	answer_fixture_expect(fixture, 200, "");
	assert_int_equal(answer_fixture_count(fixture, "alpha;"), 7);
	assert_int_equal(answer_fixture_count(fixture, "beta;"), 0);
	ASK(fixture, "incident", "2", "format", "folded");
	assert_int_equal(answer_fixture_count(fixture, "gamma;"), 2);
}

static void it_is_compared_with_the_hour_before(void **state)
{
	struct answer_fixture *fixture = *state;

	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "incident", "1", "format", "txt");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "7 stored, "));
	/* Another time may be chosen: that of the next day's window. */
	ASK(fixture, "incident", "1", "format", "txt", "against.from", "00:00:00", "against.to",
		"00:00:10");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "2 stored, "));
}

static void mistakes_are_reported(void **state)
{
	static const struct {
		const char *pairs[5];
		const char *says;
	} cases[] = {
		{ { "incident", "3" }, "no such incident" },
		{ { "incident", "" }, "no such incident" },
		{ { "incident", "1x" }, "no such incident" },
		{ { "incident", "99999999999999999999" }, "no such incident" },
		{ { "incident", "1", "incident", "2" }, "incident is given twice" },
		{ { "incident", "1", "last", "1h" }, "last and from" },
	};
	struct answer_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		answer_fixture_make(fixture, cases[i].pairs);
		answer_fixture_expect(fixture, 400, cases[i].says);
	}
}

static void guests_see_none(void **state)
{
	struct answer_fixture *fixture = *state;

	fixture->request.scope = ANSWER_OWN;
	fixture->request.owner = 1001;
	ASK(fixture, "incident", "1");
	answer_fixture_expect(fixture, 400, "not for you");
	fixture->request.kind = ANSWER_INCIDENTS;
	ASK(fixture, NULL);
	answer_fixture_expect(fixture, 500, "invalid request");
}

static void a_time_line_has_those_of_its_time(void **state)
{
	struct answer_fixture *fixture = *state;

	fixture->request.kind = ANSWER_TIMELINE;
	ASK(fixture, "from", "yesterday 10:00", "to", "10:01");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "\"incidents\":[{\"number\":1,"));
	assert_null(strstr(fixture->output, "\"number\":2,"));
}

/* The page asks for it as the incident's own comparison selects it. */
static void a_subject_can_be_asked_for(void **state)
{
	struct answer_fixture *fixture = *state;

	add_by(fixture, ANSWER_FIXTURE_SECOND + 5ULL * SECOND, "unit-cpu",
		"alpha.service: 90.0 % of a CPU, usually 0.0 %");
	fixture->request.kind = ANSWER_INCIDENTS;
	ASK(fixture, "format", "json");
	assert_non_null(strstr(fixture->output, "\"subject\":[\"unit\",\"alpha.service\"]}]}"));
	/* A user's note has none. */
	assert_non_null(strstr(fixture->output, "\"text\":\"deploy 42\"},"));
}

static int status_without_memory(struct answer_fixture *fixture)
{
	answer_fixture_begin(fixture);
	answer_make(&fixture->request, fixture->output_fd, &fixture->reply);
	return fixture->reply.status;
}

static void failing_allocations_are_reported(void **state)
{
	static const char *const pairs[] = { "format", "json", NULL };
	struct answer_fixture *fixture = *state;

	fixture->request.kind = ANSWER_INCIDENTS;
	answer_fixture_set(fixture, pairs);
	assert_true(FAIL_EACH_ALLOCATION(status_without_memory(fixture), 413, true, 200) >= 3);
}

#define WITH_INCIDENTS(test) cmocka_unit_test_setup_teardown(test, set_up, answer_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_INCIDENTS(all_are_listed),
		WITH_INCIDENTS(a_client_that_takes_gzip_gets_text),
		WITH_INCIDENTS(none_is_a_sentence),
		WITH_INCIDENTS(one_can_be_asked_for),
		WITH_INCIDENTS(a_threshold_is_compared_around_its_time),
		WITH_INCIDENTS(nothing_to_compare_with_is_said),
		WITH_INCIDENTS(what_a_threshold_has_found_is_compared_alone),
		WITH_INCIDENTS(what_is_new_is_compared_with_nothing),
		WITH_INCIDENTS(an_incident_selects_its_time),
		WITH_INCIDENTS(it_is_compared_with_the_hour_before),
		WITH_INCIDENTS(mistakes_are_reported),
		WITH_INCIDENTS(guests_see_none),
		WITH_INCIDENTS(a_time_line_has_those_of_its_time),
		WITH_INCIDENTS(a_subject_can_be_asked_for),
		WITH_INCIDENTS(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
