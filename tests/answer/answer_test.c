/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is answered, and to whom. answer_errors_test.c tests refusals and failures. */
#include "tests/answer/answer_fixture.h"

static void everything_is_answered_with_names(void **state)
{
	struct answer_fixture *fixture = *state;
	char stack[256];

	ASK(fixture, "last", "1d", "format", "folded");
	answer_fixture_expect(fixture, 200, "");
	assert_string_equal(fixture->reply.content_type, "text/plain; charset=utf-8");
	assert_int_equal(fixture->reply.covered_ns, SECONDS(30));
	assert_int_equal(fixture->reply.period_ns, FIXTURE_PERIOD);
	(void)snprintf(stack, sizeof(stack), "alpha;%s;[libwork.so+0x3000];do_work_[k] 5\n",
		fixture->function);
	assert_non_null(strstr(fixture->output, stack));
	assert_int_equal(answer_fixture_count(fixture, "alpha;"), 12);
	assert_int_equal(answer_fixture_count(fixture, "beta;"), 3);
	assert_int_equal(answer_fixture_count(fixture, "gamma;"), 2);
	assert_int_equal(answer_fixture_count(fixture, "[lost: ring full]"), 4);
}

/* A pprof profile is compressed, so the formats that can be searched are. */
static void only_own_samples_are_answered(void **state)
{
	static const char *const formats[] = { "folded", "txt", "svg" };
	struct answer_fixture *fixture = *state;

	fixture->request.scope = ANSWER_OWN;
	fixture->request.owner = 1001;
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		ASK(fixture, "last", "1d", "format", formats[i]);
		answer_fixture_expect(fixture, 200, "");
		assert_non_null(strstr(fixture->output, "do_work"));
		assert_null(strstr(fixture->output, "beta"));
		assert_null(strstr(fixture->output, "gamma"));
		assert_null(strstr(fixture->output, "[lost:"));
	}
	ASK(fixture, "last", "1d", "format", "folded");
	assert_int_equal(answer_fixture_count(fixture, ""), 12);
	assert_int_equal(answer_fixture_count(fixture, "alpha;"), 12);
	ASK(fixture, "last", "1d", "format", "txt");
	/* Nothing of the whole of 17 stored and 4 lost. */
	assert_non_null(
		strstr(fixture->output, "12 fired = 12 stored + 0 idle + 0 filtered + 0 lost"));
	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "last", "1d", "against.from", "yesterday 10:00", "against.to", "10:00:10",
		"format", "txt");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "12 stored, 0 lost"));
	assert_non_null(strstr(fixture->output, "5 stored, 0 lost"));
	assert_null(strstr(fixture->output, "beta"));
}

static void parameters_do_not_widen_what_is_own(void **state)
{
	static const struct {
		const char *pairs[9];
		uint64_t count; /* 0: refused */
	} cases[] = {
		{ { "user", "1000" }, 12 },
		{ { "user", "0" }, 0 },
		{ { "user", "1001" }, 0 },
		{ { "user", "1001", "user", "1000" }, 12 },
		{ { "comm", "beta" }, 0 },
		{ { "comm", "*" }, 12 },
		{ { "pid", "20" }, 0 },
		{ { "unit", "gamma" }, 0 },
		{ { "build-id", "c" }, 5 }, /* of the kernel */
		{ { "build-id", "0123" }, 0 },
	};
	struct answer_fixture *fixture = *state;

	fixture->request.scope = ANSWER_OWN;
	fixture->request.owner = 1001;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *pairs[16] = { "last", "1d", "format", "folded" };

		memcpy(&pairs[4], cases[i].pairs, sizeof(cases[i].pairs));
		answer_fixture_make(fixture, pairs);
		if (cases[i].count > 0) {
			answer_fixture_expect(fixture, 200, "");
			assert_int_equal(answer_fixture_count(fixture, ""), cases[i].count);
			continue;
		}
		answer_fixture_expect(fixture, 404, "");
		/* The names of others are not suggested. */
		for (size_t n = 0; n < 2; n++) {
			const char *name = n ? "gamma" : "beta";
			bool is_asked = strcmp(cases[i].pairs[1], name) == 0;

			assert_true(is_asked || !strstr(fixture->reply.text, name));
		}
	}
}

