/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/answer/answer_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <fcntl.h>

static int set_up(void **state)
{
	struct answer_fixture *fixture = calloc(1, sizeof(*fixture));
	struct store *store;

	assert_non_null(fixture);
	answer_fixture_init(fixture);
	store = fixture_open(fixture->history);
	answer_fixture_fill(store);
	store_close(store);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	answer_fixture_done(*state);
	free(*state);
	return 0;
}

static void expect_status(const struct answer_fixture *fixture, int status, const char *says)
{
	if (fixture->reply.status != status || !strstr(fixture->reply.text, says))
		fail_msg("%d, \"%s\" (%d, \"%s\" expected)", fixture->reply.status,
			fixture->reply.text, status, says);
}

static void everything_is_answered_with_names(void **state)
{
	struct answer_fixture *fixture = *state;
	char stack[256];

	ASK(fixture, "last", "1d", "format", "folded");
	expect_status(fixture, 200, "");
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
		expect_status(fixture, 200, "");
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
	expect_status(fixture, 200, "");
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
			expect_status(fixture, 200, "");
			assert_int_equal(answer_fixture_count(fixture, ""), cases[i].count);
			continue;
		}
		expect_status(fixture, 404, "");
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
		expect_status(fixture, 500, "invalid request");
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
	expect_status(fixture, 200, "");
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
		expect_status(fixture, 200, "");
		if (answer_fixture_count(fixture, "alpha;") != cases[i].alpha ||
			answer_fixture_count(fixture, "beta;") != cases[i].beta ||
			answer_fixture_count(fixture, "gamma;") != cases[i].gamma)
			fail_msg("%zu (%s): %s", i, cases[i].pairs[2], fixture->output);
	}
}

static void formats_are_what_they_say(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "last", "1d", "unit", "alpha");
	assert_string_equal(fixture->reply.content_type, "image/svg+xml");
	assert_non_null(strstr(fixture->output, "<svg"));
	assert_non_null(strstr(fixture->output,
		">2026-09-04 00:01:00 to 2026-09-05 00:01:00, unit alpha.service<"));
	ASK(fixture, "last", "1d", "format", "txt");
	assert_memory_equal(fixture->output, "# 2026-09-04 00:01:00 to 2026-09-05 00:01:00\n", 45);
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
	expect_status(fixture, 200, "");
	assert_memory_equal(
		fixture->output, "# 2026-09-04 10:00:00 to 10:00:10, unit alpha.service: ", 55);
	assert_non_null(strstr(
		fixture->output, "\n# 2026-09-04 10:00:10 to 10:00:20, unit alpha.service: "));
	line = strstr(fixture->output, "do_work");
	assert_non_null(line);
	while (line[-1] != '\n')
		line--;
	assert_int_equal(sscanf(line, "%lf %lf", &before, &after), 2);
	assert_true(before > 50 && after == 0);
	/* The other way about the units differ, and the time is one. */
	ASK(fixture, "from", "yesterday 10:00", "to", "10:00:10", "unit", "alpha", "against.unit",
		"beta", "normalise", "time", "lines", "yes");
	expect_status(fixture, 200, "");
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
	expect_status(fixture, 200, "");
	assert_string_not_equal(by_total, fixture->output);
}

static void invalid_parameters_are_reported(void **state)
{
	static const struct {
		const char *pairs[7];
		const char *says;
		bool is_difference;
	} cases[] = {
		{ { "units", "a" }, "\"units\"", false },
		{ { "format", "html" }, "svg, folded, pprof or txt", false },
		{ { "format", "svg", "format", "svg" }, "format is given twice", false },
		{ { "lines", "maybe" }, "use yes or no", false },
		{ { "labels", "some" }, "use all or service", false },
		{ { "labels", "all", "labels", "all" }, "labels is given twice", false },
		{ { "normalise", "time" }, "only for a difference", false },
		{ { "against.last", "1h" }, "only for a difference", false },
		{ { "last", "1h", "from", "today" }, "last and from", false },
		{ { "from", "noon" }, "from: \"noon\"", false },
		{ { "pid", "x" }, "pid", false },
		{ { "last", "1h" }, "compare", true },
		{ { "against.last", "soon" }, "against: last:", true },
		{ { "against.pid", "x" }, "against: pid", true },
		{ { "against.against.pid", "1" }, "against: there is no parameter", true },
		{ { "against.last", "1h", "format", "pprof" }, "svg or txt", true },
		{ { "against.last", "1h", "format", "csv" }, "svg or txt", true },
		{ { "against.last", "1h", "normalise", "work" }, "use total or time", true },
	};
	struct answer_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		fixture->request.kind = cases[i].is_difference ? ANSWER_DIFFERENCE : ANSWER_PROFILE;
		answer_fixture_make(fixture, cases[i].pairs);
		expect_status(fixture, 400, cases[i].says);
	}
}

