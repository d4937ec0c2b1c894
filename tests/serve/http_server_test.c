/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_server.h"

#include "tests/harness/failing_allocation.h"
#include "tests/serve/http_fixture.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/un.h>

static void routes_answer(void **state)
{
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, NULL);
	char *reply;

	EXPECT(server, "GET /hello HTTP/1.1\r\nAccept-Encoding: gzip\r\n" CLOSE,
		"HTTP/1.1 200 OK\r\n", "Content-Type: text/html\r\n", "X-One: 1\r\n",
		"X-Two: 2\r\n", "Cache-Control: no-store\r\n", "Content-Length: 8\r\n",
		"\r\n\r\n<p>hello");
	assert_true(seen->peer.is_local);
	assert_int_equal(seen->peer.uid, getuid());
	assert_int_equal(seen->peer.gid, getgid());
	assert_int_equal(seen->peer.pid, getpid());
	assert_string_equal(seen->peer.address, "unix");

	reply = http_exchange(server, "HEAD /hello HTTP/1.1\r\n" CLOSE);
	assert_non_null(strstr(reply, "Content-Length: 8\r\n"));
	assert_null(strstr(reply, "<p>hello"));
	assert_string_equal(reply + strlen(reply) - 4, "\r\n\r\n");
	free(reply);

	EXPECT(server, "GET /parameters?b=1&a=%e2%82%ac+x&a=2 HTTP/1.1\r\n" CLOSE,
		"text/plain; charset=utf-8", "each 0, a '€ x'\nsecond line\n");
	assert_string_equal(seen->parameters, "b=1;a=€ x;a=2;");
	EXPECT(server, "GET /parameters?stop&a=%1b%5b31m HTTP/1.0\r\n\r\n",
		"each -125, a '\xEF\xBF\xBD[31m'\n");
	assert_string_equal(seen->parameters, "stop=;");
}

static void unknown_routes_are_refused(void **state)
{
	struct http_server *server = http_start(*state, NULL);
	struct http_counters counters;

	EXPECT(server, "GET /nothing%0ahere HTTP/1.1\r\n" CLOSE, "HTTP/1.1 404 ", "'/nothing");
	EXPECT(server, "POST /hello HTTP/1.1\r\n" CLOSE, "HTTP/1.1 405 ", "Allow: GET, HEAD\r\n");
	EXPECT(server, "GET /put HTTP/1.1\r\n" CLOSE, "HTTP/1.1 405 ", "Allow: PUT\r\n");
	EXPECT(server, "GET /hello HTTP/1.1\r\nContent-Length: 3\r\n" HOST "\r\nabc",
		"HTTP/1.1 413 ", "Connection: close\r\n");
	EXPECT(server, "GET /hello HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "\r\n0\r\n\r\n",
		"HTTP/1.1 413 ");
	EXPECT(server, "GET /hello%00 HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 400 ",
		"percent-encoded");
	EXPECT(server, "GET /hello?a=%ff HTTP/1.1\r\n" HOST "\r\n", "HTTP/1.1 400 ");
	EXPECT(server, "GET /hello HTTP/1.1\r\n\r\n", "HTTP/1.1 400 ");
	EXPECT(server, "no sense\r\n\r\n", "HTTP/1.1 400 ");
	EXPECT(server, "nonsense\r\n\r\n", "");
	counters = http_counters_of(server);
	assert_int_equal(counters.connections, 10);
	assert_int_equal(counters.open, 0);
	assert_int_equal(counters.statuses[2], 0);
	assert_int_equal(counters.statuses[4], 7);
}