static void a_request_without_a_scope_is_refused(void **state)
{
	static const uint32_t cases[][2] = { { 0, 0 }, { 0, 1001 }, { ANSWER_ALL, 1001 },
		{ ANSWER_OWN, 0 }, { 3, 1001 } };
	struct answer_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture->request.scope = cases[i][0];
		fixture->request.owner = cases[i][1];
		ASK(fixture, "last", "1d");
		answer_fixture_expect(fixture, 500, "invalid request");
	}
}

/* A binary without a build-id, and one whose owner is not trusted beside a trusted one of its. */
static void binaries_are_named_by_what_their_files_are(void **state)
{
	struct answer_fixture *fixture = *state;
	static const struct {
		enum pilotlight_symbol_identity_kind kind;
		uint8_t build_id;
		const char *comm;
	} cases[] = {
		{ PILOTLIGHT_SYMBOL_HTLHASH, 0, "hashed" },
		{ PILOTLIGHT_SYMBOL_OWNED, 7, "owned" },
		{ PILOTLIGHT_SYMBOL_OWNED, 0, "neither" },
	};
	struct store *store = fixture_open(fixture->history);
	char functions[ARRAY_SIZE(cases)][80], stack[128];

	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct fixture_sample sample = {
			.pid = 40, .address = 0x3000, .count = 2 + i, .comm = cases[i].comm
		};
		struct symbol_identity symbols = cache_fixture_identity(100 + i);

		symbols.kind = cases[i].kind;
		symbols.id.size = 16;
		memset(symbols.id.bytes + 16, 0, BUILD_ID_BYTES - 16);
		assert_int_equal(cache_fixture_store(fixture->cache.cache, &symbols,
					 PILOTLIGHT_SYMBOL_RANK_BINARY, 0),
			0);
		cache_fixture_function(&symbols, PILOTLIGHT_SYMBOL_RANK_BINARY, functions[i]);
		answer_fixture_append_all(store, ANSWER_FIXTURE_NEXT + SECONDS(10 * (i + 1)),
			&sample, 1, cases[i].build_id, &symbols);
	}
	store_close(store);
	ASK(fixture, "last", "1d", "format", "folded");
	answer_fixture_expect(fixture, 200, "");
	for (uint32_t i = 0; i < ARRAY_SIZE(cases); i++) {
		/* Of the fixture's build-id there is a debug file's, which is better. */
		(void)snprintf(stack, sizeof(stack), "%s;%s;", cases[i].comm,
			cases[i].build_id ? fixture->function : functions[i]);
		assert_int_equal(answer_fixture_count(fixture, stack), 2 + i);
	}
	assert_int_equal(answer_fixture_count(fixture, "alpha;"), 12);
}

static void without_a_cache_there_are_addresses(void **state)
{
	struct answer_fixture *fixture = *state;

	(void)strcpy(fixture->request.symbol_cache, "");
	ASK(fixture, "last", "1d", "format", "folded");
	assert_int_equal(answer_fixture_count(fixture, "alpha;" PROG ";"), 12);
	(void)strcpy(fixture->request.symbol_cache, "/proc/none/such");
	ASK(fixture, "last", "1d", "format", "folded");
	assert_int_equal(answer_fixture_count(fixture, "alpha;" PROG ";"), 12);
}

