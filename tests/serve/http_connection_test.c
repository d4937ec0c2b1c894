/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bounds of connections, for one user and for all, and their timeouts. */
#include "tests/serve/http_fixture.h"

static struct http_server *start_as_root(struct http_seen *seen, const struct http_limits *limits)
{
	if (geteuid() != 0) {
		print_message("skipped: only root can connect as other users\n");
		skip();
	}
	return http_start(seen, limits);
}

/* Connects as another user: the kernel records who made a pair of sockets. */
static int connect_as(struct http_server *server, uid_t user)
{
	int fd;

	assert_int_equal(seteuid(user), 0);
	fd = http_connect(server);
	assert_int_equal(seteuid(0), 0);
	return fd;
}

/* Two users take all that they may have and ask for more: a third one still gets in. */
static void one_user_cannot_use_all_connections(void **state)
{
	static const struct http_limits limits = { 16, 8, 16 << 10, 1 << 20, 10, 60 };
	struct http_server *server = start_as_root(*state, &limits);
	int fds[2 * (8 + REFUSALS_MAX)], fd;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_as(server, 1 + i % 2);
	/* 7 each: the last two are reserved for users without a connection. */
	assert_int_equal(http_counters_of(server).open, 14 + REFUSALS_MAX);
	fd = connect_as(server, 3);
	http_ask(server, fd, "GET /hello HTTP/1.1\r\n" CLOSE);
	EXPECT_REPLY(server, fd, "HTTP/1.1 200 ");
	fd = connect_as(server, 1);
	http_ask(server, fd, "GET /hello HTTP/1.1\r\n" CLOSE);
	EXPECT_REPLY(server, fd, "HTTP/1.1 503 ");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
}

/* A client that is refused at once, and has sent its request, gets the refusal. */
static void refused_clients_get_an_answer(void **state)
{
	static const struct http_limits limits = { 16, 1, 16 << 10, 1 << 20, 10, 60 };
	struct http_server *server = start_as_root(*state, &limits);
	int fds[1 + REFUSALS_MAX], pair[2];
	static char long_request[16 << 10];

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_as(server, 1);
	assert_int_equal(seteuid(1), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	memset(long_request, 'a', sizeof(long_request));
	assert_int_equal(send(pair[1], long_request, sizeof(long_request), MSG_NOSIGNAL),
		sizeof(long_request));
	http_connection_add(server, pair[0]);
	assert_int_equal(seteuid(0), 0);
	EXPECT_REPLY(NULL, pair[1], "HTTP/1.1 429 ", "Connection: close\r\n\r\n");
	assert_int_equal(http_counters_of(server).open, 1 + REFUSALS_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
}

static void connections_are_bounded_per_user_and_in_all(void **state)
{
	static const struct http_limits of_user = { 2, 2, 16 << 10, 1 << 20, 10, 60 },
					of_all = { 2, 8, 16 << 10, 1 << 20, 10, 60 };
	int fds[2 + REFUSALS_MAX], beyond;
	struct http_seen *seen = *state;

	for (int round = 0; round < 2; round++) {
		struct http_server *server = http_start(seen, round ? &of_all : &of_user);

		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			fds[i] = http_connect(server);
		beyond = http_connect(server);
		EXPECT_REPLY(server, beyond, round ? "HTTP/1.1 503 Service" : "HTTP/1.1 429 Too");
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
			http_ask(server, fds[i], "GET /hello HTTP/1.1\r\n" CLOSE);
			EXPECT_REPLY(server, fds[i], "Connection: close\r\n",
				i < 2	? "HTTP/1.1 200 "
				: round ? "HTTP/1.1 503 "
					: "HTTP/1.1 429 ");
		}
		EXPECT(server, "GET /hello HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ");
		assert_int_equal(http_counters_of(server).connections, ARRAY_SIZE(fds) + 2);
		assert_int_equal(http_counters_of(server).connections_refused, REFUSALS_MAX + 1);
	}
}

static void a_request_head_has_a_timeout(void **state)
{
	static const struct http_limits limits = { 8, 8, 16 << 10, 1 << 20, 1, 60 };
	static const char *const starts[] = { "", "GET /hello HT", "GET /hello HTTP/1.1\r\n" HOST,
		"GET /hello HTTP/1.1\r\n" HOST "\r\n" };
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, &limits);
	int fds[ARRAY_SIZE(starts)];

	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		fds[i] = http_connect(server);
		http_ask(server, fds[i], starts[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		char *reply = http_receive(server, fds[i], NULL);

		/* Only the last request is complete. Its client then sends nothing more. */
		assert_int_equal(strstr(reply, "<p>hello") != NULL, i == 3);
		free(reply);
		(void)close(fds[i]);
	}
	assert_int_equal(http_counters_of(server).timeouts, 3);
	assert_int_equal(http_counters_of(server).open, 0);
}

static void a_reader_that_stalls_is_disconnected(void **state)
{
	static const struct http_limits limits = { 8, 8, 16 << 10, 6 << 20, 10, 1 };
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, &limits);
	int fd = http_connect(server);

	seen->big_bytes = 3 << 20;
	http_ask(server, fd, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	do
		http_step(server, -1, 0);
	while (http_counters_of(server).open > 0);
	assert_int_equal(http_counters_of(server).timeouts, 1);
	assert_true(http_counters_of(server).bytes < seen->big_bytes);
	assert_int_equal(server->answer_bytes, 0);
	(void)close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(one_user_cannot_use_all_connections),
		WITH_SERVER(refused_clients_get_an_answer),
		WITH_SERVER(connections_are_bounded_per_user_and_in_all),
		WITH_SERVER(a_request_head_has_a_timeout),
		WITH_SERVER(a_reader_that_stalls_is_disconnected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
