/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heat maps, and selections of parts of a second. */
#include "base/time_text.h"
#include "tests/answer/answer_fixture.h"
#include "tests/harness/failing_allocation.h"

#define MS(ms) ((ms)*1000000ULL)

/* On the day of "now": a window with times, and the fixture's without. */
#define START (ANSWER_FIXTURE_NEXT + SECONDS(20))

static void add(struct profile *profile, const struct fixture_sample *of, uint64_t at_ms,
	uint64_t last_ms, uint64_t count)
{
	const uint64_t start_ns = profile->start_ns - FIXTURE_DAY_NS + DAY_NS;
	struct profile_sample sample = {
		.count = count,
		.first_ns = start_ns + MS(at_ms),
		.last_ns = start_ns + MS(last_ms),
	};
	uint32_t location;

	assert_int_equal(fixture_thread(profile, of, &sample.thread), 0);
	assert_int_equal(profile_add_location(profile, 1, of->address, &location), 0);
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &sample.node), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	profile->accounts.fired += count;
	profile->accounts.stored[PILOTLIGHT_PATH_RING] += count;
}

/* A burst at .250 of the third second, and ten samples of another user, of which two have times. */
static void append_timed_at(const char *history, uint64_t start_ns)
{
	const struct fixture_sample burst = { .pid = 10, .address = 0x3000, .comm = "alpha<&\"" };
	const struct fixture_sample other = {
		.pid = 20, .address = 0x4000, .comm = "beta", .owner = 1002
	};
	struct profile *profile = fixture_profile(start_ns, NULL, 0);
	struct store *store = fixture_open(history);
	struct fault fault = { 0 };

	profile_keep_times(profile, profile->start_ns - FIXTURE_DAY_NS + DAY_NS);
	for (uint64_t i = 0; i < 5; i++)
		add(profile, &burst, 2250 + 10 * i, 2250 + 10 * i, 1);
	add(profile, &other, 500, 9000, 10);
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	profile_free(profile);
	store_close(store);
}

static int set_up(void **state)
{
	int r = answer_fixture_set_up(state);
	struct answer_fixture *fixture = *state;

	append_timed_at(fixture->history, START);
	fixture->request.kind = ANSWER_HEATMAP;
	return r;
}

static void expect_part(const struct answer_fixture *fixture, const char *part)
{
	answer_fixture_expect(fixture, 200, "");
	if (!strstr(fixture->output, part))
		fail_msg("%s lacks %s", fixture->output, part);
}

static void format_time(uint64_t time_ns, char text[40])
{
	(void)snprintf(text, 40, "@%llu.%09llu", (unsigned long long)(time_ns / NSEC_PER_SEC),
		(unsigned long long)(time_ns % NSEC_PER_SEC));
}

/* A calendar time with milliseconds. */
static void format_calendar(uint64_t time_ns, char text[80])
{
	const size_t used = strlen(time_text_format(time_ns, text));

	(void)snprintf(text + used, 80 - used, ".%03u", (unsigned)(time_ns / 1000000 % 1000));
}

static void a_burst_has_its_place(void **state)
{
	struct answer_fixture *fixture = *state;
	char from[40], to[40], *cells;

	format_time(START, from);
	format_time(START + SECONDS(10), to);
	ASK(fixture, "from", from, "to", to, "format", "json");
	expect_part(fixture, "{\"version\":1,\"event\":\"cpu\",\"unit\":\"seconds\",");
	expect_part(fixture, "\"column\":1.000,\"rows\":50,\"columns\":10,\"period_ns\":10000000,"
			     "\"timed\":7,\"untimed\":8,\"cells\":[");
	assert_string_equal(fixture->reply.content_type, "application/json");
	/* Two samples in a row of 20 ms: 2.240, 2.260, 2.280 and 2.300. */
	cells = strstr(fixture->output, "\"cells\":[") + strlen("\"cells\":[");
	for (size_t i = 0; i < 2 * 50 + 12; i++)
		cells = strchr(cells, ',') + 1;
	assert_memory_equal(cells, "1,2,2,0,", 8);
	ASK(fixture, "from", from, "to", to, "comm", "alpha*");
	expect_part(fixture, "role=\"img\"");
	expect_part(fixture, "00:00:2");
	assert_null(strstr(fixture->output, "<script"));
	assert_null(strstr(fixture->output, "alpha<"));
	expect_part(fixture, "comm alpha*");
	ASK(fixture, "from", from, "to", to, "format", "html");
	expect_part(fixture, "Content-Security-Policy");
	expect_part(fixture, "<table>");
	expect_part(fixture, "without 8 (53.33 %) whose times are not known");
	assert_null(strstr(fixture->output, "href"));
	assert_null(strstr(fixture->output, "url("));
}

