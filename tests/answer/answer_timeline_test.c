/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Time lines of the fixture's three windows of ten seconds, two of them on the day before. */
#include "tests/answer/answer_fixture.h"
#include "tests/harness/failing_allocation.h"

static int set_up(void **state)
{
	int r = answer_fixture_set_up(state);
	struct answer_fixture *fixture = *state;

	fixture->request.kind = ANSWER_TIMELINE;
	return r;
}

static void expect_json(const struct answer_fixture *fixture, const char *part)
{
	answer_fixture_expect(fixture, 200, "");
	assert_string_equal(fixture->reply.content_type, "application/json");
	if (!strstr(fixture->output, part))
		fail_msg("%s lacks %s", fixture->output, part);
}

static void windows_become_buckets(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "from", "yesterday 10:00", "to", "10:01", "buckets", "4000");
	expect_json(fixture, "{\"version\":1,\"event\":\"cpu\",\"unit\":\"seconds\","
			     "\"is_cpu\":true,");
	/* 8 and 7 samples of 10 ms. */
	expect_json(fixture, "\"amount\":[0.080,0.070],\"lost\":[0.020,0.010],"
			     "\"gap\":[0.000,0.000],\"period\":[10000000,10000000],\"boot\":[0,0]");
	assert_int_equal(fixture->reply.period_ns, 0);
}

static void short_windows_share_a_bucket(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "to", "now", "buckets", "1");
	expect_json(fixture, "\"amount\":[0.170]");
	ASK(fixture, "to", "now", "buckets", "2");
	expect_json(fixture, "\"amount\":[0.150,0.020]");
}

/* Its first window is of a boot of its own, and of another rate. */
static void boots_and_rates_are_told(void **state)
{
	static const struct fixture_sample sample = { .pid = 30, .count = 2, .comm = "gamma" };
	struct answer_fixture *fixture = *state;
	struct store_window window = { .boot_id = "another boot too" };
	struct store *store = fixture_open(fixture->history);
	struct profile *profile = fixture_profile(ANSWER_FIXTURE_NEXT + SECONDS(30), &sample, 1);
	const struct profile *profiles[] = { profile };
	struct fault fault = { 0 };

	profile->period_ns *= 2;
	assert_int_equal(store_append_all(store, &window, profiles, 1, &fault), 0);
	profile_free(profile);
	store_close(store);
	ASK(fixture, "from", "2026-09-05 00:00", "to", "now", "buckets", "4000");
	/* From the end of one window, after ten seconds, to the start of the next. */
	expect_json(
		fixture, "\"gap\":[0.000,20.000],\"period\":[10000000,20000000],\"boot\":[0,1]");
	/* One bucket has the longest of both. */
	ASK(fixture, "from", "2026-09-05 00:00", "to", "now", "buckets", "1");
	expect_json(fixture, "\"period\":[20000000],\"boot\":[1]");
}

static void another_event_has_no_windows(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "to", "now", "event", "offcpu");
	expect_json(fixture,
		"\"buckets\":{\"start\":[],\"end\":[],\"amount\":[],\"lost\":[],\"gap\":[],"
		"\"period\":[],\"boot\":[]}");
	ASK(fixture, "to", "2026-08-01");
	expect_json(fixture, "\"amount\":[]");
}

static void what_it_cannot_tell_is_refused(void **state)
{
	static const struct {
		const char *pairs[5];
		const char *says;
	} cases[] = {
		{ { "comm", "alpha" }, "comm is only for a profile, a difference" },
		{ { "build-id", "07" }, "build-id is only for a profile, a difference" },
		{ { "format", "svg" }, "format is only for a profile, a difference" },
		{ { "lines", "yes" }, "lines is only for a profile or a difference" },
		{ { "windows", "exact" }, "windows is only for a profile, a difference" },
		{ { "rows", "1" }, "rows is only for a profile or a difference" },
		{ { "incident", "1" }, "incident is only for a profile, a difference" },
		{ { "buckets", "0" }, "1 to 4000" },
		{ { "buckets", "4001" }, "1 to 4000" },
		{ { "buckets", "99999999999999999999" }, "1 to 4000" },
		{ { "buckets", "-1" }, "1 to 4000" },
		{ { "buckets", "1x" }, "1 to 4000" },
		{ { "buckets", "" }, "1 to 4000" },
		{ { "buckets", "1", "buckets", "1" }, "buckets is given twice" },
		{ { "against.last", "1h" }, "only for a difference" },
	};
	struct answer_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		answer_fixture_make(fixture, cases[i].pairs);
		answer_fixture_expect(fixture, 400, cases[i].says);
	}
	fixture->request.kind = ANSWER_PROFILE;
	ASK(fixture, "buckets", "1");
	answer_fixture_expect(fixture, 400, "buckets is only for a time line");
}

/* It tells how much others use. */
static void guests_have_none(void **state)
{
	struct answer_fixture *fixture = *state;

	fixture->request.scope = ANSWER_OWN;
	fixture->request.owner = 1001;
	ASK(fixture, "to", "now");
	answer_fixture_expect(fixture, 500, "invalid request");
}

static void a_missing_history_is_empty(void **state)
{
	struct answer_fixture *fixture = *state;

	(void)strcat(fixture->request.history, "/none");
	ASK(fixture, "to", "now");
	expect_json(fixture, "\"start\":[]");
}

static void it_is_bounded(void **state)
{
	struct answer_fixture *fixture = *state;

	fixture->request.bytes_max = 100;
	ASK(fixture, "to", "now");
	answer_fixture_expect(fixture, 413, "larger than");
}

static int status_without_memory(struct answer_fixture *fixture)
{
	answer_fixture_begin(fixture);
	answer_make(&fixture->request, fixture->output_fd, &fixture->reply);
	return fixture->reply.status;
}

static void failing_allocations_are_reported(void **state)
{
	static const char *const pairs[] = { "to", "now", NULL };
	struct answer_fixture *fixture = *state;

	answer_fixture_set(fixture, pairs);
	assert_true(FAIL_EACH_ALLOCATION(status_without_memory(fixture), 413, true, 200) >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			windows_become_buckets, set_up, answer_fixture_tear_down),
		cmocka_unit_test_setup_teardown(
			short_windows_share_a_bucket, set_up, answer_fixture_tear_down),
		cmocka_unit_test_setup_teardown(
			boots_and_rates_are_told, set_up, answer_fixture_tear_down),
		cmocka_unit_test_setup_teardown(
			another_event_has_no_windows, set_up, answer_fixture_tear_down),
		cmocka_unit_test_setup_teardown(
			what_it_cannot_tell_is_refused, set_up, answer_fixture_tear_down),
		cmocka_unit_test_setup_teardown(guests_have_none, set_up, answer_fixture_tear_down),
		cmocka_unit_test_setup_teardown(
			a_missing_history_is_empty, set_up, answer_fixture_tear_down),
		cmocka_unit_test_setup_teardown(it_is_bounded, set_up, answer_fixture_tear_down),
		cmocka_unit_test_setup_teardown(
			failing_allocations_are_reported, set_up, answer_fixture_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
