/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "serve/http_server.h"

#include "base/array.h"
#include "tests/harness/failing_allocation.h"
#include "tests/serve/http_fixture.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/un.h>

#define HOST  "Host: localhost\r\n"
#define CLOSE HOST "Connection: close\r\n\r\n"

/* What the routes of these tests keep of a request. */
struct seen {
	struct http_request *late[8];
	size_t late_count;
	struct http_peer peer;
	char parameters[256];
	size_t big_bytes;
};

static void answer_hello(void *context, struct http_request *request)
{
	struct seen *seen = context;
	static const struct http_field fields[] = { { "X-One", "1" }, { "X-Two", "2" } };
	struct http_answer answer = { .status = 200,
		.content_type = "text/html",
		.fields = fields,
		.field_count = ARRAY_SIZE(fields) };

	http_request_peer(request, &seen->peer);
	answer.body = strdup("<p>hello");
	answer.size = answer.body ? strlen(answer.body) : 0;
	http_answer(request, &answer);
}

static int note_parameter(void *context, const char *name, const char *value)
{
	struct seen *seen = context;
	size_t used = strlen(seen->parameters);

	(void)snprintf(
		seen->parameters + used, sizeof(seen->parameters) - used, "%s=%s;", name, value);
	return strcmp(name, "stop") == 0 ? -ECANCELED : 0;
}

static void answer_parameters(void *context, struct http_request *request)
{
	struct seen *seen = context;
	const char *a = http_request_parameter(request, "a");

	seen->parameters[0] = '\0';
	assert_null(http_request_parameter(request, "none"));
	http_answer_text(request, 200, "each %d, a '%s'\nsecond line\n",
		http_request_each(request, note_parameter, seen), a ? a : "none");
}

static void keep_for_later(void *context, struct http_request *request)
{
	struct seen *seen = context;

	assert_true(seen->late_count < ARRAY_SIZE(seen->late));
	seen->late[seen->late_count++] = request;
}

static void answer_big(void *context, struct http_request *request)
{
	struct seen *seen = context;
	struct http_answer answer = { .status = 200,
		.content_type = "application/octet-stream",
		.body = malloc(seen->big_bytes + 1),
		.size = seen->big_bytes };

	assert_non_null(answer.body);
	for (size_t i = 0; i < answer.size; i++)
		answer.body[i] = (char)('a' + i % 23);
	http_answer(request, &answer);
}

static const struct http_route routes[] = {
	{ "GET", "/hello", answer_hello, NULL, NULL },
	{ "GET", "/parameters", answer_parameters, NULL, NULL },
	{ "GET", "/late", keep_for_later, NULL, NULL },
	{ "GET", "/big", answer_big, NULL, NULL },
	{ "PUT", "/put", answer_hello, NULL, NULL },
	{ 0 },
};

static struct http_server *new_server(const struct http_limits *limits, struct seen *seen)
{
	struct http_server *server = NULL;
	struct fault fault = { 0 };

	*seen = (struct seen){ 0 };
	assert_int_equal(http_server_new(limits ? limits : &http_default_limits, NULL, 0, routes,
				 seen, &server, &fault),
		0);
	return server;
}

static struct http_counters counters_of(struct http_server *server)
{
	struct http_counters counters;

	http_server_counters(server, &counters);
	return counters;
}

static void expect(struct http_server *server, const char *request, const char *const *parts)
{
	char *reply = http_exchange(server, request);

	for (; *parts; parts++)
		if (!strstr(reply, *parts))
			fail_msg("'%s' is not in '%s'", *parts, reply);
	free(reply);
}
#define EXPECT(server, request, ...) \
	expect(server, request, (const char *const[]){ __VA_ARGS__, NULL })