static void a_body_is_discarded_where_that_is_allowed(void **state)
{
	struct http_server *server = http_start(*state, NULL);

	EXPECT(server,
		"POST /discard HTTP/1.1\r\nAccept-Encoding: deflate, GZIP;q=0.5\r\n"
		"Content-Length: 3\r\n" CLOSE "abc",
		"HTTP/1.1 200 ", "gzip 1");
	EXPECT(server, "POST /discard HTTP/1.1\r\nAccept-Encoding: gzip;q=0\r\n" CLOSE,
		"HTTP/1.1 200 ", "gzip 0");
	EXPECT(server, "GET /discard HTTP/1.1\r\nContent-Length: 3\r\n" HOST "\r\nabc",
		"HTTP/1.1 413 ");
	EXPECT(server, "POST /discard HTTP/1.1\r\nContent-Length: 4194305\r\n" HOST "\r\n",
		"HTTP/1.1 413 ");
	EXPECT(server,
		"POST /discard HTTP/1.1\r\nContent-Length: 18446744073709551617\r\n" HOST "\r\n",
		"HTTP/1.1 4");
	EXPECT(server,
		"POST /discard HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "\r\n0\r\n\r\n",
		"HTTP/1.1 413 ");
}

static void many_parameters_and_long_heads_are_refused(void **state)
{
	static const size_t bytes[] = { 17 << 10, 40 << 10, 300 << 10 };
	struct http_server *server = http_start(*state, NULL);
	char *text = malloc(512 << 10);

	assert_non_null(text);
	strcpy(text, "GET /parameters?");
	for (int i = 0; i <= HTTP_PARAMETERS_MAX; i++)
		strcat(text, "a=1&");
	strcat(text, " HTTP/1.1\r\n" HOST "\r\n");
	EXPECT(server, text, "HTTP/1.1 400 ", "has more than 64.");
	for (size_t i = 0; i < ARRAY_SIZE(bytes); i++) {
		size_t used = (size_t)sprintf(text, "GET /hello HTTP/1.1\r\n" HOST "X: ");

		memset(text + used, 'x', bytes[i]);
		strcpy(text + used + bytes[i], "\r\n\r\n");
		EXPECT(server, text, "HTTP/1.1 431 ");
	}
	memset(text + 5, 'x', 40 << 10);
	EXPECT(server, text, "HTTP/1.1 414 ");
	free(text);
}

static void a_connection_carries_requests_in_turn(void **state)
{
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, NULL);
	int fd = http_connect(server);
	char *reply;

	http_ask(server, fd,
		"GET /late HTTP/1.1\r\n" HOST "\r\nGET /hello HTTP/1.1\r\n" HOST "\r\n"
		"GET /parameters HTTP/1.1\r\n" CLOSE);
	http_wait_for_late(seen, 1);
	http_answer_text(seen->late[0], 200, "at last");
	reply = http_receive(server, fd, NULL);
	assert_non_null(strstr(reply, "at last\n"));
	assert_non_null(strstr(strstr(reply, "at last\n"), "<p>hello"));
	assert_non_null(strstr(strstr(reply, "<p>hello"), "a 'none'"));
	assert_int_equal(http_counters_of(server).statuses[2], 3);
	assert_int_equal(http_counters_of(server).connections, 1);
	free(reply);
	(void)close(fd);
}

static void a_client_that_stopped_writing_is_answered(void **state)
{
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, NULL);
	int fd = http_connect(server);

	http_ask(server, fd, "GET /late HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	http_wait_for_late(seen, 1);
	assert_false(http_request_is_gone(seen->late[0]));
	http_answer_text(seen->late[0], 203, "still");
	EXPECT_REPLY(server, fd, "HTTP/1.1 203 ", "still\n");
}

static void an_answer_after_a_disconnect_is_freed(void **state)
{
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, NULL);
	int fd = http_connect(server);

	http_ask(server, fd, "GET /late?a=1 HTTP/1.1\r\n" HOST "\r\n");
	http_wait_for_late(seen, 1);
	(void)close(fd);
	assert_true(http_request_is_gone(seen->late[0]));
	assert_int_equal(http_server_run(server), 0);
	assert_string_equal(http_request_parameter(seen->late[0], "a"), "1");
	seen->big_bytes = 1 << 20;
	http_answer_big(seen, seen->late[0]);
	assert_int_equal(server->answer_bytes, 1 << 20);
	while (http_counters_of(server).open > 0)
		http_step(server, -1, 0);
	assert_int_equal(server->answer_bytes, 0);
}

