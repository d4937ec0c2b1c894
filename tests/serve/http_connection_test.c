/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Who is let in where several users want more connections than there are. */
#include "base/array.h"
#include "tests/serve/http_fixture.h"

#define REQUEST "GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n"

static void answer_hello(void *context, struct http_request *request)
{
	(void)context;
	http_answer_text(request, 200, "hello");
}

static struct http_server *new_server(const struct http_limits *limits)
{
	static const struct http_route routes[] = {
		{ "GET", "/", answer_hello, NULL, NULL },
		{ 0 },
	};
	struct http_server *server;
	struct fault fault = { 0 };

	if (geteuid() != 0) {
		print_message("only root can connect as others\n");
		skip();
	}
	assert_int_equal(http_server_new(limits, NULL, 0, routes, NULL, &server, &fault), 0);
	return server;
}

/* As another user: of a pair of sockets the kernel tells who has made it. */
static int connect_as(struct http_server *server, uid_t user)
{
	int fd;

	assert_int_equal(seteuid(user), 0);
	fd = http_connect(server);
	assert_int_equal(seteuid(0), 0);
	return fd;
}

static void expect_answer(struct http_server *server, int fd, const char *begin)
{
	char *reply;

	http_ask(server, fd, REQUEST);
	reply = http_receive(server, fd, NULL);
	assert_memory_equal(reply, begin, strlen(begin));
	free(reply);
	(void)close(fd);
}

static unsigned open_connections(const struct http_server *server)
{
	struct http_counters counters;

	http_server_counters(server, &counters);
	return (unsigned)counters.open;
}

/* Two take what they may and try for more: a third one is heard all the same. */
static void one_user_cannot_use_all_connections(void **state)
{
	static const struct http_limits limits = { 16, 8, 16 << 10, 1 << 20, 10, 60 };
	struct http_server *server = new_server(&limits);
	int fds[2 * (8 + REFUSALS_MAX)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_as(server, 1 + i % 2);
	/* 7 each: the last two are for users who have none. */
	assert_int_equal(open_connections(server), 14 + REFUSALS_MAX);
	expect_answer(server, connect_as(server, 3), "HTTP/1.1 200 ");
	expect_answer(server, connect_as(server, 1), "HTTP/1.1 503 ");
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
	http_server_free(server);
}

/* Of those that are refused at once, one that has asked is told, whatever it has asked for. */
static void refused_clients_get_an_answer(void **state)
{
	static const struct http_limits limits = { 16, 1, 16 << 10, 1 << 20, 10, 60 };
	struct http_server *server = new_server(&limits);
	int fds[1 + REFUSALS_MAX], pair[2];
	static char long_request[16 << 10];
	char *reply;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		fds[i] = connect_as(server, 1);
	assert_int_equal(seteuid(1), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(seteuid(0), 0);
	memset(long_request, 'a', sizeof(long_request));
	assert_int_equal(send(pair[1], long_request, sizeof(long_request), MSG_NOSIGNAL),
		sizeof(long_request));
	http_connection_add(server, pair[0]);
	reply = http_receive(NULL, pair[1], NULL);
	assert_memory_equal(reply, "HTTP/1.1 429 ", 13);
	assert_non_null(strstr(reply, "Connection: close\r\n\r\n"));
	free(reply);
	assert_int_equal(open_connections(server), 1 + REFUSALS_MAX);
	(void)close(pair[1]);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
		(void)close(fds[i]);
	http_server_free(server);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_cannot_use_all_connections),
		cmocka_unit_test(refused_clients_get_an_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
