/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_access.h"

#include "tests/serve/http_fixture.h"

#include <fcntl.h>

static char *names[] = { "profiles.example.org", "pi" };
static const struct http_access with_names = { .host_names = names, .host_name_count = 2 };

static enum http_access_result check_fields(
	const struct http_access *access, bool is_local, const char *const *fields)
{
	struct http_access_request request = { .is_local = is_local };

	for (; *fields; fields += 2)
		http_access_add(&request, fields[0], fields[1]);
	return http_access_check(access, &request);
}
#define CHECK(access, is_local, ...) \
	check_fields(access, is_local, (const char *const[]){ __VA_ARGS__, NULL })

/* DNS rebinding: the name of a hostile site resolves to our address. */
static void a_host_must_be_an_address_or_a_known_name(void **state)
{
	static const char *const own[] = { "127.0.0.1", "127.0.0.1:7447", "192.0.2.1:80", "[::1]",
		"[::1]:7447", "[2001:db8::1]:65535", "localhost", "LocalHost:8080",
		"profiles.example.org", "Profiles.Example.ORG:7447", "pi:1" };
	static const char *const other[] = { "", ":7447", "evil.example", "evil.example:7447",
		"127.0.0.1.evil.example", "localhost.evil.example", "evil.example.localhost",
		"127.1", "0x7f.0.0.1", "2130706433", "127.0.0.1:", "127.0.0.1:x",
		"127.0.0.1:123456", "127.0.0.1:80:80", "127.0.0.1@evil.example",
		"evil.example#127.0.0.1", "::1", "::1:7447", "[::1", "[::1]7447", "[127.0.0.1]",
		"[]", "[localhost]", "pi.", "pix", "localhost ", " localhost",
		"localhost,evil.example" };
	char text[300];

	for (size_t i = 0; i < ARRAY_SIZE(own); i++)
		if (CHECK(&with_names, false, "Host", own[i]) != HTTP_ACCESS_ALLOWED)
			fail_msg("'%s' is refused", own[i]);
	for (size_t i = 0; i < ARRAY_SIZE(other); i++)
		if (CHECK(&with_names, false, "Host", other[i]) != HTTP_ACCESS_OTHER_HOST)
			fail_msg("'%s' is not refused", other[i]);
	for (size_t size = 250; size < sizeof(text); size++) {
		memset(text, '1', size);
		text[size] = '\0';
		assert_int_equal(CHECK(&with_names, false, "Host", text), HTTP_ACCESS_OTHER_HOST);
	}
	assert_int_equal(
		CHECK(&(struct http_access){ 0 }, false, "Host", "pi"), HTTP_ACCESS_OTHER_HOST);
	assert_int_equal(CHECK(&with_names, false, "X-Host", "pi"), HTTP_ACCESS_NO_HOST);
	/* Clients of the unix socket send any name, or none. */
	assert_int_equal(CHECK(&with_names, true, "Host", "pilotlight"), HTTP_ACCESS_ALLOWED);
	assert_int_equal(CHECK(&with_names, true, "X-Host", "x"), HTTP_ACCESS_ALLOWED);
}

static void a_field_may_not_be_there_twice(void **state)
{
	static const char *const fields[] = { "Host", "Origin", "Sec-Fetch-Site", "Sec-Fetch-Mode",
		"Sec-Fetch-Dest", "Authorization" };

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		for (int is_local = 0; is_local < 2; is_local++)
			assert_int_equal(CHECK(&with_names, is_local, "host", "pi", fields[i], NULL,
						 fields[i], "none"),
				HTTP_ACCESS_TWICE);
	assert_int_equal(CHECK(&with_names, false, "Host", "pi", "Accept", "a", "Accept", "b"),
		HTTP_ACCESS_ALLOWED);
}

static void pages_of_other_origins_are_refused(void **state)
{
	static const char *const own[] = { "http://127.0.0.1:7447", "https://127.0.0.1:7447" };
	static const char *const other[] = { "null", "", "http://evil.example",
		"http://127.0.0.1:7448", "http://127.0.0.1", "127.0.0.1:7447",
		"ftp://127.0.0.1:7447", "http://127.0.0.1:7447/", "http://127.0.0.1:7447.evil" };

	for (int is_local = 0; is_local < 2; is_local++) {
		for (size_t i = 0; i < ARRAY_SIZE(own); i++)
			assert_int_equal(CHECK(&with_names, is_local, "Host", "127.0.0.1:7447",
						 "Origin", own[i]),
				HTTP_ACCESS_ALLOWED);
		for (size_t i = 0; i < ARRAY_SIZE(other); i++)
			if (CHECK(&with_names, is_local, "Host", "127.0.0.1:7447", "Origin",
				    other[i]) != HTTP_ACCESS_OTHER_ORIGIN)
				fail_msg("'%s' is not refused", other[i]);
		assert_int_equal(
			CHECK(&with_names, true, "Origin", own[0]), HTTP_ACCESS_OTHER_ORIGIN);
	}
}

