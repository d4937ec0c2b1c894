/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From a client to the history and back, by the real process that makes answers. */
#include "tests/answer/answer_fixture.h"
#include "tests/api/api_fixture.h"

static struct answer_fixture fixture;

static void use_fixture(struct api_options *options)
{
	options->history = fixture.history;
	options->symbol_cache = fixture.cache.folder;
}

static int begin(void **state)
{
	struct store *store = NULL;
	struct fault fault = { 0 };

	answer_fixture_init(&fixture);
	if (store_open(fixture.history, &store_default_limits, &store, &fault) < 0)
		return -1;
	answer_fixture_fill(store);
	store_close(store);
	return 0;
}

static int end(void **state)
{
	answer_fixture_done(&fixture);
	return 0;
}

/* Both in ns of CLOCK_REALTIME. */
static const char *target_of(char text[512], uint64_t from_ns, uint64_t to_ns, const char *more)
{
	(void)snprintf(text, 512,
		"/api/v1/profile?format=folded&from=@%llu.%09llu&to=@%llu.%09llu%s",
		(unsigned long long)(from_ns / NSEC_PER_SEC),
		(unsigned long long)(from_ns % NSEC_PER_SEC),
		(unsigned long long)(to_ns / NSEC_PER_SEC),
		(unsigned long long)(to_ns % NSEC_PER_SEC), more);
	return text;
}

static void a_profile_comes_out_of_the_history(void **state)
{
	struct engine *engine = *state;
	char target[512];

	start_api(engine, use_fixture);
	CHECK_REPLY(engine,
		ask(engine, target_of(target, ANSWER_FIXTURE_FIRST,
				    ANSWER_FIXTURE_FIRST + SECONDS(20), "")),
		200, "Content-Type: text/plain", "alpha;", " 7\n", "beta;", " 3\n");
	CHECK_REPLY(engine,
		ask(engine, target_of(target, ANSWER_FIXTURE_FIRST,
				    ANSWER_FIXTURE_FIRST + SECONDS(20), "&comm=nobody")),
		404, "comm");
	CHECK_REPLY(engine,
		ask(engine, target_of(target, ANSWER_FIXTURE_FIRST,
				    ANSWER_FIXTURE_FIRST + SECONDS(20), "&pid=one")),
		400, "pid");
}

/* What a new profile's first and last nanosecond rest upon. */
static void a_window_that_ends_at_the_start_is_excluded(void **state)
{
	struct engine *engine = *state;
	char target[512], *reply;

	start_api(engine, use_fixture);
	reply = receive(engine, ask(engine, target_of(target, ANSWER_FIXTURE_SECOND,
						    ANSWER_FIXTURE_SECOND + 1, "")));
	assert_int_equal(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
	assert_non_null(strstr(reply, " 7\n"));
	assert_null(strstr(reply, "beta"));
	free(reply);
	reply = receive(engine,
		ask(engine, target_of(target, ANSWER_FIXTURE_FIRST, ANSWER_FIXTURE_SECOND, "")));
	assert_int_equal(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
	assert_null(strstr(reply, " 7\n"));
	assert_non_null(strstr(reply, "beta"));
	free(reply);
	reply = receive(engine, ask(engine, target_of(target, ANSWER_FIXTURE_SECOND - 1,
						    ANSWER_FIXTURE_SECOND + 1, "")));
	assert_non_null(strstr(reply, " 7\n"));
	assert_non_null(strstr(reply, "beta"));
	free(reply);
}

static void every_format_comes_whole(void **state)
{
	static const struct {
		const char *target, *type;
	} formats[] = {
		{ "/api/v1/profile?from=2026-09-04&to=2026-09-05&format=svg", "image/svg+xml" },
		{ "/api/v1/profile?from=2026-09-04&to=2026-09-05&format=txt", "text/plain" },
		{ "/api/v1/profile?from=2026-09-04&to=2026-09-05&format=pprof",
			"application/octet-stream" },
		{ "/api/v1/diff?from=2026-09-05&to=2026-09-06&against.from=2026-09-04&"
		  "against.to=2026-09-05&format=svg",
			"image/svg+xml" },
	};
	struct engine *engine = *state;

	start_api(engine, use_fixture);
	api_sealed(engine->api, clock_realtime_ns());
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		char type[64];

		(void)snprintf(type, sizeof(type), "Content-Type: %s", formats[i].type);
		CHECK_REPLY(engine, ask(engine, formats[i].target), 200, type);
		/* A browser may run the script of a picture, and nothing else. */
		CHECK_REPLY(engine, ask(engine, formats[i].target), 200,
			strstr(type, "svg") ? "'none'; script-src 'sha256-" : "'none'; base-uri");
	}
	CHECK_REPLY(
		engine, ask(engine, "/api/v1/profile?from=2026-09-04&format=gif"), 400, "format");
}

static void let_guests_in(struct api_options *options)
{
	use_fixture(options);
	options->access.allows_self = true;
}

/* Alpha is of user 1000. */
static void guests_see_their_own_samples(void **state)
{
	static const char target[] = "/api/v1/profile?format=folded&from=2026-09-04&to=2026-09-06";
	struct engine *engine = *state;
	char *reply;

	start_api(engine, let_guests_in);
	reply = receive(engine, ask_as_guest(engine, 1000, target));
	assert_non_null(strstr(reply, "alpha;"));
	assert_null(strstr(reply, "beta"));
	assert_null(strstr(reply, "gamma"));
	assert_null(strstr(reply, "[lost"));
	free(reply);
	CHECK_REPLY(engine, ask_as_guest(engine, 4242, target), 404,
		"nothing in the history matches all of this", "of user 4242 alone");
	reply = receive(engine, ask(engine, target));
	assert_non_null(strstr(reply, "gamma;"));
	free(reply);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_ENGINE(a_profile_comes_out_of_the_history),
		WITH_ENGINE(a_window_that_ends_at_the_start_is_excluded),
		WITH_ENGINE(every_format_comes_whole),
		AS_ROOT_WITH_ENGINE(guests_see_their_own_samples),
	};

	if (argc > 1 && strcmp(argv[1], "answer") == 0)
		return answer_main(argc, argv);
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, begin, end);
}
