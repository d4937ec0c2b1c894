/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions of several HTTP clients with one server: each step of four bytes opens or closes a
 * connection, queues a request, sends a piece of what is queued, or gives a late answer. Requests
 * carry numbers. The answers on a connection come whole, in the order of its requests and with
 * their numbers, until the client has sent a request that ends the connection; and every request is
 * answered in the end. Afterwards nothing is left allocated.
 */
#include "base/array.h"
#include "serve/http_private.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum {
	STEP_BYTES = 4,
	STEPS_MAX = 48,
	CLIENTS = 3,
	REQUESTS_MAX = STEPS_MAX,
	QUEUE_BYTES = 64 << 10,
	REPLY_BYTES = 256 << 10,
	BIG_BYTES = 70000,
	RUNS_MAX = 256,
};

#define HOST "Host: localhost\r\n"

struct expected {
	unsigned number, status;
	const char *word; /* begins the body, before the number; NULL: no body, of HEAD */
};

struct client {
	int fd; /* -1: closed */
	/* It has sent what may end the connection, so answers after that may be missing. */
	bool is_loose;
	char queue[QUEUE_BYTES];
	size_t queued, sent;
	char reply[REPLY_BYTES + 1];
	size_t received;
	struct expected expected[REQUESTS_MAX];
	size_t asked, answered;
};

static struct session {
	struct http_server *server;
	struct client clients[CLIENTS];
	struct http_request *late[STEPS_MAX + CLIENTS];
	size_t late_count;
	unsigned number;
} session;

static void require(bool condition)
{
	if (!condition)
		abort();
}

/* --- routes ----------------------------------------------------------------------------------- */

static const char *number_of(const struct http_request *request)
{
	const char *number = http_request_parameter(request, "n");

	return number ? number : "none";
}

static void answer_echo(void *context, struct http_request *request)
{
	(void)context;
	http_answer_text(request, 200, "echo %s.", number_of(request));
}

static void keep(void *context, struct http_request *request)
{
	(void)context;
	require(session.late_count < ARRAY_SIZE(session.late));
	session.late[session.late_count++] = request;
}

static void answer_late(size_t index)
{
	struct http_request *request = session.late[index];

	session.late[index] = session.late[--session.late_count];
	(void)http_request_is_gone(request);
	http_answer_text(request, 200, "late %s.", number_of(request));
}

static void answer_gone(void *context, struct http_request *request)
{
	(void)context;
	for (size_t i = 0; i < session.late_count; i++)
		if (session.late[i] == request) {
			answer_late(i);
			return;
		}
	abort();
}

static void answer_big(void *context, struct http_request *request)
{
	struct http_answer answer = {
		.status = 200, .content_type = "text/plain", .size = BIG_BYTES
	};

	(void)context;
	answer.body = calloc(1, BIG_BYTES);
	require(answer.body);
	(void)snprintf(answer.body, 64, "big %s.", number_of(request));
	http_answer(request, &answer);
}

static void answer_file(void *context, struct http_request *request)
{
	const struct http_answer answer = {
		.status = 200, .content_type = "text/plain", .size = BIG_BYTES
	};
	int fd = memfd_create("answer", MFD_CLOEXEC);

	(void)context;
	require(fd >= 0 && dprintf(fd, "file %s.", number_of(request)) > 0 &&
		ftruncate(fd, BIG_BYTES) == 0);
	http_answer_file(request, &answer, fd);
}

static const struct http_route routes[] = {
	{ "GET", "/echo", answer_echo, NULL, NULL, false },
	{ "GET", "/late", keep, NULL, NULL, false },
	{ "GET", "/watched", keep, answer_gone, NULL, false },
	{ "GET", "/big", answer_big, NULL, NULL, false },
	{ "GET", "/file", answer_file, NULL, NULL, false },
	{ 0 },
};

/* --- requests --------------------------------------------------------------------------------- */

