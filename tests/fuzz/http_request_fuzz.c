/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bytes from an HTTP client. They arrive in parts whose size the first byte selects, and some
 * answers are supplied later. If the first byte is odd, the client counts as one by TCP, which
 * needs a host name and a token. When the input ends or the client disconnects, nothing is left
 * allocated.
 */
#include "base/utf8.h"
#include "serve/http_private.h"

#include <assert.h>
#include <string.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { RUNS_MAX = 4096, LATE_MAX = 64 };

struct routes {
	struct http_request *late[LATE_MAX];
	size_t late_count;
};

static int check_text(void *context, const char *name, const char *value)
{
	const char *texts[] = { name, value };

	for (int i = 0; i < 2; i++) {
		const char *text = texts[i];

		while (*text) {
			size_t sequence = utf8_sequence(text, strlen(text));

			assert(sequence > 0);
			text += sequence;
		}
	}
	return 0;
}

static void answer_now(void *context, struct http_request *request)
{
	struct http_peer peer;

	http_request_peer(request, &peer);
	assert(peer.is_local == request->connection->peer.is_local);
	assert(http_request_each(request, check_text, context) == 0);
	http_answer_text(request, 200, "%s", http_request_parameter(request, "a") ? "a" : "none");
}

static void answer_later(void *context, struct http_request *request)
{
	struct routes *routes = context;

	assert(routes->late_count < LATE_MAX);
	routes->late[routes->late_count++] = request;
}

static const struct http_route table[] = {
	{ "GET", "/", answer_now, NULL, NULL, false },
	{ "GET", "/late", answer_later, NULL, NULL, false },
	{ "POST", "/discard", answer_now, NULL, NULL, false },
	{ 0 },
};

static void answer_late_ones(struct routes *routes)
{
	for (size_t i = 0; i < routes->late_count; i++) {
		(void)http_request_is_gone(routes->late[i]);
		http_answer_text(routes->late[i], 200, "late");
	}
	routes->late_count = 0;
}

/* Returns true if the server has closed the connection. */
static bool read_answers(int fd)
{
	char buffer[4096];
	ssize_t n;

	while ((n = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT)) > 0)
		continue;
	return n == 0;
}

static void talk(struct http_server *server, struct routes *routes, int fd, const uint8_t *bytes,
	size_t size, size_t piece)
{
	for (int run = 0; run < RUNS_MAX && !read_answers(fd); run++) {
		size_t part = piece < size ? piece : size;
		ssize_t n = part > 0 ? send(fd, bytes, part, MSG_DONTWAIT | MSG_NOSIGNAL) : 0;

		if (n > 0) {
			bytes += n;
			size -= (size_t)n;
		}
		if (size == 0 && run > 2)
			return;
		assert(http_server_run(server) == 0);
		if (run % 3 == 2)
			answer_late_ones(routes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct http_server *server = NULL;
	struct http_counters counters;
	struct routes routes = { 0 };
	static char *names[] = { "pi" };
	static const struct http_access access = {
		.host_names = names,
		.host_name_count = 1,
		.token = "0123456789abcdef",
		.allows_self = true,
	};
	int fds[2], r;

	if (size < 2)
		return 0;
	r = http_server_new(&http_default_limits, NULL, 0, table, &routes, &server, NULL);
	assert(r == 0);
	r = socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds);
	assert(r == 0);
	http_server_set_access(server, &access);
	http_connection_add(server, fds[0]);
	r = http_server_run(server);
	assert(r == 0 && server->connections);
	server->connections->peer.is_local = bytes[0] % 2 == 0;
	talk(server, &routes, fds[1], bytes + 1, size - 1, 1 + (size_t)bytes[0] * bytes[0]);
	(void)close(fds[1]);
	for (int run = 0; run < 64; run++) {
		answer_late_ones(&routes);
		r = http_server_run(server);
		assert(r == 0);
	}
	http_server_counters(server, &counters);
	assert(counters.open == 0 && server->answer_bytes == 0);
	http_server_free(server);
	return 0;
}