static void a_disconnected_client_cancels_its_request(void **state)
{
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, NULL);
	int gone_fd = http_connect(server), half_fd = http_connect(server);

	http_ask(server, gone_fd, "GET /watched HTTP/1.1\r\n" HOST "\r\n");
	http_wait_for_late(seen, 1);
	http_ask(server, half_fd, "GET /watched HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(shutdown(half_fd, SHUT_WR), 0);
	http_wait_for_late(seen, 2);
	(void)close(gone_fd);
	while (http_counters_of(server).open > 1)
		http_step(server, -1, 0);
	assert_int_equal(seen->gone_count, 1);
	http_answer_text(seen->late[1], 200, "there");
	EXPECT_REPLY(server, half_fd, "there\n");
	assert_int_equal(seen->gone_count, 1);
}

static void a_server_may_end_before_its_answers(void **state)
{
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, NULL);
	int fds[3];
	char *reply;

	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = http_connect(server);
		http_ask(server, fds[i], "GET /late HTTP/1.1\r\n" HOST "\r\n");
	}
	http_wait_for_late(seen, ARRAY_SIZE(fds));
	http_answer_text(seen->late[1], 200, "too late to be sent");
	http_server_free(TAKE_PTR(seen->server));
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		reply = http_receive(NULL, fds[i], NULL);
		assert_string_equal(reply, "");
		free(reply);
		(void)close(fds[i]);
	}
}