static void missing_values_are_reported_with_existing_ones(void **state)
{
	static const struct {
		const char *pairs[7];
		const char *says;
	} cases[] = {
		{ { "to", "now", "unit", "alpho" }, "no such unit in the history of this "
						    "time; there is alpha.service, " },
		{ { "last", "1min", "unit", "alpha" }, "there is gamma.service" },
		{ { "to", "now", "pod", "1" }, "has a pod" },
		{ { "to", "now", "unit", "alpha", "comm", "beta" }, "matches all of this" },
		{ { "to", "now", "build-id", "99" }, "there is 07005a5a5a5a (prog)" },
		{ { "to", "now", "event", "cycles" }, "there is \"cpu-clock\"" },
		{ { "from", "2026-08-01", "to", "2026-08-02" },
			"from 2026-08-01 00:00:00 to 2026-08-02 00:00:00; it reaches from "
			"2026-09-04 10:00:00 to 2026-09-05 00:00:10" },
		{ { "from", "yesterday 12:00", "to", "13:00" }, "when nothing was recorded" },
		{ { "to", "2026-08-01" }, "no history before 2026-08-01 00:00:00; it " },
	};
	struct answer_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		answer_fixture_make(fixture, cases[i].pairs);
		expect_status(fixture, 404, cases[i].says);
	}
	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "to", "now", "against.unit", "none");
	expect_status(fixture, 404, "there is alpha.service");
}

static void a_missing_history_is_reported(void **state)
{
	struct answer_fixture *fixture = *state;

	(void)strcat(fixture->request.history, "/none");
	ASK(fixture, NULL);
	expect_status(fixture, 404, "still empty");
	fixture->request.history[0] = '\0';
	ASK(fixture, NULL);
	expect_status(fixture, 503, "keeps no history");
}

/* A window in which nothing ran is an empty profile, not an error. */
static void idle_is_an_answer(void **state)
{
	struct answer_fixture *fixture = *state;
	struct store *store = fixture_open(fixture->history);

	answer_fixture_append(store, ANSWER_FIXTURE_NEXT + SECONDS(30), NULL, 0);
	store_close(store);
	ASK(fixture, "last", "20s", "to", "@1788566445", "format", "folded");
	expect_status(fixture, 200, "");
	assert_int_equal(fixture->output_bytes, 0);
}

/* Four were lost beside 17 that are stored; alpha has 12 of these, beta 3. */
static void losses_of_others_are_not_counted(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK(fixture, "last", "1d", "unit", "alpha", "format", "txt");
	expect_status(fixture, 200, "");
	assert_non_null(strstr(fixture->output,
		"# samples  21 fired = 12 stored + 0 idle + 7 filtered + 2 lost\n"));
	ASK(fixture, "last", "1d", "unit", "beta", "format", "folded");
	expect_status(fixture, 200, "");
	assert_null(strstr(fixture->output, "[lost"));
	/* Shares of a difference are of the selection: all of it is in main. */
	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "last", "1d", "unit", "beta", "against.unit", "gamma", "format", "txt");
	expect_status(fixture, 200, "");
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
	expect_status(fixture, 200, "");
	assert_non_null(strstr(fixture->output, "without windows of other events"));
	ASK(fixture, "last", "1d", "format", "svg", "event", "cpu-clock");
	expect_status(fixture, 200, "");
	assert_null(strstr(fixture->output, "other events"));
	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "last", "1d", "event", "cpu-clock", "against.event", "cycles");
	expect_status(fixture, 400, "cannot be compared");
}

static void damage_is_reported(void **state)
{
	struct answer_fixture *fixture = *state;
	char path[DAY_PATH_BYTES];
	int fd;

	assert_int_equal(day_file_path(path, fixture->history, FIXTURE_DAY), 0);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "no database at all, but long enough for one", 43), 43);
	assert_int_equal(close(fd), 0);
	ASK(fixture, "from", "2026-09-04", "to", "2026-09-04 20:00");
	expect_status(fixture, 404, "1 of its days cannot be read");
	ASK(fixture, "to", "now", "format", "txt");
	expect_status(fixture, 200, "");
	assert_memory_equal(fixture->output, "# without 1 of the days, which cannot be read: ", 47);
}

static void bounds_are_kept(void **state)
{
	struct answer_fixture *fixture = *state;
	uint64_t bytes;

	ASK(fixture, "last", "1d");
	bytes = fixture->reply.bytes;
	fixture->request.bytes_max = bytes;
	ASK(fixture, "last", "1d");
	expect_status(fixture, 200, "");
	fixture->request.bytes_max = bytes - 1;
	ASK(fixture, "last", "1d");
	expect_status(fixture, 413, "the answer is larger than");
	fixture->request.bytes_max = bytes;
	fixture->request.memory_max = 4096;
	ASK(fixture, "last", "1d");
	expect_status(fixture, 413, "of memory");
}