static void each_parameter_selects(void **state)
{
	static const struct {
		const char *pairs[9];
		uint64_t alpha, beta, gamma;
	} cases[] = {
		{ { "last", "1min" }, 0, 0, 2 },
		{ { "from", "yesterday 10:00", "to", "10:00:10" }, 5, 3, 0 },
		{ { "from", "yesterday 10:00:10", "to", "10:00:20" }, 7, 0, 0 },
		{ { "from", "@1788516010.5", "to", "@1788516011" }, 7, 0, 0 },
		{ { "to", "now", "unit", "alpha" }, 12, 0, 0 },
		{ { "to", "now", "unit", "alpha", "unit", "b*" }, 12, 3, 0 },
		{ { "to", "now", "slice", "system" }, 12, 3, 2 },
		{ { "to", "now", "cgroup", "/system.slice/beta.service" }, 0, 3, 0 },
		{ { "to", "now", "comm", "gamma" }, 0, 0, 2 },
		{ { "to", "now", "thread", "?????" }, 12, 0, 2 },
		{ { "to", "now", "exe", "/usr/bin/beta" }, 0, 3, 0 },
		{ { "to", "now", "exe", "b?ta", "comm", "*" }, 0, 3, 0 },
		{ { "to", "now", "pid", "10" }, 12, 0, 0 },
		{ { "to", "now", "tid", "21" }, 0, 3, 0 },
		{ { "to", "now", "user", "1000" }, 12, 0, 0 },
		{ { "to", "now", "user", "1001" }, 0, 3, 0 },
		{ { "to", "now", "build-id", "07005a" }, 12, 3, 2 },
		{ { "to", "now", "build-id", "cc" }, 5, 0, 0 },
		{ { "to", "now", "event", "cpu-clock" }, 12, 3, 2 },
	};
	struct answer_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const char *pairs[11] = { "format", "folded" };

		memcpy(pairs + 2, cases[i].pairs, sizeof(cases[i].pairs));
		answer_fixture_make(fixture, pairs);
		answer_fixture_expect(fixture, 200, "");
		if (answer_fixture_count(fixture, "alpha;") != cases[i].alpha ||
			answer_fixture_count(fixture, "beta;") != cases[i].beta ||
			answer_fixture_count(fixture, "gamma;") != cases[i].gamma)
			fail_msg("%zu (%s): %s", i, cases[i].pairs[2], fixture->output);
	}
}

static void formats_are_what_they_say(void **state)
{
	struct answer_fixture *fixture = *state;
	const char *title;

	ASK(fixture, "last", "1d", "unit", "alpha");
	assert_string_equal(fixture->reply.content_type, "image/svg+xml");
	assert_non_null(strstr(fixture->output, "<svg"));
	assert_non_null(strstr(fixture->output,
		answer_fixture_titled(
			">", "2026-09-04 10:00:00 to 2026-09-05 00:00:10, unit alpha.service<")));
	ASK(fixture, "last", "1d", "format", "txt");
	title = answer_fixture_titled("# ", "2026-09-04 10:00:00 to 2026-09-05 00:00:10\n");
	assert_memory_equal(fixture->output, title, strlen(title));
	assert_non_null(strstr(fixture->output, "2026-09-04 10:00:00 UTC"));
	ASK(fixture, "last", "1d", "format", "pprof");
	assert_string_equal(fixture->reply.content_type, "application/octet-stream");
	assert_memory_equal(fixture->output, "\x1f\x8b", 2);
}

static void lines_are_frames_of_their_own(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "last", "1d", "format", "folded", "lines", "yes");
	assert_non_null(strstr(fixture->output, "do_work (work.c:7)_[k] 5"));
	ASK(fixture, "last", "1d", "format", "folded", "lines", "0");
	assert_null(strstr(fixture->output, "work.c"));
}