static void routes_answer(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	char *reply;

	(void)state;
	EXPECT(server, "GET /hello HTTP/1.1\r\nAccept-Encoding: gzip\r\n" CLOSE,
		"HTTP/1.1 200 OK\r\n", "Content-Type: text/html\r\n", "X-One: 1\r\n",
		"X-Two: 2\r\n", "Cache-Control: no-store\r\n", "Content-Length: 8\r\n",
		"\r\n\r\n<p>hello");
	assert_true(seen.peer.is_local);
	assert_int_equal(seen.peer.uid, getuid());
	assert_int_equal(seen.peer.gid, getgid());
	assert_int_equal(seen.peer.pid, getpid());
	assert_string_equal(seen.peer.address, "unix");

	reply = http_exchange(server, "HEAD /hello HTTP/1.1\r\n" CLOSE);
	assert_non_null(strstr(reply, "Content-Length: 8\r\n"));
	assert_null(strstr(reply, "hello\""));
	assert_string_equal(reply + strlen(reply) - 4, "\r\n\r\n");
	free(reply);

	EXPECT(server, "GET /parameters?b=1&a=%e2%82%ac+x&a=2 HTTP/1.1\r\n" CLOSE,
		"text/plain; charset=utf-8", "each 0, a '€ x'\nsecond line\n");
	assert_string_equal(seen.parameters, "b=1;a=€ x;a=2;");
	EXPECT(server, "GET /parameters?stop&a=%1b%5b31m HTTP/1.0\r\n\r\n",
		"each -125, a '\xEF\xBF\xBD[31m'\n");
	assert_string_equal(seen.parameters, "stop=;");
	http_server_free(server);
}

static void unknown_routes_are_refused(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	struct http_counters counters;

	(void)state;
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
	counters = counters_of(server);
	assert_int_equal(counters.connections, 10);
	assert_int_equal(counters.open, 0);
	assert_int_equal(counters.statuses[2], 0);
	assert_int_equal(counters.statuses[4], 7);
	http_server_free(server);
}

static void many_parameters_and_long_heads_are_refused(void **state)
{
	static const size_t bytes[] = { 17 << 10, 40 << 10, 300 << 10 };
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	char *text = malloc(512 << 10);

	(void)state;
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
	http_server_free(server);
	free(text);
}

static void a_connection_carries_requests_in_turn(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	int fd = http_connect(server);
	char *reply;

	(void)state;
	http_ask(server, fd,
		"GET /late HTTP/1.1\r\n" HOST "\r\nGET /hello HTTP/1.1\r\n" HOST "\r\n"
		"GET /parameters HTTP/1.1\r\n" CLOSE);
	while (seen.late_count == 0)
		http_step(server, -1, 0);
	http_answer_text(seen.late[0], 200, "at last");
	reply = http_receive(server, fd, NULL);
	assert_non_null(strstr(reply, "at last\n"));
	assert_non_null(strstr(strstr(reply, "at last\n"), "<p>hello"));
	assert_non_null(strstr(strstr(reply, "<p>hello"), "a 'none'"));
	assert_int_equal(counters_of(server).statuses[2], 3);
	assert_int_equal(counters_of(server).connections, 1);
	free(reply);
	(void)close(fd);
	http_server_free(server);
}

static void a_client_that_stopped_writing_is_answered(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	int fd = http_connect(server);
	char *reply;

	(void)state;
	http_ask(server, fd, "GET /late HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(shutdown(fd, SHUT_WR), 0);
	while (seen.late_count == 0)
		http_step(server, -1, 0);
	assert_false(http_request_is_gone(seen.late[0]));
	http_answer_text(seen.late[0], 203, "still");
	reply = http_receive(server, fd, NULL);
	assert_non_null(strstr(reply, "HTTP/1.1 203 "));
	assert_non_null(strstr(reply, "still\n"));
	free(reply);
	(void)close(fd);
	http_server_free(server);
}

static void an_answer_after_a_disconnect_is_freed(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	int fd = http_connect(server);

	(void)state;
	http_ask(server, fd, "GET /late?a=1 HTTP/1.1\r\n" HOST "\r\n");
	while (seen.late_count == 0)
		http_step(server, -1, 0);
	(void)close(fd);
	assert_true(http_request_is_gone(seen.late[0]));
	assert_int_equal(http_server_run(server), 0);
	assert_string_equal(http_request_parameter(seen.late[0], "a"), "1");
	seen.big_bytes = 1 << 20;
	answer_big(&seen, seen.late[0]);
	assert_int_equal(server->answer_bytes, 1 << 20);
	while (counters_of(server).open > 0)
		http_step(server, -1, 0);
	assert_int_equal(server->answer_bytes, 0);
	http_server_free(server);
}

static void a_server_may_end_before_its_answers(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	int fds[3];
	char *reply;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		fds[i] = http_connect(server);
		http_ask(server, fds[i], "GET /late HTTP/1.1\r\n" HOST "\r\n");
	}
	while (seen.late_count < ARRAY_SIZE(fds))
		http_step(server, -1, 0);
	http_answer_text(seen.late[1], 200, "too late to be sent");
	http_server_free(server);
	for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
		reply = http_receive(NULL, fds[i], NULL);
		assert_string_equal(reply, "");
		free(reply);
		(void)close(fds[i]);
	}
}

