/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions that have no answer, and why. */
#include "tests/answer/answer_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <fcntl.h>

/* Parameters, and what the refusal says of them. */
static const struct {
	const char *pairs[7];
	const char *says;
	bool is_difference;
} invalid[] = {
	{ { "units", "a" }, "\"units\"", false },
	{ { "format", "csv" },
		"svg, folded, pprof, otlp, pyroscope, parca, clickhouse, html, json, txt, top or "
		"sites",
		false },
	{ { "format", "svg", "format", "svg" }, "format is given twice", false },
	{ { "lines", "maybe" }, "use yes or no", false },
	{ { "times", "maybe" }, "invalid value of times; use yes or no", false },
	{ { "times", "yes", "times", "yes" }, "times is given twice", false },
	{ { "times", "yes", "format", "folded" }, "no times in folded", false },
	{ { "times", "yes", "format", "otlp", "trace", "11112222333344445555666677778888" },
		"leave out times", false },
	{ { "labels", "some" }, "use all, service or roots", false },
	{ { "labels", "all", "labels", "all" }, "labels is given twice", false },
	{ { "normalise", "time" }, "only for a difference", false },
	{ { "rows", "-1" }, "invalid value of rows", false },
	{ { "rows", "" }, "invalid value of rows", false },
	{ { "rows", "1000000" }, "invalid value of rows", false },
	{ { "rows", "1", "rows", "1" }, "rows is given twice", false },
	{ { "sample-hosts", "0" }, "invalid value of sample-hosts", false },
	{ { "sample-hosts", "1000001" }, "invalid value of sample-hosts", false },
	{ { "sample-hosts", "1%" }, "invalid value of sample-hosts", false },
	{ { "frames", "many" }, "invalid value of frames", false },
	{ { "below", "" }, "invalid value of below", false },
	/* What a format would ignore. */
	{ { "rows", "5" }, "no rows in svg; use txt or top", false },
	{ { "frames", "5", "format", "folded" }, "no frames in folded", false },
	{ { "below", "12", "format", "svg" }, "no below in svg", false },
	{ { "labels", "roots", "format", "folded" }, "no labels in folded", false },
	{ { "labels", "all", "format", "pyroscope" }, "no labels in pyroscope", false },
	{ { "late-names", "01:0", "format", "pprof" }, "no late-names in pprof", false },
	{ { "group", "unit", "format", "sites" }, "no group in sites", false },
	{ { "buckets", "5" }, "buckets is only for a time line;", false },
	{ { "by", "unit" }, "by is only for a time line;", false },
	{ { "rows", "5", "against.last", "1h" }, "no rows in svg", true },
	{ { "below", "12", "against.last", "1h" }, "below is only for a profile;", true },
	{ { "frames", "5", "against.last", "1h" }, "frames is only for a profile;", true },
	{ { "labels", "all", "against.last", "1h" }, "labels is only for a profile;", true },
	{ { "times", "yes", "against.last", "1h" }, "times is only for a profile;", true },
	{ { "below", "12.g" }, "invalid value of below", false },
	{ { "group", "cpu" }, "invalid value of group", false },
	{ { "group", "unit", "format", "pprof" }, "no group in pprof", false },
	{ { "against.last", "1h" }, "only for a difference", false },
	{ { "last", "1h", "from", "today" }, "last and from", false },
	{ { "from", "noon" }, "from: \"noon\"", false },
	{ { "pid", "x" }, "pid", false },
	{ { "last", "1h" }, "compare", true },
	{ { "against.last", "soon" }, "against: last:", true },
	{ { "against.pid", "x" }, "against: pid", true },
	{ { "against.against.pid", "1" }, "against: there is no parameter", true },
	{ { "against.last", "1h", "format", "pprof" }, "svg, html or txt", true },
	{ { "against.last", "1h", "format", "csv" }, "svg, html or txt", true },
	{ { "against.last", "1h", "normalise", "work" }, "use total or time", true },
};