/* alpha alone, second window against the first: do_work has gone. */
static void differences_are_made(void **state)
{
	struct answer_fixture *fixture = *state;
	double before, after;
	const char *line;

	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "from", "yesterday 10:00:10", "to", "10:00:20", "unit", "alpha",
		"against.from", "yesterday 10:00", "against.to", "10:00:10", "format", "txt");
	answer_fixture_expect(fixture, 200, "");
	assert_memory_equal(fixture->output, "# [libwork.so+0x", 16);
	assert_non_null(strstr(
		fixture->output, answer_fixture_titled("\n# ",
					 "2026-09-04 10:00:00 to 10:00:10, unit alpha.service: ")));
	assert_non_null(strstr(
		fixture->output, answer_fixture_titled("\n# ",
					 "2026-09-04 10:00:10 to 10:00:20, unit alpha.service: ")));
	line = strstr(fixture->output, "  do_work");
	assert_non_null(line);
	while (line[-1] != '\n')
		line--;
	assert_int_equal(sscanf(line, "%lf %lf", &before, &after), 2);
	assert_true(before > 50 && after == 0);
	/* The other way about the units differ, and the time is one. */
	ASK(fixture, "from", "yesterday 10:00", "to", "10:00:10", "unit", "alpha", "against.unit",
		"beta", "normalise", "time", "lines", "yes");
	answer_fixture_expect(fixture, 200, "");
	assert_string_equal(fixture->reply.content_type, "image/svg+xml");
	assert_non_null(
		strstr(fixture->output, "2026-09-04 10:00:00 to 10:00:10, unit beta.service"));
}

static void by_time_and_by_total_differ(void **state)
{
	struct answer_fixture *fixture = *state;
	char by_total[4096];

	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "from", "yesterday 10:00:10", "to", "10:00:20", "against.from",
		"yesterday 10:00", "against.to", "10:00:10", "format", "txt");
	assert_true(fixture->output_bytes < sizeof(by_total));
	(void)strcpy(by_total, fixture->output);
	ASK(fixture, "from", "yesterday 10:00:10", "to", "10:00:20", "against.from",
		"yesterday 10:00", "against.to", "10:00:10", "format", "txt", "normalise", "time");
	answer_fixture_expect(fixture, 200, "");
	assert_string_not_equal(by_total, fixture->output);
}

static size_t rows_of(const char *text)
{
	size_t rows = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1)
		rows += *text != '#';
	return rows;
}

static void a_table_has_as_many_rows_as_asked_for(void **state)
{
	struct answer_fixture *fixture = *state;
	size_t rows;

	ASK(fixture, "last", "1d", "format", "txt");
	answer_fixture_expect(fixture, 200, "");
	rows = rows_of(fixture->output);
	assert_true(rows > 1);
	ASK(fixture, "last", "1d", "format", "txt", "rows", "1");
	answer_fixture_expect(fixture, 200, "");
	assert_int_equal(rows_of(fixture->output), 1);
	ASK(fixture, "last", "1d", "format", "txt", "rows", "0");
	assert_int_equal(rows_of(fixture->output), rows);
}

static void stacks_begin_with_their_group(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "last", "1d", "format", "folded", "group", "unit");
	answer_fixture_expect(fixture, 200, "");
	assert_int_equal(answer_fixture_count(fixture, "alpha.service;"), 12);
	assert_int_equal(answer_fixture_count(fixture, "beta.service;"), 3);
	assert_int_equal(answer_fixture_count(fixture, "alpha;"), 0);
	/* Processes are read apart for it. */
	ASK(fixture, "last", "1d", "format", "folded", "group", "process");
	answer_fixture_expect(fixture, 200, "");
	assert_int_equal(answer_fixture_count(fixture, "alpha [10];"), 12);
	assert_int_equal(answer_fixture_count(fixture, "gamma [30];"), 2);
}

static void the_page_gets_as_many_frames_as_it_asks_for(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "last", "1d", "format", "json", "frames", "5");
	answer_fixture_expect(fixture, 200, "");
	/* The whole and what has at least 8 samples: alpha, its function and the library. */
	assert_non_null(strstr(fixture->output, "\"depth\":[0,1,2,3],\"total\":[21,12,12,12],"));
}