static void guests_see_their_own(void **state)
{
	struct answer_fixture *fixture = *state;

	fixture->request.scope = ANSWER_OWN;
	fixture->request.owner = 1002;
	ASK(fixture, "last", "1h", "format", "json");
	expect_part(fixture, "\"timed\":2,\"untimed\":8,");
	fixture->request.owner = 1003;
	ASK(fixture, "last", "1h", "format", "json");
	answer_fixture_expect(fixture, 404, "");
}

static void parts_are_selected_exactly(void **state)
{
	struct answer_fixture *fixture = *state;
	char from[80], to[80];

	fixture->request.kind = ANSWER_PROFILE;
	format_calendar(START + MS(2260), from);
	format_calendar(START + MS(2290), to);
	ASK(fixture, "from", from, "to", to, "format", "folded");
	expect_part(fixture, "[libwork.so+0x3000] 3\n");
	assert_null(strstr(fixture->output, "beta"));
	ASK(fixture, "from", from, "to", to, "format", "txt");
	expect_part(fixture, "without 8 samples that have no time: ");
	expect_part(fixture, "22.260 to ");
	/* As whole windows. */
	ASK(fixture, "from", from, "to", to, "format", "folded", "windows", "overlapping");
	expect_part(fixture, "[libwork.so+0x3000] 5\n");
	/* The other way round. */
	format_time(START + MS(2260), from);
	format_time(START + MS(2290), to);
	ASK(fixture, "from", from, "to", to, "format", "folded");
	expect_part(fixture, "[libwork.so+0x3000] 5\n");
	ASK(fixture, "from", from, "to", to, "format", "folded", "windows", "exact");
	expect_part(fixture, "[libwork.so+0x3000] 3\n");
}

static void whole_windows_are_not_cut(void **state)
{
	struct answer_fixture *fixture = *state;
	char from[80], to[80];

	format_calendar(ANSWER_FIXTURE_NEXT + MS(10), from);
	format_calendar(ANSWER_FIXTURE_NEXT + MS(20), to);
	fixture->request.kind = ANSWER_PROFILE;
	ASK(fixture, "from", from, "to", to);
	answer_fixture_expect(fixture, 404,
		"no times of samples from 2026-09-05 00:00:00 to 2026-09-05 00:00:10, ");
	answer_fixture_expect(fixture, 404, "but from 2026-09-05 00:00:20 on; ");
	fixture->request.kind = ANSWER_HEATMAP;
	ASK(fixture, "from", from, "to", to);
	answer_fixture_expect(fixture, 404,
		"no times of samples from 2026-09-05 00:00:00 to 2026-09-05 00:00:10, ");
	ASK(fixture, "from", from, "to", to, "comm", "nobody");
	answer_fixture_expect(fixture, 404, "comm");
}