static void connections_are_bounded_per_user_and_in_all(void **state)
{
	static const struct http_limits of_user = { 2, 2, 16 << 10, 1 << 20, 10, 60 },
					of_all = { 2, 8, 16 << 10, 1 << 20, 10, 60 };
	int fds[2 + REFUSALS_MAX], beyond;
	struct seen seen;

	(void)state;
	for (int round = 0; round < 2; round++) {
		struct http_server *server = new_server(round ? &of_all : &of_user, &seen);
		char *reply;

		for (size_t i = 0; i < ARRAY_SIZE(fds); i++)
			fds[i] = http_connect(server);
		beyond = http_connect(server);
		reply = http_receive(server, beyond, NULL);
		assert_non_null(strstr(reply, round ? "HTTP/1.1 503 Service" : "HTTP/1.1 429 Too"));
		free(reply);
		for (size_t i = 0; i < ARRAY_SIZE(fds); i++) {
			http_ask(server, fds[i], "GET /hello HTTP/1.1\r\n" CLOSE);
			reply = http_receive(server, fds[i], NULL);
			assert_non_null(strstr(reply, i < 2   ? "HTTP/1.1 200 "
						      : round ? "HTTP/1.1 503 "
							      : "HTTP/1.1 429 "));
			assert_non_null(strstr(reply, "Connection: close\r\n"));
			free(reply);
			(void)close(fds[i]);
		}
		(void)close(beyond);
		EXPECT(server, "GET /hello HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ");
		assert_int_equal(counters_of(server).connections, ARRAY_SIZE(fds) + 2);
		assert_int_equal(counters_of(server).connections_refused, REFUSALS_MAX + 1);
		http_server_free(server);
	}
}