static const struct template
{
	const char *method, *target, *rest;
	unsigned status; /* 0: may end the connection, whatever the answer is */
	const char *word;
}
templates[] = {
	{ "GET", "/echo", HOST "\r\n", 200, "echo" },
	{ "HEAD", "/echo", HOST "\r\n", 200, NULL },
	{ "GET", "/late", HOST "\r\n", 200, "late" },
	{ "GET", "/watched", HOST "\r\n", 200, "late" },
	{ "GET", "/big", HOST "\r\n", 200, "big" },
	{ "GET", "/file", HOST "\r\n", 200, "file" },
	{ "GET", "/echo", HOST "A: 1\r\nB:\t2 \r\n\r\n", 200, "echo" },
	{ "HEAD", "/big", HOST "\r\n", 200, NULL },
	{ "GET", "/none", HOST "\r\n", 0, NULL },
	{ "GET", "/echo", HOST "Connection: close\r\n\r\n", 0, NULL },
	{ "POST", "/echo", HOST "Content-Length: 5\r\n\r\nhello", 0, NULL },
	{ "GET", "/echo", HOST "Content-Length: 5\r\n\r\nhello", 0, NULL },
	{ "GET", "/echo", HOST "Content-Length: 5\r\nContent-Length: 50\r\n\r\nhello", 0, NULL },
	{ "GET", "/echo", HOST "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", 0,
		NULL },
	{ "GET", "/late", HOST "Content-Length: 99999999999999999999\r\n\r\n", 0, NULL },
	{ "GET", "/echo", "Host: evil.example\r\n\r\n", 0, NULL },
	{ "GET", "/echo", HOST "Origin: http://evil.example\r\n\r\n", 0, NULL },
	{ "GET", "/echo", "\r\n", 0, NULL },
	{ "\n\n\r\nGET", "/%zz%00", HOST " folded: 1\r\n\r\n", 0, NULL },
	{ "\xff\x01 /\r\n", "", "\r\n\r\n", 0, NULL },
};

static void queue_request(struct client *client, const struct template *template)
{
	char *at = client->queue + client->queued;
	const size_t room = sizeof(client->queue) - client->queued;
	const unsigned number = ++session.number;
	int length;

	if (client->asked == REQUESTS_MAX)
		return;
	length = snprintf(at, room, "%s %s?n=%u HTTP/1.1\r\n%s", template->method, template->target,
		number, template->rest);
	require(length > 0 && (size_t)length < room);
	client->queued += (size_t)length;
	client->is_loose = client->is_loose || template->status == 0;
	if (!client->is_loose)
		client->expected[client->asked++] =
			(struct expected){ number, template->status, template->word };
}

/* --- answers ---------------------------------------------------------------------------------- */

/* Returns the bytes of the first answer, or 0 if it is not whole yet. */
static size_t check_answer(const struct client *client, const struct expected *expected)
{
	const char *body = strstr(client->reply, "\r\n\r\n"), *field;
	char start[64];
	size_t size;

	if (!body)
		return 0;
	body += 4;
	(void)snprintf(start, sizeof(start), "HTTP/1.1 %u ", expected->status);
	require(strncmp(client->reply, start, strlen(start)) == 0);
	field = strcasestr(client->reply, "\r\nContent-Length: ");
	require(field && field < body);
	size = strtoul(field + 18, NULL, 10);
	if (!expected->word)
		return (size_t)(body - client->reply);
	if ((size_t)(body - client->reply) + size > client->received)
		return 0;
	(void)snprintf(start, sizeof(start), "%s %u.", expected->word, expected->number);
	require(strncmp(body, start, strlen(start)) == 0);
	return (size_t)(body - client->reply) + size;
}

static void check_answers(struct client *client)
{
	size_t size;

	while (client->answered < client->asked) {
		size = check_answer(client, &client->expected[client->answered]);
		if (size == 0)
			return;
		client->answered++;
		client->received -= size;
		memmove(client->reply, client->reply + size, client->received + 1);
	}
	/* A client that the server may refuse gets answers that are not foreseen here. */
	require(client->is_loose || client->received == 0);
	client->received = 0;
	client->reply[0] = '\0';
}