static void connect_to(const struct http_listener *listener, int *ret_fd)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);

	assert_int_equal(getsockname(listener->fd, (struct sockaddr *)&address, &size), 0);
	*ret_fd = socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(*ret_fd >= 0);
	assert_int_equal(connect(*ret_fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(fcntl(*ret_fd, F_SETFL, O_NONBLOCK), 0);
}

static void listeners_are_accepted_from(void **state)
{
	struct http_listener listeners[2];
	struct http_seen *seen = *state;
	struct http_server *server;
	struct fault fault = { 0 };
	char path[] = "/tmp/http-server-XXXXXX";

	assert_non_null(mkdtemp(path));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(
		http_listen_unix(path, HTTP_SOCKET_OF_GROUP, (gid_t)-1, &listeners[0], &fault), 0);
	assert_int_equal(http_listen_tcp("127.0.0.1:0", &listeners[1], &fault), 0);
	/* A service manager may pass blocking sockets. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(fcntl(listeners[i].fd, F_SETFL, 0), 0);
	assert_int_equal(http_server_new(&http_default_limits, listeners, 2, http_test_routes, seen,
				 &seen->server, &fault),
		0);
	server = seen->server;
	for (int i = 0; i < 2; i++) {
		int fd;

		connect_to(&listeners[i], &fd);
		http_ask(server, fd, "GET /hello HTTP/1.1\r\n" CLOSE);
		EXPECT_REPLY(server, fd, "<p>hello");
		assert_int_equal(seen->peer.is_local, i == 0);
		assert_int_equal(strncmp(seen->peer.address, "127.0.0.1:", 10) == 0, i == 1);
	}
	assert_int_equal(unlink(path), 0);
}

/* A server that was busy meanwhile learns at once that one client has gone and another has come. */
static void a_connection_that_ended_makes_room(void **state)
{
	static const struct http_limits limits = { 1, 1, 16 << 10, 1 << 20, 10, 60 };
	struct http_listener listener;
	struct http_seen *seen = *state;
	struct fault fault = { 0 };
	int fd;

	assert_int_equal(http_listen_tcp("127.0.0.1:0", &listener, &fault), 0);
	assert_int_equal(http_server_new(&limits, &listener, 1, http_test_routes, seen,
				 &seen->server, &fault),
		0);
	for (int i = 0; i < 3; i++) {
		connect_to(&listener, &fd);
		http_ask(seen->server, fd, "GET /hello HTTP/1.1\r\n" HOST "\r\n");
		free(http_receive(seen->server, fd, "<p>hello"));
		(void)close(fd);
	}
	assert_int_equal(http_counters_of(seen->server).connections_refused, 0);
}

static void accepting_waits_when_descriptors_run_out(void **state)
{
	struct rlimit limit, none;
	struct http_listener listener;
	struct http_seen *seen = *state;
	struct http_server *server;
	struct fault fault = { 0 };
	int fd;

	assert_int_equal(http_listen_tcp("127.0.0.1:0", &listener, &fault), 0);
	assert_int_equal(http_server_new(&http_default_limits, &listener, 1, http_test_routes, seen,
				 &seen->server, &fault),
		0);
	server = seen->server;
	connect_to(&listener, &fd);
	http_ask(server, fd, "GET /hello HTTP/1.1\r\n" CLOSE);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 3, limit.rlim_max };
	/* poll() fails with more descriptors than the limit. */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	http_step(server, -1, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(server->listen_again_ns > 0);
	assert_true(http_server_timeout_ns(server) <= 1000000000);
	EXPECT_REPLY(server, fd, "<p>hello");
	assert_int_equal(server->listen_again_ns, 0);
}

static int open_and_close(struct fault *fault)
{
	struct http_server *server = NULL;
	int r;

	*fault = (struct fault){ 0 };
	r = http_server_new(&http_default_limits, NULL, 0, http_test_routes, NULL, &server, fault);
	http_server_free(server);
	return r;
}

static void failing_allocations_end_new(void **state)
{
	struct fault fault;

	assert_true(FAIL_EACH_ALLOCATION(open_and_close(&fault), -ENOMEM, fault.text[0], 0) >= 2);
}

static void failing_allocations_end_a_request_and_no_more(void **state)
{
	static const char *const paths[] = { "/hello", "/none" };
	struct http_server *server = http_start(*state, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		for (size_t n = 0;; n++) {
			char text[128], reply[512];
			int fd = http_connect(server);
			ssize_t size;

			(void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n" CLOSE, paths[i]);
			http_ask(server, fd, text);
			fail_allocation(n);
			/* If there is no memory for a body, the answer is empty. */
			while ((size = recv(fd, reply, sizeof(reply) - 1, 0)) < 0 &&
				errno == EAGAIN)
				http_step(server, fd, POLLIN);
			(void)close(fd);
			if (!allocation_failed()) {
				assert_true(size > 0);
				assert_true(n >= 3);
				break;
			}
		}
	EXPECT(server, "GET /hello HTTP/1.1\r\n" CLOSE, "<p>hello");
	assert_int_equal(server->answer_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(routes_answer),
		WITH_SERVER(unknown_routes_are_refused),
		WITH_SERVER(a_body_is_discarded_where_that_is_allowed),
		WITH_SERVER(many_parameters_and_long_heads_are_refused),
		WITH_SERVER(a_connection_carries_requests_in_turn),
		WITH_SERVER(a_client_that_stopped_writing_is_answered),
		WITH_SERVER(an_answer_after_a_disconnect_is_freed),
		WITH_SERVER(a_disconnected_client_cancels_its_request),
		WITH_SERVER(a_server_may_end_before_its_answers),
		WITH_SERVER(listeners_are_accepted_from),
		WITH_SERVER(a_connection_that_ended_makes_room),
		WITH_SERVER(accepting_waits_when_descriptors_run_out),
		WITH_SERVER(failing_allocations_end_new),
		WITH_SERVER(failing_allocations_end_a_request_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