static void a_request_head_has_a_timeout(void **state)
{
	static const struct http_limits limits = { 8, 8, 16 << 10, 1 << 20, 1, 60 };
	static const char *const starts[] = { "", "GET /hello HT", "GET /hello HTTP/1.1\r\n" HOST,
		"GET /hello HTTP/1.1\r\n" HOST "\r\n" };
	struct seen seen;
	struct http_server *server = new_server(&limits, &seen);
	int fds[ARRAY_SIZE(starts)];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		fds[i] = http_connect(server);
		http_ask(server, fds[i], starts[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(starts); i++) {
		char *reply = http_receive(server, fds[i], NULL);

		/* The last one was answered, and then asked for nothing more. */
		assert_int_equal(strstr(reply, "<p>hello") != NULL, i == 3);
		free(reply);
		(void)close(fds[i]);
	}
	assert_int_equal(counters_of(server).timeouts, 3);
	assert_int_equal(counters_of(server).open, 0);
	http_server_free(server);
}

static void a_reader_that_stalls_is_disconnected(void **state)
{
	static const struct http_limits limits = { 8, 8, 16 << 10, 6 << 20, 10, 1 };
	struct seen seen;
	struct http_server *server = new_server(&limits, &seen);
	int fd = http_connect(server);

	(void)state;
	seen.big_bytes = 3 << 20;
	http_ask(server, fd, "GET /big HTTP/1.1\r\n" HOST "\r\n");
	do
		http_step(server, -1, 0);
	while (counters_of(server).open > 0);
	assert_int_equal(counters_of(server).timeouts, 1);
	assert_true(counters_of(server).bytes < seen.big_bytes);
	assert_int_equal(server->answer_bytes, 0);
	(void)close(fd);
	http_server_free(server);
}

static void large_answers_arrive_whole(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	char *reply, *body;

	(void)state;
	for (seen.big_bytes = 0; seen.big_bytes < (8 << 20);
		seen.big_bytes = seen.big_bytes * 7 + BODY_BLOCK_BYTES - 1) {
		reply = http_exchange(server, "GET /big HTTP/1.1\r\n" CLOSE);
		body = strstr(reply, "\r\n\r\n");
		assert_non_null(body);
		body += 4;
		assert_int_equal(strlen(body), seen.big_bytes);
		for (size_t i = 0; i < seen.big_bytes; i++)
			if (body[i] != (char)('a' + i % 23))
				fail_msg("byte %zu", i);
		free(reply);
	}
	http_server_free(server);
}

/* Asks as a user of his own, and takes nothing of it. */
static int ask_as(struct http_server *server, struct seen *seen, uid_t uid, size_t bytes)
{
	int fd = http_connect(server);
	uint64_t sent = counters_of(server).bytes;

	server->connections->peer.uid = uid;
	seen->big_bytes = bytes;
	http_ask(server, fd, "GET /big HTTP/1.1\r\n" CLOSE);
	while (counters_of(server).bytes == sent)
		http_step(server, -1, 0);
	return fd;
}

/* One user's answers are half of all; small ones always have room. */
static void answers_that_wait_leave_room_for_others(void **state)
{
	static const struct http_limits limits = { 8, 8, 16 << 10, 8 << 20, 10, 60 };
	static const struct {
		uid_t uid;
		size_t bytes;
		const char *text;
	} asked[] = {
		{ 1001, 3 << 20, "HTTP/1.1 200 " },
		{ 1001, (1 << 20) + 1, "of earlier answers (limit for one user: 4194304)" },
		{ 1002, 4 << 20, "HTTP/1.1 200 " },
		{ 1003, (1 << 20) + 1, "bytes of earlier answers (limit for all: 8388608)" },
		{ 1003, 1 << 20, "HTTP/1.1 200 " },
		{ 1001, SMALL_BODY_BYTES, "HTTP/1.1 200 " },
		{ 1004, SMALL_BODY_BYTES, "HTTP/1.1 200 " },
	};
	struct seen seen;
	struct http_server *server = new_server(&limits, &seen);
	int fds[ARRAY_SIZE(asked)];
	char *reply;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		fds[i] = ask_as(server, &seen, asked[i].uid, asked[i].bytes);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++) {
		reply = http_receive(server, fds[i], NULL);
		if (!strstr(reply, asked[i].text))
			fail_msg("%zu: '%.200s'", i, reply);
		free(reply);
		(void)close(fds[i]);
	}
	assert_int_equal(server->answer_bytes, 0);
	/* What was read leaves its room. */
	fds[0] = ask_as(server, &seen, 1001, 4 << 20);
	reply = http_receive(server, fds[0], NULL);
	assert_true(strlen(reply) > 4 << 20);
	free(reply);
	(void)close(fds[0]);
	http_server_free(server);
}

static void answers_that_wait_are_bounded(void **state)
{
	static const struct http_limits limits = { 8, 8, 16 << 10, 6 << 20, 10, 60 };
	struct seen seen;
	struct http_server *server = new_server(&limits, &seen);
	int fd = http_connect(server);
	char *reply;

	(void)state;
	seen.big_bytes = 3 << 20;
	http_ask(server, fd, "GET /big HTTP/1.1\r\n" CLOSE);
	while (counters_of(server).bytes == 0)
		http_step(server, -1, 0);
	EXPECT(server, "GET /big HTTP/1.1\r\n" CLOSE, "HTTP/1.1 429 ",
		"Answer too large: 3145728 bytes");
	reply = http_receive(server, fd, NULL);
	assert_true(strlen(reply) > seen.big_bytes);
	free(reply);
	EXPECT(server, "GET /big HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ");
	assert_int_equal(counters_of(server).bytes,
		2 * seen.big_bytes +
			strlen("Answer too large: 3145728 bytes, and you have not read 3145728 "
			       "bytes of "
			       "earlier answers (limit for one user: 3145728). Read those first, "
			       "or ask for less.\n"));
	(void)close(fd);
	http_server_free(server);
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
	struct http_server *server;
	struct fault fault = { 0 };
	struct seen seen = { 0 };
	char path[] = "/tmp/http-server-XXXXXX";

	(void)state;
	assert_non_null(mkdtemp(path));
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(http_listen_unix(path, (gid_t)-1, &listeners[0], &fault), 0);
	assert_int_equal(http_listen_tcp("127.0.0.1:0", &listeners[1], &fault), 0);
	/* As a service manager hands them in. */
	for (int i = 0; i < 2; i++)
		assert_int_equal(fcntl(listeners[i].fd, F_SETFL, 0), 0);
	assert_int_equal(
		http_server_new(&http_default_limits, listeners, 2, routes, &seen, &server, &fault),
		0);
	for (int i = 0; i < 2; i++) {
		char *reply;
		int fd;

		connect_to(&listeners[i], &fd);
		http_ask(server, fd, "GET /hello HTTP/1.1\r\n" CLOSE);
		reply = http_receive(server, fd, NULL);
		assert_non_null(strstr(reply, "<p>hello"));
		assert_int_equal(seen.peer.is_local, i == 0);
		assert_int_equal(strncmp(seen.peer.address, "127.0.0.1:", 10) == 0, i == 1);
		free(reply);
		(void)close(fd);
	}
	http_server_free(server);
	assert_int_equal(unlink(path), 0);
}