/* Images, scripts and frames of other pages come without an Origin. */
static void only_links_lead_here_from_other_sites(void **state)
{
	static const struct {
		const char *site, *mode, *destination;
		enum http_access_result result;
	} cases[] = {
		{ "none", "navigate", "document", HTTP_ACCESS_ALLOWED },
		{ "same-origin", "cors", "empty", HTTP_ACCESS_ALLOWED },
		{ "same-origin", "no-cors", "image", HTTP_ACCESS_ALLOWED },
		{ "cross-site", "navigate", "document", HTTP_ACCESS_ALLOWED },
		{ "same-site", "navigate", "document", HTTP_ACCESS_ALLOWED },
		{ "cross-site", "navigate", "iframe", HTTP_ACCESS_OTHER_ORIGIN },
		{ "cross-site", "navigate", "object", HTTP_ACCESS_OTHER_ORIGIN },
		{ "cross-site", "no-cors", "image", HTTP_ACCESS_OTHER_ORIGIN },
		{ "cross-site", "no-cors", "script", HTTP_ACCESS_OTHER_ORIGIN },
		{ "cross-site", "no-cors", "document", HTTP_ACCESS_OTHER_ORIGIN },
		{ "same-site", "no-cors", "image", HTTP_ACCESS_OTHER_ORIGIN },
		{ "same-site", "cors", "empty", HTTP_ACCESS_OTHER_ORIGIN },
		{ "unheard-of", "cors", "empty", HTTP_ACCESS_OTHER_ORIGIN },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (int is_local = 0; is_local < 2; is_local++)
			if (CHECK(&with_names, is_local, "Host", "pi", "Sec-Fetch-Site",
				    cases[i].site, "Sec-Fetch-Mode", cases[i].mode,
				    "Sec-Fetch-Dest", cases[i].destination) != cases[i].result)
				fail_msg("%s %s %s", cases[i].site, cases[i].mode,
					cases[i].destination);
	assert_int_equal(CHECK(&with_names, false, "Host", "pi", "Sec-Fetch-Site", "cross-site"),
		HTTP_ACCESS_OTHER_ORIGIN);
}

static void strangers_on_tcp_need_the_token(void **state)
{
	static const struct {
		const char *value;
		enum http_access_result result;
	} cases[] = {
		{ "Bearer 0123456789abcdef", HTTP_ACCESS_ALLOWED },
		{ "bearer   0123456789abcdef", HTTP_ACCESS_ALLOWED },
		{ "Bearer 0123456789abcdeF", HTTP_ACCESS_OTHER_TOKEN },
		{ "Bearer 0123456789abcde", HTTP_ACCESS_OTHER_TOKEN },
		{ "Bearer 0123456789abcdef0", HTTP_ACCESS_OTHER_TOKEN },
		{ "Bearer 0123456789abcdef ", HTTP_ACCESS_OTHER_TOKEN },
		{ "Bearer ", HTTP_ACCESS_OTHER_TOKEN },
		{ "Bearer", HTTP_ACCESS_OTHER_TOKEN },
		{ "Bearer0123456789abcdef", HTTP_ACCESS_OTHER_TOKEN },
		{ "Basic 0123456789abcdef", HTTP_ACCESS_OTHER_TOKEN },
		{ "0123456789abcdef", HTTP_ACCESS_OTHER_TOKEN },
		{ "", HTTP_ACCESS_OTHER_TOKEN },
	};
	const struct http_access access = { .token = "0123456789abcdef" };
	const struct http_access closed = { .token = "0123456789abcdef", .refusal = "closed" };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (CHECK(&access, false, "Host", "localhost", "Authorization", cases[i].value) !=
			cases[i].result)
			fail_msg("'%s'", cases[i].value);
		assert_int_equal(
			CHECK(&access, true, "Host", "localhost", "Authorization", cases[i].value),
			HTTP_ACCESS_ALLOWED);
		assert_int_equal(
			CHECK(&closed, false, "Host", "localhost", "Authorization", cases[i].value),
			HTTP_ACCESS_CLOSED);
	}
	assert_int_equal(CHECK(&access, false, "Host", "localhost"), HTTP_ACCESS_NO_TOKEN);
	assert_int_equal(CHECK(&access, true, "Host", "localhost"), HTTP_ACCESS_ALLOWED);
	assert_int_equal(CHECK(&closed, true, "Host", "localhost"), HTTP_ACCESS_ALLOWED);
}

