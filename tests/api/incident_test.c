/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Noting incidents, and asking for them. */
#include "tests/api/api_fixture.h"

static struct {
	int result;
	unsigned count;
	char text[64];
} noted;

static int note(void *context, const char *text)
{
	assert_non_null(context);
	noted.count++;
	(void)snprintf(noted.text, sizeof(noted.text), "%s", text);
	return noted.result;
}

static void take_notes(struct api_options *options)
{
	options->note_incident = note;
	noted.count = 0;
	noted.result = 0;
}

static void a_text_is_noted(void **state)
{
	struct engine *engine = *state;

	start_api(engine, take_notes);
	CHECK_REPLY(engine, ask(engine, "/api/v1/incident?text=deploy+42"), 200, "Noted.");
	assert_int_equal(noted.count, 1);
	assert_string_equal(noted.text, "deploy 42");
}

static void refusals_say_why(void **state)
{
	struct engine *engine = *state;

	start_api(engine, take_notes);
	CHECK_REPLY(engine, ask(engine, "/api/v1/incident"), 400, "say what happened");
	CHECK_REPLY(engine, ask(engine, "/api/v1/incident?text="), 400, "say what happened");
	CHECK_REPLY(engine, ask(engine, "/api/v1/incident?text=a&cause=x"), 400,
		"Unknown parameter 'cause'");
	assert_int_equal(noted.count, 0);
	noted.result = -EBUSY;
	CHECK_REPLY(engine, ask(engine, "/api/v1/incident?text=a"), 503, "Try again");
	noted.result = -EOPNOTSUPP;
	CHECK_REPLY(engine, ask(engine, "/api/v1/incident?text=a"), 404, "No history");
	assert_int_equal(engine->api->queries.refused + engine->api->queries.failed, 5);
}

static void an_engine_may_have_none(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine, ask(engine, "/api/v1/incident?text=a"), 404, "No history");
}

static void the_list_is_a_query(void **state)
{
	struct engine *engine = *state;

	start_api(engine, NULL);
	CHECK_REPLY(engine, ask(engine, "/api/v1/incidents?format=json"), 200, "kind 5, scope 1, ");
	CHECK_REPLY(engine, ask(engine, "/api/v1/incidents?incident=2"), 200, "kind 5, scope 1, ");
	CHECK_REPLY(
		engine, ask(engine, "/api/v1/incidents?last=1h"), 400, "Unknown parameter 'last'");
	/* It needs no window to end. */
	assert_int_equal(engine->seal_requests, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_ENGINE(a_text_is_noted),
		WITH_ENGINE(refusals_say_why),
		WITH_ENGINE(an_engine_may_have_none),
		WITH_ENGINE(the_list_is_a_query),
	};

	if (argc > 1 && strcmp(argv[1], "answer") == 0)
		return answer_role();
	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
