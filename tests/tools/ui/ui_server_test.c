/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several browsers at once. The service answers "unit=slow" when the test lets it, "unit=large"
 * with more than sockets hold, and all others with "{}".
 */
#include "tools/ui/ui_server.h"

#include "tools/ui/ui_passes.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

enum { CONNECTIONS_MAX = 64, LARGE_BYTES = 6 << 20, GUARD_SECONDS = 30, REQUEST_BYTES = 4096 };

static struct {
	char path[64];
	int listener;
	int released_fd; /* readable: slow answers come */
	pthread_t thread, connections[CONNECTIONS_MAX];
	size_t count;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned waiting, left; /* slow requests that wait, and whose client has left */
	unsigned slow;		/* all slow requests */
} service = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

static struct {
	struct ui_server *server;
	pthread_t thread;
	int stop_fd;
	uint16_t port;
	char key[64];
} ui;

/* --- the service ------------------------------------------------------------------------------ */

static void note(int waiting, unsigned left)
{
	assert_int_equal(pthread_mutex_lock(&service.lock), 0);
	service.waiting += (unsigned)waiting;
	service.slow += waiting > 0;
	service.left += left;
	assert_int_equal(pthread_cond_broadcast(&service.changed), 0);
	assert_int_equal(pthread_mutex_unlock(&service.lock), 0);
}

static void await(const unsigned *value, unsigned wanted)
{
	struct timespec end;

	assert_int_equal(clock_gettime(CLOCK_REALTIME, &end), 0);
	end.tv_sec += GUARD_SECONDS;
	assert_int_equal(pthread_mutex_lock(&service.lock), 0);
	while (*value != wanted)
		assert_int_equal(pthread_cond_timedwait(&service.changed, &service.lock, &end), 0);
	assert_int_equal(pthread_mutex_unlock(&service.lock), 0);
}

static bool send_all(int fd, const char *bytes, size_t size)
{
	while (size > 0) {
		ssize_t n = send(fd, bytes, size, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		bytes += n;
		size -= (size_t)n;
	}
	return true;
}

static bool send_body(int fd, size_t size)
{
	char head[128], *body = calloc(1, size);
	int n = snprintf(head, sizeof(head),
		"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n",
		size);
	bool is_sent;

	assert_non_null(body);
	body[0] = '{';
	body[size - 1] = '}';
	is_sent = send_all(fd, head, (size_t)n) && send_all(fd, body, size);
	free(body);
	return is_sent;
}

/* Returns whether the client still waits when the answer may come. */
static bool await_release(int fd)
{
	struct pollfd polled[] = { { .fd = service.released_fd, .events = POLLIN },
		{ .fd = fd, .events = POLLIN | POLLRDHUP } };

	note(1, 0);
	assert_true(poll(polled, 2, GUARD_SECONDS * 1000) > 0);
	note(-1, !polled[0].revents);
	return polled[0].revents != 0;
}

/* Until the client leaves. A request comes whole. */
static void *serve_connection(void *context)
{
	int fd = (int)(intptr_t)context;
	char request[REQUEST_BYTES];
	ssize_t n;

	while ((n = recv(fd, request, sizeof(request) - 1, 0)) > 0) {
		request[n] = '\0';
		if (strstr(request, "unit=slow") && !await_release(fd))
			break;
		if (!send_body(fd, strstr(request, "unit=large") ? LARGE_BYTES : 2))
			break;
	}
	(void)close(fd);
	return NULL;
}

static void *serve(void *context)
{
	int fd;

	while ((fd = accept(service.listener, NULL, NULL)) >= 0) {
		assert_true(service.count < CONNECTIONS_MAX);
		assert_int_equal(pthread_create(&service.connections[service.count++], NULL,
					 serve_connection, (void *)(intptr_t)fd),
			0);
	}
	return context;
}

static void start_service(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(service.path, sizeof(service.path), "/tmp/ui-test-%d.sock", getpid());
	(void)strcpy(address.sun_path, service.path);
	(void)unlink(service.path);
	service.count = service.waiting = service.left = service.slow = 0;
	service.released_fd = eventfd(0, EFD_CLOEXEC);
	service.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(service.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(service.listener, CONNECTIONS_MAX), 0);
	assert_int_equal(pthread_create(&service.thread, NULL, serve, NULL), 0);
}

/* The clients have left. */
static void stop_service(void)
{
	assert_int_equal(shutdown(service.listener, SHUT_RDWR), 0);
	assert_int_equal(pthread_join(service.thread, NULL), 0);
	for (size_t i = 0; i < service.count; i++)
		assert_int_equal(pthread_join(service.connections[i], NULL), 0);
	(void)close(service.listener);
	(void)close(service.released_fd);
	(void)unlink(service.path);
}

/* --- the command ------------------------------------------------------------------------------ */

static void *run_ui(void *context)
{
	struct fault fault = { 0 };

	assert_int_equal(ui_server_run(ui.server, ui.stop_fd, &fault), 0);
	return context;
}

static int set_up(void **state)
{
	struct fault fault = { 0 };

	*state = NULL;
	start_service();
	ui.stop_fd = eventfd(0, EFD_CLOEXEC);
	assert_int_equal(ui_server_new(service.path, 0, &ui.server, &fault), 0);
	assert_int_equal(sscanf(ui_server_address(ui.server), "http://127.0.0.1:%hu/#key=%63s",
				 &ui.port, ui.key),
		2);
	return pthread_create(&ui.thread, NULL, run_ui, NULL);
}

static void stop_ui(void)
{
	assert_int_equal(eventfd_write(ui.stop_fd, 1), 0);
	assert_int_equal(pthread_join(ui.thread, NULL), 0);
	ui_server_free(ui.server);
	ui.server = NULL;
	(void)close(ui.stop_fd);
}

static int tear_down(void **state)
{
	(void)state;
	if (ui.server)
		stop_ui();
	stop_service();
	return 0;
}

/* --- browsers --------------------------------------------------------------------------------- */

/* `receive_bytes` 0: as the system has it. */
static int ask(const char *path, const char *parameters, int receive_bytes)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons(ui.port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const struct timeval guard = { .tv_sec = GUARD_SECONDS };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char request[512];
	int n = snprintf(request, sizeof(request),
		"GET %s?%skey=%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\nConnection: close\r\n\r\n", path,
		parameters, ui.key, ui.port);

	assert_true(fd >= 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof(guard)), 0);
	if (receive_bytes > 0)
		assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_bytes,
					 sizeof(receive_bytes)),
			0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_true(send_all(fd, request, (size_t)n));
	return fd;
}