/* The path is one frame: FNV-1a of "beta", a tab, "command", as the page computes it. */
static void a_zoomed_page_gets_small_frames(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "last", "1d", "format", "json", "frames", "5", "below", "e2702c7b");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "\"depth\":[0,1,2,3],\"total\":[21,3,3,3],"));
}

/* Text shrinks; pprof is compressed already. */
static void text_is_compressed_on_request(void **state)
{
	struct answer_fixture *fixture = *state;
	size_t plain;

	ASK(fixture, "last", "1d");
	plain = fixture->output_bytes;
	assert_int_equal(fixture->reply.is_gzip, 0);
	fixture->request.accepts_gzip = 1;
	ASK(fixture, "last", "1d");
	answer_fixture_expect(fixture, 200, "");
	assert_int_equal(fixture->reply.is_gzip, 1);
	assert_string_equal(fixture->reply.content_type, "image/svg+xml");
	assert_memory_equal(fixture->output, "\x1f\x8b", 2);
	assert_true(fixture->output_bytes < plain / 2);
	ASK(fixture, "last", "1d", "format", "pprof");
	assert_int_equal(fixture->reply.is_gzip, 0);
	fixture->request.bytes_max = fixture->output_bytes = 1000;
	ASK(fixture, "last", "1d");
	answer_fixture_expect(fixture, 413, "larger");
}

/* A window in which nothing ran is an empty profile, not an error. */
static void idle_is_an_answer(void **state)
{
	struct answer_fixture *fixture = *state;
	struct store *store = fixture_open(fixture->history);

	answer_fixture_append(store, ANSWER_FIXTURE_NEXT + SECONDS(30), NULL, 0);
	store_close(store);
	ASK(fixture, "last", "20s", "to", "@1788566445", "format", "folded");
	answer_fixture_expect(fixture, 200, "");
	assert_int_equal(fixture->output_bytes, 0);
}

/* Four were lost beside 17 that are stored; alpha has 12 of these, beta 3. */
static void losses_of_others_are_not_counted(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "last", "1d", "unit", "alpha", "format", "txt");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output,
		"# samples  21 fired = 12 stored + 0 idle + 7 filtered + 2 lost\n"));
	ASK(fixture, "last", "1d", "unit", "beta", "format", "folded");
	answer_fixture_expect(fixture, 200, "");
	assert_null(strstr(fixture->output, "[lost"));
	/* Shares of a difference are of the selection: all of it is in main. */
	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "last", "1d", "unit", "beta", "against.unit", "gamma", "format", "txt");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "3 stored, 0 lost"));
}

static void append_event(struct answer_fixture *fixture, uint64_t start_ns, const char *event)
{
	static const struct fixture_sample sample = {
		.pid = 50, .address = 0x3000, .count = 9, .comm = "delta"
	};
	struct profile *profile = fixture_profile(start_ns, &sample, 1);
	struct store *store = fixture_open(fixture->history);
	struct fault fault = { 0 };

	assert_int_equal(profile_add_string(profile, event, &profile->event), 0);
	assert_int_equal(fixture_append(store, profile, &fault), 0);
	store_close(store);
	profile_free(profile);
}

static void other_events_are_reported(void **state)
{
	struct answer_fixture *fixture = *state;

	append_event(fixture, ANSWER_FIXTURE_NEXT + SECONDS(30), "cycles");
	ASK(fixture, "last", "1d", "format", "svg");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "without windows of other events"));
	ASK(fixture, "last", "1d", "format", "svg", "event", "cpu-clock");
	answer_fixture_expect(fixture, 200, "");
	assert_null(strstr(fixture->output, "other events"));
	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "last", "1d", "event", "cpu-clock", "against.event", "cycles");
	answer_fixture_expect(fixture, 400, "cannot be compared");
}

