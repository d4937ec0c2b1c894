/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Metrics of the fixture's windows: samples of 10 ms in prog's one function. */
#include "answer/answer_metrics.h"
#include "tests/answer/answer_fixture.h"
#include "tests/harness/failing_allocation.h"
#include "tests/harness/files.h"

static int set_up(void **state)
{
	int r = answer_fixture_set_up(state);
	struct answer_fixture *fixture = *state;

	fixture->request.kind = ANSWER_METRICS;
	return r;
}

/* The values as text, in milliseconds: "0 selected 150, 0 matched alpha.service=120". */
static void expect(const struct answer_fixture *fixture, const char *expected)
{
	static const char *const kinds[] = { "?", "selected", "unnamed", "matched" };
	struct answer_metric_value value;
	char text[2048] = "";

	answer_fixture_expect(fixture, 200, "");
	assert_int_equal(fixture->output_bytes % sizeof(value), 0);
	for (size_t i = 0; i < fixture->output_bytes / sizeof(value); i++) {
		memcpy(&value, fixture->output + i * sizeof(value), sizeof(value));
		assert_true(value.kind >= 1 && value.kind <= 3);
		if (value.ns > 0)
			(void)sprintf(text + strlen(text), "%u %s %s=%u, ", value.metric,
				kinds[value.kind], value.label, (unsigned)(value.ns / 1000000));
	}
	assert_string_equal(text, expected);
}

static void each_metric_has_its_values(void **state)
{
	struct answer_fixture *fixture = *state;

	/* The first has neither selection nor pattern. */
	ASK(fixture, "from", "yesterday 10:00", "to", "10:01", "metric", "all", "metric", "ours",
		"select", "unit:alpha.service", "function", fixture->function, "metric", "kernel",
		"function", "^do_", "count", "self", "by", "unit");
	expect(fixture, "0 selected =150, 0 matched =150, 1 selected =120, 1 matched =120, 2 "
			"selected =150, 2 unnamed =100, 2 matched alpha.service=50, ");
}

static void groups_beyond_the_bound_are_together(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "from", "yesterday 10:00", "metric", "m", "by", "comm", "series", "1");
	expect(fixture, "0 selected =170, 0 matched alpha=120, 0 matched [other]=50, ");
}

static void what_is_wrong_is_refused(void **state)
{
	static const struct {
		const char *pairs[5];
		const char *says;
	} cases[] = {
		{ { "function", "x" }, "function comes before a metric" },
		{ { "metric", "m", "function", "x(" }, "at character 2" },
		{ { "metric", "m", "select", "x" }, "PARAMETER:VALUE" },
		{ { "metric", "m", "select", "pid:1" }, "does not select here" },
		{ { "metric", "m", "by", "colour" }, "none, unit, container or comm" },
		{ { "metric", "m", "series", "65" }, "1 to 64" },
		{ { "metric", "m", "series", "0" }, "1 to 64" },
		{ { "metric", "m", "series", "-1" }, "1 to 64" },
	};
	struct answer_fixture *fixture = *state;
	const char *many[36] = { NULL };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		answer_fixture_make(fixture, cases[i].pairs);
		answer_fixture_expect(fixture, 400, cases[i].says);
	}
	for (size_t i = 0; i < 34; i++)
		many[i] = i % 2 ? "m" : "metric";
	answer_fixture_make(fixture, many);
	answer_fixture_expect(fixture, 400, "more than 16 metrics");
	fixture->request.kind = ANSWER_PROFILE;
	ASK(fixture, "metric", "m");
	answer_fixture_expect(fixture, 400, "unknown parameter");
	fixture->request.kind = ANSWER_METRICS;
	fixture->request.scope = ANSWER_OWN;
	fixture->request.owner = 1001;
	ASK(fixture, "metric", "m");
	answer_fixture_expect(fixture, 500, "invalid request");
}

/* Then the rest of the time that was asked for is not counted as measured. */
static void a_damaged_day_covers_no_time(void **state)
{
	struct answer_fixture *fixture = *state;
	char path[DAY_PATH_BYTES];

	ASK(fixture, "from", "yesterday 10:00", "metric", "m");
	expect(fixture, "0 selected =170, 0 matched =170, ");
	assert_int_equal(fixture->reply.covered_ns, SECONDS(30));
	assert_int_equal(day_file_path(path, fixture->history, FIXTURE_DAY), 0);
	write_file(fixture->history, strrchr(path, '/') + 1, "no database at all, but long enough");
	ASK(fixture, "from", "yesterday 10:00", "metric", "m");
	expect(fixture, "0 selected =20, 0 matched =20, ");
	assert_int_equal(fixture->reply.covered_ns, SECONDS(10));
}

static void without_windows_there_is_no_answer(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "from", "2026-08-01", "to", "2026-08-02", "metric", "m");
	answer_fixture_expect(fixture, 404, "");
}

static int status_without_memory(struct answer_fixture *fixture)
{
	answer_fixture_begin(fixture);
	answer_make(&fixture->request, fixture->output_fd, &fixture->reply);
	return fixture->reply.status;
}

static void failing_allocations_are_reported(void **state)
{
	static const char *const pairs[] = { "from", "yesterday 10:00", "metric", "m", "select",
		"comm:alpha", "function", "main", "by", "unit", NULL };
	struct answer_fixture *fixture = *state;

	answer_fixture_set(fixture, pairs);
	assert_true(FAIL_EACH_ALLOCATION(status_without_memory(fixture), 413, true, 200) >= 10);
}

#define WITH_FIXTURE(test) cmocka_unit_test_setup_teardown(test, set_up, answer_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_FIXTURE(each_metric_has_its_values),
		WITH_FIXTURE(groups_beyond_the_bound_are_together),
		WITH_FIXTURE(what_is_wrong_is_refused),
		WITH_FIXTURE(a_damaged_day_covers_no_time),
		WITH_FIXTURE(without_windows_there_is_no_answer),
		WITH_FIXTURE(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