static void invalid_parameters_are_reported(void **state)
{
	struct answer_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(invalid); i++) {
		fixture->request.kind =
			invalid[i].is_difference ? ANSWER_DIFFERENCE : ANSWER_PROFILE;
		answer_fixture_make(fixture, invalid[i].pairs);
		answer_fixture_expect(fixture, 400, invalid[i].says);
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
		{ { "to", "now", "event", "cycles" }, "no event \"cycles\" in the history of this "
						      "time; there is \"cpu-clock\"" },
		{ { "to", "now", "event", "offcpu" }, "there is \"cpu-clock\"" },
		{ { "from", "2026-08-01", "to", "2026-08-02" },
			"from 2026-08-01 00:00:00 to 2026-08-02 00:00:00; it reaches from "
			"2026-09-04 10:00:00 to 2026-09-05 00:00:10" },
		{ { "from", "yesterday 12:00", "to", "13:00" }, "when nothing was recorded" },
		{ { "to", "2026-08-01" }, "no history before 2026-08-01 00:00:00; it " },
	};
	struct answer_fixture *fixture = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		answer_fixture_make(fixture, cases[i].pairs);
		answer_fixture_expect(fixture, 404, cases[i].says);
	}
	fixture->request.kind = ANSWER_DIFFERENCE;
	ASK(fixture, "to", "now", "against.unit", "none");
	answer_fixture_expect(fixture, 404, "there is alpha.service");
}

static void a_missing_history_is_reported(void **state)
{
	struct answer_fixture *fixture = *state;

	(void)strcat(fixture->request.history, "/none");
	ASK(fixture, NULL);
	answer_fixture_expect(fixture, 404, "still empty");
	fixture->request.history[0] = '\0';
	ASK(fixture, NULL);
	answer_fixture_expect(fixture, 503, "keeps no history");
}

static void damage_is_reported(void **state)
{
	struct answer_fixture *fixture = *state;
	char path[DAY_PATH_BYTES];
	const char *title;
	int fd;

	assert_int_equal(day_file_path(path, fixture->history, FIXTURE_DAY), 0);
	fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "no database at all, but long enough for one", 43), 43);
	assert_int_equal(close(fd), 0);
	ASK(fixture, "from", "2026-09-04", "to", "2026-09-04 20:00");
	answer_fixture_expect(fixture, 404, "1 of its days cannot be read");
	ASK(fixture, "to", "now", "format", "txt");
	answer_fixture_expect(fixture, 200, "");
	title = answer_fixture_titled("# ", "without 1 of the days, which cannot be read: ");
	assert_memory_equal(fixture->output, title, strlen(title));
}

static void bounds_are_kept(void **state)
{
	struct answer_fixture *fixture = *state;
	uint64_t bytes;

	ASK(fixture, "last", "1d");
	bytes = fixture->reply.bytes;
	fixture->request.bytes_max = bytes;
	ASK(fixture, "last", "1d");
	answer_fixture_expect(fixture, 200, "");
	fixture->request.bytes_max = bytes - 1;
	ASK(fixture, "last", "1d");
	answer_fixture_expect(fixture, 413, "the answer is larger than");
	fixture->request.bytes_max = bytes;
	fixture->request.memory_max = 4096;
	ASK(fixture, "last", "1d");
	answer_fixture_expect(fixture, 413, "of memory");
}

static void failing_output_is_reported(void **state)
{
	struct answer_fixture *fixture = *state;
	int output_fd = fixture->output_fd;

	fixture->output_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_true(fixture->output_fd >= 0);
	answer_fixture_set(fixture, (const char *const[]){ "last", "1d", NULL });
	answer_make(&fixture->request, fixture->output_fd, &fixture->reply);
	answer_fixture_expect(fixture, 500, "cannot write the answer");
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
	answer_fixture_expect(fixture, 500, "restart");
	*request = sound;
	request->kind = ANSWER_KINDS;
	ASK(fixture, NULL);
	answer_fixture_expect(fixture, 500, "restart");
	*request = sound;
	memset(request->history, 'a', sizeof(request->history));
	ASK(fixture, NULL);
	answer_fixture_expect(fixture, 500, "restart");
	*request = sound;
	memset(request->symbol_cache, 'a', sizeof(request->symbol_cache));
	ASK(fixture, NULL);
	answer_fixture_expect(fixture, 500, "restart");
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
		answer_fixture_expect(fixture, 400, "not valid UTF-8");
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
	answer_fixture_expect(fixture, 404, "\xc3\xa9\xe2\x80\xa6");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		ANSWER_TEST(invalid_parameters_are_reported),
		ANSWER_TEST(missing_values_are_reported_with_existing_ones),
		ANSWER_TEST(a_missing_history_is_reported),
		ANSWER_TEST(damage_is_reported),
		ANSWER_TEST(bounds_are_kept),
		ANSWER_TEST(failing_output_is_reported),
		ANSWER_TEST(malformed_requests_are_refused),
		ANSWER_TEST(long_sentences_are_shortened),
		ANSWER_TEST(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