static void sources_are_answered_apart(void **state)
{
	struct answer_fixture *fixture = *state;

	append_event(fixture, ANSWER_FIXTURE_NEXT, "offcpu");
	ASK(fixture, "last", "1d", "format", "svg");
	answer_fixture_expect(fixture, 200, "");
	assert_null(strstr(fixture->output, "other events"));
	assert_null(strstr(fixture->output, "delta"));
	ASK(fixture, "last", "1d", "format", "txt", "event", "cpu");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "# event    cpu-clock at 100 Hz"));
	ASK(fixture, "last", "1d", "format", "txt", "event", "offcpu");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output,
		"# event    offcpu (time off CPU) in samples of 10 ms on 4 CPUs\n"));
	assert_non_null(strstr(fixture->output, "# amount   90.000 ms stored\n"));
	ASK(fixture, "last", "1d", "format", "folded", "event", "wall");
	answer_fixture_expect(fixture, 200, "");
	assert_int_equal(answer_fixture_count(fixture, "gamma;"), 2);
	assert_int_equal(answer_fixture_count(fixture, "delta;"), 9);
	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "last", "1d", "against.event", "offcpu");
	answer_fixture_expect(fixture, 400, "cannot be compared");
}

static void an_incomplete_sum_is_reported(void **state)
{
	struct answer_fixture *fixture = *state;

	/* Three windows of CPU time. */
	ASK(fixture, "last", "1d", "format", "txt", "event", "wall");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output,
		answer_fixture_titled("# ", "time off CPU not sampled for 30s: time waiting for a "
					    "CPU not sampled for 30s: 2026-09-04 ")));
	/* For a part of the time alone, too. */
	append_event(fixture, ANSWER_FIXTURE_NEXT, "offcpu");
	append_event(fixture, ANSWER_FIXTURE_NEXT, "runqueue");
	ASK(fixture, "last", "1d", "format", "txt", "event", "wall");
	answer_fixture_expect(fixture, 200, "");
	assert_non_null(strstr(fixture->output,
		answer_fixture_titled("# ", "time off CPU not sampled for 20s: ")));
	append_event(fixture, ANSWER_FIXTURE_FIRST, "offcpu");
	append_event(fixture, ANSWER_FIXTURE_SECOND, "offcpu");
	append_event(fixture, ANSWER_FIXTURE_FIRST, "runqueue");
	append_event(fixture, ANSWER_FIXTURE_SECOND, "runqueue");
	ASK(fixture, "last", "1d", "format", "txt", "event", "wall");
	answer_fixture_expect(fixture, 200, "");
	assert_null(strstr(fixture->output, "not sampled"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ANSWER_TEST(everything_is_answered_with_names),
		ANSWER_TEST(binaries_are_named_by_what_their_files_are),
		ANSWER_TEST(without_a_cache_there_are_addresses),
		ANSWER_TEST(each_parameter_selects),
		ANSWER_TEST(only_own_samples_are_answered),
		ANSWER_TEST(parameters_do_not_widen_what_is_own),
		ANSWER_TEST(a_request_without_a_scope_is_refused),
		ANSWER_TEST(formats_are_what_they_say),
		ANSWER_TEST(lines_are_frames_of_their_own),
		ANSWER_TEST(differences_are_made),
		ANSWER_TEST(by_time_and_by_total_differ),
		ANSWER_TEST(a_table_has_as_many_rows_as_asked_for),
		ANSWER_TEST(stacks_begin_with_their_group),
		ANSWER_TEST(the_page_gets_as_many_frames_as_it_asks_for),
		ANSWER_TEST(a_zoomed_page_gets_small_frames),
		ANSWER_TEST(text_is_compressed_on_request),
		ANSWER_TEST(idle_is_an_answer),
		ANSWER_TEST(losses_of_others_are_not_counted),
		ANSWER_TEST(other_events_are_reported),
		ANSWER_TEST(sources_are_answered_apart),
		ANSWER_TEST(an_incomplete_sum_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
