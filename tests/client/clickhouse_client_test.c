/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/clickhouse_client.h"

#include "tests/client/clickhouse_stand_in.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>

enum { BYTES_MAX = 1 << 16 };

static struct stand_in stand_in;
static struct clickhouse_client *client;

/* What a query is answered with: its number of rows, a refusal, or a broken answer. */
static struct stand_in_answer answer(const char *request, size_t size)
{
	static char many[2 * BYTES_MAX];

	if (strstr(request, "SELECT many"))
		return (struct stand_in_answer){ "200 OK", many, sizeof(many) };
	if (strstr(request, "SELECT refused"))
		return (struct stand_in_answer){ "404 Not Found",
			"Code: 60, e.displayText() = DB::Exception: Table x doesn't exist\x1b\n",
			66 };
	if (strstr(request, "SELECT secret"))
		return (struct stand_in_answer){ "500 Internal Server Error",
			"Code: 193, e.displayText() = DB::Exception: Wrong password", 58 };
	if (strstr(request, "SELECT broken"))
		return (struct stand_in_answer){ NULL, NULL, 0 };
	return (struct stand_in_answer){ "200 OK", "\x01\x02\x00\x03", 4 };
}

static void start(const struct clickhouse_server *server)
{
	struct clickhouse_server own = *server;
	struct fault fault = { 0 };

	stand_in_start(&stand_in, answer);
	own.url = stand_in.url;
	if (clickhouse_client_new(&own, BYTES_MAX, 10, &client, &fault) < 0)
		fail_msg("%s", fault.text);
}

static int tear_down(void **state)
{
	clickhouse_client_free(client);
	client = NULL;
	if (stand_in.pid > 0)
		stand_in_stop(&stand_in);
	stand_in.pid = 0;
	return 0;
}

static void a_query_is_answered(void **state)
{
	struct clickhouse_answer got = { 0 };
	struct fault fault = { 0 };

	start(&(struct clickhouse_server){ .user = "fleet", .password = "p:w" });
	assert_int_equal(clickhouse_client_query(client, "SELECT 1", NULL, &got, &fault), 0);
	assert_int_equal(got.size, 4);
	assert_memory_equal(got.bytes, "\x01\x02\x00\x03", 4);
	clickhouse_answer_done(&got);
	assert_non_null(strstr(stand_in.last, "POST /?wait_end_of_query=1"));
	assert_non_null(strstr(stand_in.last, "\r\n\r\nSELECT 1"));
	/* fleet:p:w */
	assert_non_null(strstr(stand_in.last, "Authorization: Basic ZmxlZXQ6cDp3\r\n"));
}

static void a_table_is_sent_with_a_query(void **state)
{
	const struct clickhouse_table table = {
		.name = "asked", .columns = "id UInt64", .rows = "12345678", .bytes = 8
	};
	struct clickhouse_answer got = { 0 };
	struct fault fault = { 0 };

	start(&(struct clickhouse_server){ 0 });
	assert_int_equal(
		clickhouse_client_query(client, "SELECT x IN asked", &table, &got, &fault), 0);
	clickhouse_answer_done(&got);
	assert_non_null(strstr(stand_in.last, "&query=SELECT%20x%20IN%20asked"));
	assert_non_null(
		strstr(stand_in.last, "&asked_structure=id%20UInt64&asked_format=RowBinary"));
	assert_non_null(strstr(stand_in.last, "name=\"asked\"; filename=\"asked\"\r\n"));
	assert_non_null(strstr(stand_in.last, "\r\n\r\n12345678\r\n--pilotlight-"));
	assert_null(strstr(stand_in.last, "Authorization"));
}

static void what_fails_is_explained(void **state)
{
	static const struct {
		const char *sql;
		int error;
		const char *words, *remedy;
	} cases[] = {
		{ "SELECT many", -E2BIG, "larger than 0 MiB", "select less time" },
		{ "SELECT refused", -EREMOTEIO, "answers 404: Code: 60", "pilotlight fleet init" },
		{ "SELECT secret", -EREMOTEIO, "Wrong password", "--password-file" },
		{ "SELECT broken", -EIO,
			"cannot ask ClickHouse at http://127.0.0.1:", "check the URL" },
	};
	struct clickhouse_answer got = { 0 };

	start(&(struct clickhouse_server){ 0 });
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fault fault = { 0 };

		assert_int_equal(clickhouse_client_query(client, cases[i].sql, NULL, &got, &fault),
			cases[i].error);
		if (!strstr(fault.text, cases[i].words) || !strstr(fault.text, cases[i].remedy))
			fail_msg("%s", fault.text);
		assert_null(strchr(fault.text, '\x1b'));
		assert_null(got.bytes);
	}
	/* It goes on. */
	assert_int_equal(clickhouse_client_query(client, "SELECT 1", NULL, &got, NULL), 0);
	clickhouse_answer_done(&got);
}

static void a_server_that_is_gone_is_explained(void **state)
{
	struct clickhouse_answer got = { 0 };
	struct fault fault = { 0 };

	start(&(struct clickhouse_server){ 0 });
	stand_in_stop(&stand_in);
	stand_in.pid = 0;
	assert_int_equal(clickhouse_client_query(client, "SELECT 1", NULL, &got, &fault), -EIO);
	assert_non_null(strstr(fault.text, "check the URL"));
}

static void wrong_urls_are_refused(void **state)
{
	static const char *const urls[] = { "", "clickhouse:8123", "ftp://a", "http://",
		"http:///x", "http://user:pw@a", "http://a/?query=x", "http://a b" };

	for (size_t i = 0; i < sizeof(urls) / sizeof(urls[0]); i++) {
		struct fault fault = { 0 };

		if (clickhouse_client_new(&(struct clickhouse_server){ .url = urls[i] }, 1, 1,
			    &client, &fault) != -EINVAL)
			fail_msg("%s", urls[i]);
		assert_non_null(strstr(fault.text, "http://HOST:8123"));
	}
}

static void failing_allocations_leave_nothing(void **state)
{
	const struct clickhouse_table table = {
		.name = "asked", .columns = "id UInt64", .rows = "12345678", .bytes = 8
	};
	struct clickhouse_answer got = { 0 };

	start(&(struct clickhouse_server){ 0 });
	assert_true(FAIL_EACH_ALLOCATION(clickhouse_client_query(
						 client, "SELECT x IN asked", &table, &got, NULL),
			    -ENOMEM, !got.bytes, 0) >= 3);
	clickhouse_answer_done(&got);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(a_query_is_answered, tear_down),
		cmocka_unit_test_teardown(a_table_is_sent_with_a_query, tear_down),
		cmocka_unit_test_teardown(what_fails_is_explained, tear_down),
		cmocka_unit_test_teardown(a_server_that_is_gone_is_explained, tear_down),
		cmocka_unit_test_teardown(wrong_urls_are_refused, tear_down),
		cmocka_unit_test_teardown(failing_allocations_leave_nothing, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