static void receive(struct client *client)
{
	ssize_t n;

	while (client->fd >= 0) {
		n = recv(client->fd, client->reply + client->received,
			REPLY_BYTES - client->received, MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			/* Only after a request that ends it. */
			require(client->is_loose && close(client->fd) == 0);
			client->fd = -1;
			return;
		}
		client->received += (size_t)n;
		client->reply[client->received] = '\0';
		check_answers(client);
	}
}

static void send_piece(struct client *client, size_t piece)
{
	size_t left = client->queued - client->sent;
	ssize_t n;

	if (client->fd < 0 || left == 0)
		return;
	n = send(client->fd, client->queue + client->sent, piece < left ? piece : left,
		MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n > 0)
		client->sent += (size_t)n;
}

/* --- a session -------------------------------------------------------------------------------- */

static void open_client(struct client *client)
{
	int fds[2];

	if (client->fd >= 0)
		return;
	client->queued = client->sent = client->received = 0;
	client->asked = client->answered = 0;
	client->is_loose = false;
	client->reply[0] = '\0';
	require(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) == 0);
	http_connection_add(session.server, fds[0]);
	require(http_server_run(session.server) == 0);
	client->fd = fds[1];
}

static void close_client(struct client *client, bool only_writing)
{
	if (client->fd < 0)
		return;
	client->is_loose = true;
	if (only_writing) {
		(void)shutdown(client->fd, SHUT_WR);
		return;
	}
	require(close(client->fd) == 0);
	client->fd = -1;
}

static void run(bool reads)
{
	require(http_server_run(session.server) == 0);
	for (size_t i = 0; reads && i < CLIENTS; i++)
		receive(&session.clients[i]);
}

static void step_once(const uint8_t *step)
{
	struct client *client = &session.clients[step[1] % CLIENTS];

	switch (step[0] & 7) {
	case 0:
		open_client(client);
		break;
	case 1:
		close_client(client, step[2] & 1);
		break;
	case 2:
		if (session.late_count > 0)
			answer_late(step[1] % session.late_count);
		break;
	case 3:
		run(step[2] & 1);
		break;
	case 4:
		send_piece(client, 1 + step[2]);
		run(step[3] & 1);
		break;
	default:
		queue_request(client, &templates[step[2] % ARRAY_SIZE(templates)]);
		send_piece(client, step[3] * (size_t)step[3]);
	}
}

/* Everything is sent, answered and read. */
static void finish(void)
{
	for (int i = 0; i < RUNS_MAX; i++) {
		bool is_done = true;

		for (size_t c = 0; c < CLIENTS; c++) {
			struct client *client = &session.clients[c];

			send_piece(client, QUEUE_BYTES);
			is_done = is_done && (client->fd < 0 || client->is_loose ||
						     client->answered == client->asked);
		}
		while (session.late_count > 0)
			answer_late(0);
		run(true);
		if (is_done)
			return;
	}
	abort();
}

static void require_nothing_left(void)
{
	struct http_counters counters;

	for (int i = 0; i < 64; i++) {
		while (session.late_count > 0)
			answer_late(0);
		run(true);
	}
	http_server_counters(session.server, &counters);
	require(counters.open == 0 && session.server->answer_bytes == 0 && counters.timeouts == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	if (size > STEP_BYTES * STEPS_MAX)
		return 0;
	session.late_count = 0;
	session.number = 0;
	require(http_server_new(
			&http_default_limits, NULL, 0, routes, NULL, &session.server, NULL) == 0);
	for (size_t i = 0; i < CLIENTS; i++) {
		session.clients[i].fd = -1;
		open_client(&session.clients[i]);
	}
	for (; size >= STEP_BYTES; size -= STEP_BYTES, bytes += STEP_BYTES)
		step_once(bytes);
	finish();
	for (size_t i = 0; i < CLIENTS; i++)
		close_client(&session.clients[i], false);
	require_nothing_left();
	http_server_free(session.server);
	return 0;
}