static void accepting_waits_when_descriptors_run_out(void **state)
{
	struct rlimit limit, none;
	struct http_listener listener;
	struct http_server *server;
	struct fault fault = { 0 };
	struct seen seen = { 0 };
	char *reply;
	int fd;

	(void)state;
	assert_int_equal(http_listen_tcp("127.0.0.1:0", &listener, &fault), 0);
	assert_int_equal(
		http_server_new(&http_default_limits, &listener, 1, routes, &seen, &server, &fault),
		0);
	connect_to(&listener, &fd);
	http_ask(server, fd, "GET /hello HTTP/1.1\r\n" CLOSE);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ 3, limit.rlim_max };
	/* poll() wants to be allowed as many as it is given. */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	http_step(server, -1, 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_true(server->listen_again_ns > 0);
	assert_true(http_server_timeout_ns(server) <= 1000000000);
	reply = http_receive(server, fd, NULL);
	assert_non_null(strstr(reply, "<p>hello"));
	assert_int_equal(server->listen_again_ns, 0);
	free(reply);
	(void)close(fd);
	http_server_free(server);
}

static void failing_allocations_end_new(void **state)
{
	size_t n;

	(void)state;
	for (n = 0;; n++) {
		struct http_server *server = NULL;
		struct fault fault = { 0 };
		int r;

		fail_allocation(n);
		r = http_server_new(&http_default_limits, NULL, 0, routes, NULL, &server, &fault);
		http_server_free(server);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
		assert_null(server);
		assert_string_not_equal(fault.text, "");
	}
	assert_true(n >= 2);
}

static void failing_allocations_end_a_request_and_no_more(void **state)
{
	static const char *const paths[] = { "/hello", "/none" };
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		for (size_t n = 0;; n++) {
			char text[128], reply[512];
			int fd = http_connect(server);
			ssize_t size;

			(void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n" CLOSE, paths[i]);
			http_ask(server, fd, text);
			fail_allocation(n);
			/* An answer without a body that could be had is empty, of that status. */
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
	http_server_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(routes_answer),
		cmocka_unit_test(unknown_routes_are_refused),
		cmocka_unit_test(many_parameters_and_long_heads_are_refused),
		cmocka_unit_test(a_connection_carries_requests_in_turn),
		cmocka_unit_test(a_client_that_stopped_writing_is_answered),
		cmocka_unit_test(an_answer_after_a_disconnect_is_freed),
		cmocka_unit_test(a_server_may_end_before_its_answers),
		cmocka_unit_test(connections_are_bounded_per_user_and_in_all),
		cmocka_unit_test(a_request_head_has_a_timeout),
		cmocka_unit_test(a_reader_that_stalls_is_disconnected),
		cmocka_unit_test(large_answers_arrive_whole),
		cmocka_unit_test(answers_that_wait_are_bounded),
		cmocka_unit_test(answers_that_wait_leave_room_for_others),
		cmocka_unit_test(listeners_are_accepted_from),
		cmocka_unit_test(accepting_waits_when_descriptors_run_out),
		cmocka_unit_test(failing_allocations_end_new),
		cmocka_unit_test(failing_allocations_end_a_request_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