/* Receives all and closes. Returns the bytes of head and body of a success. */
static size_t receive(int fd)
{
	static const char success[] = "HTTP/1.1 200 ";
	char buffer[64 << 10], first[sizeof(success)] = "";
	size_t size = 0;
	ssize_t n;

	while ((n = recv(fd, buffer, sizeof(buffer), 0)) > 0) {
		if (size == 0)
			(void)snprintf(first, sizeof(first), "%.*s", (int)n, buffer);
		size += (size_t)n;
	}
	assert_int_equal(n, 0);
	assert_string_equal(first, success);
	(void)close(fd);
	return size;
}

static void release(void)
{
	assert_int_equal(eventfd_write(service.released_fd, 1), 0);
}

static void a_slow_answer_holds_up_no_other(void **state)
{
	int slow = ask("/api/v1/profile", "unit=slow&", 0);

	await(&service.waiting, 1);
	(void)receive(ask("/", "", 0));
	(void)receive(ask("/api/v1/timeline", "", 0));
	(void)receive(ask("/api/v1/profile", "unit=quick&", 0));
	(void)receive(ask("/api/v1/heatmap", "", 0));
	assert_int_equal(service.waiting, 1);
	release();
	(void)receive(slow);
}

/* More than are passed on at once wait for their turn, and the page still comes. */
static void many_are_answered_in_turn(void **state)
{
	enum { MANY = UI_PASSES + 5 };
	int fds[MANY];

	for (size_t i = 0; i < MANY; i++)
		fds[i] = ask("/api/v1/profile", "unit=slow&", 0);
	await(&service.waiting, UI_PASSES);
	(void)receive(ask("/", "", 0));
	assert_int_equal(service.waiting, UI_PASSES);
	release();
	for (size_t i = 0; i < MANY; i++)
		(void)receive(fds[i]);
}

static void a_client_that_stops_reading_holds_up_no_other(void **state)
{
	int stuck[2];

	for (size_t i = 0; i < 2; i++)
		stuck[i] = ask("/api/v1/profile", "unit=large&", 4096);
	assert_true(receive(ask("/api/v1/profile", "unit=large&", 0)) > LARGE_BYTES);
	/* They may go on; the server waits for them for 20 s. */
	assert_true(receive(stuck[0]) > LARGE_BYTES);
	(void)receive(ask("/api/v1/timeline", "", 0));
	assert_true(receive(stuck[1]) > LARGE_BYTES);
}

/* With a reset, as only that shows on TCP. */
static void leave(int fd)
{
	const struct linger linger = { .l_onoff = 1 };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
	(void)close(fd);
}

static void the_service_need_not_answer_a_client_that_left(void **state)
{
	int fds[UI_PASSES + 2];

	for (size_t i = 0; i < UI_PASSES + 2; i++) {
		fds[i] = ask("/api/v1/profile", "unit=slow&", 0);
		await(&service.waiting, i < UI_PASSES ? (unsigned)i + 1 : UI_PASSES);
	}
	/* The last two have been read, and wait for their turn. The last gets none. */
	(void)receive(ask("/", "", 0));
	leave(fds[UI_PASSES + 1]);
	leave(fds[0]);
	(void)receive(ask("/", "", 0));
	await(&service.left, 1);
	await(&service.waiting, UI_PASSES);
	release();
	for (size_t i = 1; i < UI_PASSES + 1; i++)
		(void)receive(fds[i]);
	(void)receive(ask("/api/v1/timeline", "", 0));
	assert_int_equal(service.slow, UI_PASSES + 1);
}

static void it_ends_while_requests_wait(void **state)
{
	int fds[UI_PASSES + 1];

	for (size_t i = 0; i < UI_PASSES + 1; i++)
		fds[i] = ask("/api/v1/profile", "unit=slow&", 0);
	await(&service.waiting, UI_PASSES);
	stop_ui();
	await(&service.left, UI_PASSES);
	for (size_t i = 0; i < UI_PASSES + 1; i++)
		(void)close(fds[i]);
}

#define WITH_UI(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_UI(a_slow_answer_holds_up_no_other),
		WITH_UI(many_are_answered_in_turn),
		WITH_UI(a_client_that_stops_reading_holds_up_no_other),
		WITH_UI(the_service_need_not_answer_a_client_that_left),
		WITH_UI(it_ends_while_requests_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
