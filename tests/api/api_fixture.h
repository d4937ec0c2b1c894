/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An API on a unix socket, an engine that seals on request, and clients, all in one thread. Tests
 * are listed with WITH_ENGINE() and get a struct engine as their state.
 */
#pragma once

#include "api/api_private.h"
#include "base/clock.h"
#include "tests/api/answer_role.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#define HOST  "Host: localhost\r\n"
#define CLOSE HOST "Connection: close\r\n\r\n"

enum { GUARD_MS = 20000, REPLY_BYTES = 4 << 20, CLIENTS_MAX = 16 };

struct engine {
	struct api *api;
	char folder[32], path[64], fifo[64];
	char waiting_target[128]; /* its query process waits for release() */
	/* Of request_seal(). */
	unsigned seal_requests;
	uint64_t seal_requested_ns;
	bool seals; /* at once, up to a little later than requested */
	/* Of order_events(). */
	unsigned orders;
	struct api_event_order order;
	int order_error;
};

static inline void fill_status(void *context, struct service_status *ret_status)
{
	*ret_status = (struct service_status){ .version = "0.1.0", .rate_hz = 99 };
}

static inline void note_seal_request(void *context, uint64_t until_ns)
{
	struct engine *engine = context;

	engine->seal_requests++;
	engine->seal_requested_ns = until_ns;
	if (engine->seals)
		api_sealed(engine->api, until_ns + 1234);
}

static inline int note_order(
	void *context, const struct api_event_order *order, struct fault *fault)
{
	struct engine *engine = context;

	engine->orders++;
	engine->order = *order;
	return engine->order_error ? fault_set(fault, engine->order_error, "not now") : 0;
}

/* Makes a folder with a fifo, and a listener in it. */
static inline struct http_listener begin_engine(struct engine *engine)
{
	struct http_listener listener;
	struct fault fault = { 0 };

	*engine = (struct engine){ .folder = "/tmp/api-XXXXXX", .seals = true };
	assert_non_null(mkdtemp(engine->folder));
	(void)snprintf(engine->path, sizeof(engine->path), "%s/api.sock", engine->folder);
	(void)snprintf(engine->fifo, sizeof(engine->fifo), "%s/fifo", engine->folder);
	(void)snprintf(engine->waiting_target, sizeof(engine->waiting_target),
		"/api/v1/profile?comm=wait+%s", engine->fifo);
	assert_int_equal(chmod(engine->folder, 0755), 0);
	assert_int_equal(mkfifo(engine->fifo, 0600), 0);
	assert_int_equal(
		http_listen_unix(engine->path, HTTP_SOCKET_OF_GROUP, (gid_t)-1, &listener, &fault),
		0);
	assert_int_equal(chmod(engine->path, 0666), 0);
	return listener;
}

static inline struct api_options engine_options(
	struct engine *engine, const struct http_listener *listener)
{
	return (struct api_options){
		.listeners = listener,
		.listener_count = 1,
		.history = "/history",
		.symbol_cache = "/symbols",
		.context = engine,
		.status = fill_status,
		.request_seal = note_seal_request,
		.order_events = note_order,
	};
}

static inline void start_api(struct engine *engine, void (*change)(struct api_options *options))
{
	struct http_listener listener = begin_engine(engine);
	struct api_options options = engine_options(engine, &listener);
	struct fault fault = { 0 };

	if (change)
		change(&options);
	assert_int_equal(api_new(&options, &engine->api, &fault), 0);
}

static inline void end_engine(struct engine *engine)
{
	if (!engine->folder[0])
		return;
	api_free(engine->api);
	assert_int_equal(unlink(engine->path), 0);
	assert_int_equal(unlink(engine->fifo), 0);
	assert_int_equal(rmdir(engine->folder), 0);
	*engine = (struct engine){ 0 };
}

static inline int set_up_engine(void **state)
{
	*state = calloc(1, sizeof(struct engine));
	return *state ? 0 : -1;
}

static inline int tear_down_engine(void **state)
{
	end_engine(*state);
	free(*state);
	return 0;
}