/* The server's answers to requests by TCP. */
static void ask_by_tcp(struct http_server *server, const char *fields, const char *const *parts)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	char text[1024];
	int fd;

	assert_int_equal(
		getsockname(server->listeners[0].fd, (struct sockaddr *)&address, &size), 0);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	(void)snprintf(
		text, sizeof(text), "GET /hello HTTP/1.1\r\n%sConnection: close\r\n\r\n", fields);
	http_ask(server, fd, text);
	http_check(server, fd, parts);
}
#define EXPECT_BY_TCP(server, fields, ...) \
	ask_by_tcp(server, fields, (const char *const[]){ __VA_ARGS__, NULL })

static void strangers_get_no_answer_by_tcp(void **state)
{
	struct http_access access = with_names;
	struct http_listener listener;
	struct http_seen *seen = *state;
	struct http_server *server;
	struct fault fault = { 0 };

	assert_int_equal(http_listen_tcp("127.0.0.1:0", &listener, &fault), 0);
	assert_int_equal(http_server_new(&http_default_limits, &listener, 1, http_test_routes, seen,
				 &seen->server, &fault),
		0);
	server = seen->server;
	EXPECT_BY_TCP(server, "Host: 127.0.0.1\r\n", "HTTP/1.1 200 ", "<p>hello");
	EXPECT_BY_TCP(server, "Host: evil.example\r\n", "HTTP/1.1 403 ", "'evil.example' refused",
		"HostNames=");
	EXPECT_BY_TCP(server, "Host: pi\r\n", "HTTP/1.1 403 ");
	EXPECT_BY_TCP(server, "Host: \x1b[31m\r\n", "HTTP/1.1 403 ", "'\xEF\xBF\xBD[31m'");
	EXPECT_BY_TCP(server, "Host: 127.0.0.1\r\nHost: evil.example\r\n", "HTTP/1.1 400 ");
	EXPECT_BY_TCP(server, "Host: 127.0.0.1\r\nOrigin: http://evil.example\r\n", "HTTP/1.1 403 ",
		"another site");
	EXPECT_BY_TCP(server, "Host: 127.0.0.1\r\nSec-Fetch-Site: cross-site\r\n", "HTTP/1.1 403 ");
	http_server_set_access(server, &access);
	EXPECT_BY_TCP(server, "Host: pi\r\n", "HTTP/1.1 200 ");
	access.token = "0123456789abcdef";
	http_server_set_access(server, &access);
	EXPECT_BY_TCP(server, "Host: pi\r\n", "HTTP/1.1 401 ",
		"WWW-Authenticate: Bearer realm=\"pilotlight\"\r\n", "No token");
	EXPECT_BY_TCP(server, "Host: pi\r\nAuthorization: Bearer 0123\r\n", "HTTP/1.1 401 ",
		"error=\"invalid_token\"\r\n", "Wrong token");
	EXPECT_BY_TCP(
		server, "Host: pi\r\nAuthorization: Bearer 0123456789abcdef\r\n", "HTTP/1.1 200 ");
	EXPECT(server, "GET /hello HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ");
	/* A path without data, of which the request is; nothing else changes for it. */
	access.open_path = "/hello";
	http_server_set_access(server, &access);
	EXPECT_BY_TCP(server, "Host: pi\r\n", "HTTP/1.1 200 ");
	EXPECT_BY_TCP(server, "Host: pi\r\nAuthorization: Bearer 0123\r\n", "HTTP/1.1 401 ",
		"Wrong token");
	EXPECT_BY_TCP(server, "Host: evil.example\r\n", "HTTP/1.1 403 ");
	EXPECT_BY_TCP(server, "Host: pi\r\nOrigin: http://evil.example\r\n", "HTTP/1.1 403 ");
	access.open_path = "/parameters";
	http_server_set_access(server, &access);
	EXPECT_BY_TCP(server, "Host: pi\r\n", "HTTP/1.1 401 ", "No token");
	access.refusal = "The token cannot be read.";
	http_server_set_access(server, &access);
	EXPECT_BY_TCP(server, "Host: pi\r\nAuthorization: Bearer 0123456789abcdef\r\n",
		"HTTP/1.1 503 ", "The token cannot be read.\n");
	EXPECT(server, "GET /hello HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ");
	EXPECT(server, "GET /hello HTTP/1.1\r\nOrigin: http://evil.example\r\n" CLOSE,
		"HTTP/1.1 403 ");
	assert_int_equal(http_counters_of(server).statuses[4], 13);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_host_must_be_an_address_or_a_known_name),
		cmocka_unit_test(a_field_may_not_be_there_twice),
		cmocka_unit_test(pages_of_other_origins_are_refused),
		cmocka_unit_test(only_links_lead_here_from_other_sites),
		cmocka_unit_test(strangers_on_tcp_need_the_token),
		WITH_SERVER(strangers_get_no_answer_by_tcp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