static void failing_output_is_reported(void **state)
{
	struct answer_fixture *fixture = *state;
	int output_fd = fixture->output_fd;

	fixture->output_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fixture->output_fd >= 0);
	answer_fixture_set(fixture, (const char *const[]){ "last", "1d", NULL });
	answer_make(&fixture->request, fixture->output_fd, &fixture->reply);
	expect_status(fixture, 500, "cannot write the answer");
	assert_int_equal(close(fixture->output_fd), 0);
	fixture->output_fd = output_fd;
}

static void malformed_requests_are_refused(void **state)
{
	struct answer_fixture *fixture = *state;
	struct answer_request *request = &fixture->request;
	const struct answer_request sound = *request;

	request->version++;
	ASK(fixture, NULL);
	expect_status(fixture, 500, "restart");
	*request = sound;
	request->kind = 3;
	ASK(fixture, NULL);
	expect_status(fixture, 500, "restart");
	*request = sound;
	memset(request->history, 'a', sizeof(request->history));
	ASK(fixture, NULL);
	expect_status(fixture, 500, "restart");
	*request = sound;
	memset(request->symbol_cache, 'a', sizeof(request->symbol_cache));
	ASK(fixture, NULL);
	expect_status(fixture, 500, "restart");
	*request = sound;
	for (size_t i = 0; i < 4; i++) {
		static const struct {
			char bytes[8];
			uint32_t size;
		} parameters[] = { { "last\0001h", 7 /* no end */ }, { "last\0", 5 },
			{ "comm\0\xff", 7 }, { "", ANSWER_PARAMETERS_BYTES + 1 } };

		*request = sound;
		memcpy(request->parameters, parameters[i].bytes, sizeof(parameters[i].bytes));
		request->parameters_bytes = parameters[i].size;
		answer_fixture_begin(fixture);
		answer_make(request, fixture->output_fd, &fixture->reply);
		answer_fixture_end(fixture);
		expect_status(fixture, 400, "not valid UTF-8");
	}
}

/* Long sentences are cut between two characters. */
static void long_sentences_are_shortened(void **state)
{
	struct answer_fixture *fixture = *state;
	char comm[400];

	for (size_t i = 0; i < sizeof(comm) - 3; i += 2)
		memcpy(comm + i, "\xc3\xa9", 3);
	ASK(fixture, "to", "now", "exe", comm, "unit", "alpha", "comm", "beta");
	assert_int_equal(fixture->reply.status, 404);
	ASK(fixture, "to", "now", "exe", "*", "unit", "alpha", "comm", "beta", "cgroup", "*",
		"cgroup", comm);
	expect_status(fixture, 404, "\xc3\xa9\xe2\x80\xa6");
	assert_true(strlen(fixture->reply.text) >= sizeof(fixture->reply.text) - 3);
}

static void expect_any_failure(struct answer_fixture *fixture, const char *const *pairs)
{
	size_t n = 0;

	answer_fixture_set(fixture, pairs);
	for (;; n++) {
		bool has_failed;

		answer_fixture_begin(fixture);
		fail_allocation(n);
		answer_make(&fixture->request, fixture->output_fd, &fixture->reply);
		has_failed = allocation_failed();
		answer_fixture_end(fixture);
		if (!has_failed)
			break;
		if (fixture->reply.status != 413)
			fail_msg("%zu: %d %s", n, fixture->reply.status, fixture->reply.text);
	}
	assert_int_equal(fixture->reply.status, 200);
	assert_true(n > 50);
}

static void every_allocation_may_fail(void **state)
{
	struct answer_fixture *fixture = *state;

	expect_any_failure(fixture,
		(const char *const[]){ "to", "now", "unit", "alpha", "build-id", "07", NULL });
	fixture->request.kind = ANSWER_DIFFERENCE;
	expect_any_failure(
		fixture, (const char *const[]){ "to", "now", "against.unit", "beta", NULL });
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(everything_is_answered_with_names),
		TEST(binaries_are_named_by_what_their_files_are),
		TEST(without_a_cache_there_are_addresses),
		TEST(each_parameter_selects),
		TEST(only_own_samples_are_answered),
		TEST(parameters_do_not_widen_what_is_own),
		TEST(a_request_without_a_scope_is_refused),
		TEST(formats_are_what_they_say),
		TEST(lines_are_frames_of_their_own),
		TEST(differences_are_made),
		TEST(by_time_and_by_total_differ),
		TEST(invalid_parameters_are_reported),
		TEST(missing_values_are_reported_with_existing_ones),
		TEST(a_missing_history_is_reported),
		TEST(idle_is_an_answer),
		TEST(losses_of_others_are_not_counted),
		TEST(other_events_are_reported),
		TEST(damage_is_reported),
		TEST(bounds_are_kept),
		TEST(failing_output_is_reported),
		TEST(malformed_requests_are_refused),
		TEST(long_sentences_are_shortened),
		TEST(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