static inline int set_up_engine_of_root(void **state)
{
	if (geteuid() != 0) {
		print_message("skipped: only root can connect as other users\n");
		skip();
	}
	return set_up_engine(state);
}

#define AS_ROOT_WITH_ENGINE(test) \
	cmocka_unit_test_setup_teardown(test, set_up_engine_of_root, tear_down_engine)
#define WITH_ENGINE(test) cmocka_unit_test_setup_teardown(test, set_up_engine, tear_down_engine)

/* Lets the API do what there is to do, after waiting for it or `fd` (-1: none) if need be. */
static inline void step(struct engine *engine, int fd, short events)
{
	uint64_t timeout_ns = api_timeout_ns(engine->api);
	struct pollfd fds[] = { { .fd = api_poll_fd(engine->api), .events = POLLIN },
		{ .fd = fd, .events = events } };
	int timeout_ms =
		timeout_ns / 1000000 < GUARD_MS ? (int)((timeout_ns + 999999) / 1000000) : GUARD_MS;

	assert_true(poll(fds, 2, timeout_ms) > 0 || timeout_ms < GUARD_MS);
	assert_int_equal(api_run(engine->api), 0);
}

static inline int connect_client(struct engine *engine)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", engine->path);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

/* Sends a request, and returns its connection. */
static inline int ask_by(struct engine *engine, const char *method, const char *target)
{
	int fd = connect_client(engine);
	char text[1024];
	int size = snprintf(text, sizeof(text), "%s %s HTTP/1.1\r\n" CLOSE, method, target);

	assert_true(size > 0 && size < (int)sizeof(text));
	assert_int_equal(send(fd, text, (size_t)size, MSG_NOSIGNAL), size);
	return fd;
}

static inline int ask(struct engine *engine, const char *target)
{
	return ask_by(engine, "GET", target);
}

/* As ask(), by a user who is not in the socket's group: the kernel records who connects. */
static inline int ask_as_guest(struct engine *engine, uid_t user, const char *target)
{
	int fd;

	assert_int_equal(setgroups(0, NULL), 0);
	assert_int_equal(setegid(user), 0);
	assert_int_equal(seteuid(user), 0);
	fd = ask(engine, target);
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(setegid(0), 0);
	return fd;
}

/* Receives to the end of the connection, and closes it. Free the text. */
static inline char *receive(struct engine *engine, int fd)
{
	char *reply = malloc(REPLY_BYTES);
	size_t used = 0;

	assert_non_null(reply);
	for (;;) {
		ssize_t n = recv(fd, reply + used, REPLY_BYTES - 1 - used, 0);

		if (n < 0 && errno == EAGAIN) {
			step(engine, fd, POLLIN);
			continue;
		}
		used += n > 0 ? (size_t)n : 0;
		reply[used] = '\0';
		if (n <= 0)
			break;
	}
	(void)close(fd);
	return reply;
}

static inline unsigned count_queries(const struct engine *engine, enum query_state state)
{
	unsigned count = 0;

	for (const struct query *t = engine->api->first; t; t = t->next)
		count += t->state == state;
	return count;
}

static inline void wait_for_queries(struct engine *engine, enum query_state state, unsigned count)
{
	while (count_queries(engine, state) != count)
		step(engine, -1, 0);
}

/* Releases a query process that plays "wait". */
static inline void release(struct engine *engine)
{
	int fd = open(engine->fifo, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	(void)close(fd);
}

static inline void check_reply(
	struct engine *engine, int fd, unsigned status, const char *const *parts)
{
	char *reply = receive(engine, fd), first[32];

	(void)snprintf(first, sizeof(first), "HTTP/1.1 %u ", status);
	if (strncmp(reply, first, strlen(first)) != 0)
		fail_msg("not %u: '%.400s'", status, reply);
	for (; *parts; parts++)
		if (!strstr(reply, *parts))
			fail_msg("'%s' is not in '%.900s'", *parts, reply);
	free(reply);
}
#define CHECK_REPLY(engine, fd, status, ...) \
	check_reply(engine, fd, status, (const char *const[]){ __VA_ARGS__, NULL })
