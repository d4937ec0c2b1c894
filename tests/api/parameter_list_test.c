/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "api/parameter_list.h"

#include "answer/answer_request.h"
#include "base/array.h"
#include "tests/harness/failing_allocation.h"
#include "tests/serve/http_fixture.h"

/* What a route of a test is to do with its request, and what came of it. */
struct seen {
	enum parameter_route route;
	struct parameter_list list;
	char unknown[64];
	int result;
};

static void take(void *context, struct http_request *request)
{
	struct seen *seen = context;
	const char *unknown = "";

	seen->result = parameter_list_read(&seen->list, seen->route, request, &unknown);
	(void)snprintf(seen->unknown, sizeof(seen->unknown), "%s", unknown);
	http_answer_text(request, 200, "seen");
}

static const struct http_route routes[] = {
	{ "GET", "/", take, NULL, NULL, false },
	{ 0 },
};

/* The list is the caller's. */
static void take_query(struct seen *seen, enum parameter_route route, const char *query)
{
	struct http_server *server;
	struct fault fault = { 0 };
	char *text = malloc(20000), *reply;

	assert_non_null(text);
	*seen = (struct seen){ .route = route, .result = 1 };
	assert_int_equal(
		http_server_new(&http_default_limits, NULL, 0, routes, seen, &server, &fault), 0);
	(void)snprintf(text, 20000,
		"GET /?%s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", query);
	reply = http_exchange(server, text);
	assert_int_equal(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
	free(reply);
	free(text);
	http_server_free(server);
}

static void parameters_are_kept_in_their_order(void **state)
{
	static const char expected[] = "unit\0a b\0pid\0"
				       "7\0unit\0\xe2\x82\xac\0lines\0\0last\0"
				       "1h";
	struct seen seen;

	take_query(&seen, PARAMETERS_PROFILE, "unit=a+b&pid=7&unit=%e2%82%ac&lines&last=1h");
	assert_int_equal(seen.result, 0);
	assert_int_equal(seen.list.size, sizeof(expected));
	assert_memory_equal(seen.list.bytes, expected, sizeof(expected));
	parameter_list_done(&seen.list);
	assert_null(seen.list.bytes);

	take_query(&seen, PARAMETERS_PROFILE, "");
	assert_int_equal(seen.result, 0);
	assert_int_equal(seen.list.size, 0);
	parameter_list_done(&seen.list);
}

static void each_route_knows_its_own(void **state)
{
	static const struct {
		const char *name;
		bool is_known[PARAMETERS_INCIDENTS + 1];
	} names[] = {
		{ "last", { true, true, false, true, true, false } },
		{ "from", { true, true, false, true, true, false } },
		{ "to", { true, true, false, true, true, false } },
		{ "pid", { true, true, true, true, false, false } },
		{ "unit", { true, true, true, true, false, false } },
		{ "build-id", { true, true, true, true, false, false } },
		{ "event", { true, true, true, true, true, false } },
		{ "windows", { true, true, true, true, false, false } },
		{ "trace", { true, true, true, false, false, false } },
		{ "attributes", { false, false, false, false, false, false } },
		{ "sample-hosts", { false, false, false, false, false, false } },
		{ "format", { true, true, false, true, false, true } },
		{ "labels", { true, false, true, false, false, false } },
		{ "lines", { true, true, true, false, false, false } },
		{ "group", { true, true, false, false, false, false } },
		{ "runtime-frames", { true, true, true, false, false, false } },
		{ "rows", { true, true, false, false, false, false } },
		{ "times", { true, false, false, false, false, false } },
		{ "frames", { true, false, false, false, false, false } },
		{ "below", { true, false, false, false, false, false } },
		{ "fresh", { true, false, false, false, false, false } },
		{ "normalise", { false, true, false, false, false, false } },
		{ "against.last", { false, true, false, false, false, false } },
		{ "against.unit", { false, true, false, false, false, false } },
		{ "against.format", { false, false, false, false, false, false } },
		{ "against.against.unit", { false, false, false, false, false, false } },
		{ "against.", { false, false, false, false, false, false } },
		{ "against", { false, false, false, false, false, false } },
		{ "seconds", { false, false, true, false, false, false } },
		{ "incident", { true, true, false, true, false, true } },
		{ "by", { false, false, false, false, true, false } },
		{ "buckets", { false, false, false, false, true, false } },
		{ "Unit", { false, false, false, false, false, false } },
	};
	struct seen seen;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		for (enum parameter_route route = PARAMETERS_PROFILE; route <= PARAMETERS_INCIDENTS;
			route++) {
			char query[64];

			/* Behind one that it knows. */
			(void)snprintf(query, sizeof(query), "%s=1&%s=x",
				route == PARAMETERS_INCIDENTS ? "format" : "event", names[i].name);
			take_query(&seen, route, query);
			if (seen.result != (names[i].is_known[route] ? 0 : -EINVAL))
				fail_msg("'%s', route %d: %d", names[i].name, (int)route,
					seen.result);
			assert_string_equal(
				seen.unknown, names[i].is_known[route] ? "" : names[i].name);
			parameter_list_done(&seen.list);
		}
}

static void what_routes_read_is_not_passed_on(void **state)
{
	struct seen seen;

	take_query(&seen, PARAMETERS_NEW_PROFILE, "seconds=3&pid=1");
	assert_int_equal(seen.result, 0);
	assert_int_equal(seen.list.size, 6);
	assert_memory_equal(seen.list.bytes, "pid\0001", 6);
	parameter_list_done(&seen.list);
	take_query(&seen, PARAMETERS_PROFILE, "fresh=no&pid=1");
	assert_memory_equal(seen.list.bytes, "pid\0001", 6);
	parameter_list_done(&seen.list);
}

static void so_many_bytes_there_may_be(void **state)
{
	struct parameter_list list = { 0 };
	char value[ANSWER_PARAMETERS_BYTES + 1];

	memset(value, 'v', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	/* "a", a NUL, the value, a NUL. */
	assert_int_equal(parameter_list_add(&list, "a", value + 2), -E2BIG);
	assert_int_equal(list.size, 0);
	assert_int_equal(parameter_list_add(&list, "a", value + 3), 0);
	assert_int_equal(list.size, ANSWER_PARAMETERS_BYTES);
	assert_int_equal(parameter_list_add(&list, "", ""), -E2BIG);
	assert_int_equal(list.size, ANSWER_PARAMETERS_BYTES);
	parameter_list_done(&list);
}

static void failing_allocations_leave_the_list_whole(void **state)
{
	size_t n;

	for (n = 0;; n++) {
		struct parameter_list list = { 0 };
		char value[100] = "";
		int r = 0, count = 0;

		memset(value, 'v', sizeof(value) - 1);
		fail_allocation(n);
		while (r == 0 && count < 50) {
			r = parameter_list_add(&list, "unit", value);
			count += r == 0;
		}
		assert_int_equal(list.size, (size_t)count * (5 + sizeof(value)));
		parameter_list_done(&list);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_true(n >= 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_are_kept_in_their_order),
		cmocka_unit_test(each_route_knows_its_own),
		cmocka_unit_test(what_routes_read_is_not_passed_on),
		cmocka_unit_test(so_many_bytes_there_may_be),
		cmocka_unit_test(failing_allocations_leave_the_list_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