/* A window of another day keeps its times, as that of an incident does. */
static void the_time_without_times_is_named(void **state)
{
	struct answer_fixture *fixture = *state;
	char from[80], to[80];

	fixture->request.kind = ANSWER_PROFILE;
	append_timed_at(fixture->history, ANSWER_FIXTURE_FIRST - SECONDS(60));
	format_calendar(ANSWER_FIXTURE_SECOND + MS(5010), from);
	format_calendar(ANSWER_FIXTURE_SECOND + MS(5020), to);
	ASK(fixture, "from", from, "to", to);
	answer_fixture_expect(fixture, 404,
		"no times of samples from 2026-09-04 10:00:10 to 2026-09-04 10:00:20, ");
	answer_fixture_expect(fixture, 404, "but from 2026-09-05 00:00:20 on; ");
}

static void what_lives_has_no_times(void **state)
{
	struct answer_fixture *fixture = *state;
	char from[80], to[80];

	format_calendar(START + MS(10), from);
	format_calendar(START + MS(20), to);
	ASK(fixture, "last", "1h", "event", "kmem:live");
	answer_fixture_expect(fixture, 400, "kmem:live counts what lives");
	fixture->request.kind = ANSWER_PROFILE;
	ASK(fixture, "from", from, "to", to, "event", "heap:live");
	answer_fixture_expect(fixture, 400, "heap:live counts what lives");
	ASK(fixture, "from", from, "to", to, "event", "heap:live", "windows", "overlapping");
	answer_fixture_expect(fixture, 404, "no event \"heap:live\"");
}

/* The fixture's windows of the day before keep none. */
static void times_are_exported(void **state)
{
	struct answer_fixture *fixture = *state;
	char from[40], to[40];

	fixture->request.kind = ANSWER_PROFILE;
	format_time(START, from);
	format_time(START + SECONDS(10), to);
	ASK(fixture, "from", from, "to", to, "format", "otlp", "times", "yes");
	answer_fixture_expect(fixture, 200, "");
	ASK(fixture, "from", from, "to", to, "format", "pprof", "times", "yes");
	answer_fixture_expect(fixture, 200, "");
	format_time(ANSWER_FIXTURE_FIRST, from);
	format_time(ANSWER_FIXTURE_SECOND, to);
	ASK(fixture, "from", from, "to", to, "format", "pprof", "times", "no");
	answer_fixture_expect(fixture, 200, "");
	ASK(fixture, "from", from, "to", to, "format", "pprof", "times", "yes");
	answer_fixture_expect(fixture, 404, "keeps no times of these samples");
}

static void what_it_cannot_draw_is_refused(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "format", "pprof");
	answer_fixture_expect(fixture, 400, "svg, html or json");
	ASK(fixture, "rows", "5");
	answer_fixture_expect(fixture, 400, "rows is only for a profile or a difference;");
	ASK(fixture, "below", "12");
	answer_fixture_expect(fixture, 400, "below is only for a profile;");
	ASK(fixture, "span", "1111222233334444");
	answer_fixture_expect(fixture, 400, "span is only for a profile or a difference;");
	ASK(fixture, "windows", "other");
	answer_fixture_expect(fixture, 400, "overlapping, ended or exact");
	ASK(fixture, "against.last", "1h");
	answer_fixture_expect(fixture, 400, "only for a difference");
	ASK(fixture, "to", "2026-08-01");
	answer_fixture_expect(fixture, 404, "no history");
}

static int status_without_memory(struct answer_fixture *fixture)
{
	answer_fixture_begin(fixture);
	answer_make(&fixture->request, fixture->output_fd, &fixture->reply);
	return fixture->reply.status;
}

static void failing_allocations(void **state)
{
	static const char *const pairs[] = { "last", "1h", "format", "html", NULL };
	struct answer_fixture *fixture = *state;

	answer_fixture_set(fixture, pairs);
	assert_true(FAIL_EACH_ALLOCATION(status_without_memory(fixture), 413, true, 200) >= 3);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, answer_fixture_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_burst_has_its_place),
		TEST(guests_see_their_own),
		TEST(parts_are_selected_exactly),
		TEST(whole_windows_are_not_cut),
		TEST(the_time_without_times_is_named),
		TEST(what_lives_has_no_times),
		TEST(times_are_exported),
		TEST(what_it_cannot_draw_is_refused),
		TEST(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
