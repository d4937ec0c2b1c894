/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/http_client.h"

#include "serve/http_server.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { BIG_BYTES = 3 << 20 };

/* A service in a process of its own. */
struct service {
	char folder[64], path[80];
	struct http_listener listener;
	pid_t pid;
};

static void answer_hello(void *context, struct http_request *request)
{
	http_answer_text(request, 200, "hello %s", http_request_parameter(request, "name"));
}

static void answer_big(void *context, struct http_request *request)
{
	char *body = malloc(BIG_BYTES);

	memset(body, 'x', BIG_BYTES);
	http_answer(request, &(struct http_answer){ .status = 200,
				     .content_type = "application/octet-stream",
				     .body = body,
				     .size = BIG_BYTES });
}

static void refuse(void *context, struct http_request *request)
{
	http_answer_text(request, 400, "The time 'x\x1b' is none: write 10min.");
}

static void refuse_silently(void *context, struct http_request *request)
{
	http_answer(request, &(struct http_answer){ .status = 503, .content_type = "text/plain" });
}

static void never(void *context, struct http_request *request)
{
	(void)request;
}

static const struct http_route routes[] = {
	{ "GET", "/hello", answer_hello, NULL, NULL, false },
	{ "GET", "/big", answer_big, NULL, NULL, false },
	{ "GET", "/refused", refuse, NULL, NULL, false },
	{ "GET", "/silent", refuse_silently, NULL, NULL, false },
	{ "GET", "/never", never, NULL, NULL, false },
	{ 0 },
};

static void serve(const struct service *service)
{
	struct http_server *server;
	struct fault fault = { 0 };

	if (http_server_new(
		    &http_default_limits, &service->listener, 1, routes, NULL, &server, &fault) < 0)
		_exit(1);
	for (;;) {
		struct pollfd fd = { .fd = http_server_poll_fd(server), .events = POLLIN };

		(void)poll(&fd, 1, 1000);
		if (http_server_run(server) < 0)
			_exit(1);
	}
}

/* Sends a given answer to any request, and closes the connection. */
static void serve_bytes(const struct service *service, const char *bytes)
{
	int flags = fcntl(service->listener.fd, F_GETFL);

	(void)fcntl(service->listener.fd, F_SETFL, flags & ~O_NONBLOCK);
	for (;;) {
		int fd = accept(service->listener.fd, NULL, NULL);
		char request[4096];

		if (fd < 0 || recv(fd, request, sizeof(request), 0) < 0)
			_exit(1);
		(void)send(fd, bytes, strlen(bytes), MSG_NOSIGNAL);
		(void)close(fd);
	}
}

/* `bytes` NULL: as pilotlightd serves. */
static void start(struct service *service, const char *bytes)
{
	struct fault fault = { 0 };

	(void)snprintf(service->folder, sizeof(service->folder), "/tmp/http-client-XXXXXX");
	assert_non_null(mkdtemp(service->folder));
	(void)snprintf(service->path, sizeof(service->path), "%s/s", service->folder);
	assert_int_equal(http_listen_unix(service->path, HTTP_SOCKET_OF_GROUP, (gid_t)-1,
				 &service->listener, &fault),
		0);
	service->pid = fork();
	assert_true(service->pid >= 0);
	if (service->pid == 0) {
		if (bytes)
			serve_bytes(service, bytes);
		serve(service);
	}
	(void)close(service->listener.fd);
}

static void end(const struct service *service)
{
	assert_int_equal(kill(service->pid, SIGKILL), 0);
	assert_int_equal(waitpid(service->pid, NULL, 0), service->pid);
}

static void stop(const struct service *service)
{
	end(service);
	assert_int_equal(unlink(service->path), 0);
	assert_int_equal(rmdir(service->folder), 0);
}

static struct http_client *new_client(const char *path)
{
	struct http_client_options options = { .socket_path = path, .timeout_s = 20 };
	struct http_client *client;
	struct fault fault = { 0 };

	assert_int_equal(http_client_new(&options, &client, &fault), 0);
	return client;
}

/* That it fails so, with these words in its fault. */
static void expect_failure(
	struct http_client *client, const char *target, int error, const char *words)
{
	struct output_memory memory = { .limit_bytes = 1 << 20 };
	struct http_reply reply = { .status = 7 };
	struct fault fault = { 0 };

	assert_int_equal(
		http_client_get(client, target, output_to_memory, &memory, &reply, &fault), error);
	if (!strstr(fault.text, words))
		fail_msg("'%s' is not in '%s'", words, fault.text);
	assert_true(reply.status == 7 || error == -EREMOTEIO);
	free(memory.bytes);
}

static void one_connection_serves_many_requests(void **state)
{
	struct service service;
	struct http_client *client;
	struct fault fault = { 0 };

	start(&service, NULL);
	client = new_client(service.path);
	for (int i = 0; i < 40; i++) {
		struct output_memory memory = { .limit_bytes = 4 << 20 };
		struct http_reply reply;

		assert_int_equal(http_client_get(client, i % 2 ? "/big" : "/hello?name=a%20b",
					 output_to_memory, &memory, &reply, &fault),
			0);
		assert_int_equal(reply.status, 200);
		if (i % 2) {
			assert_int_equal(memory.size, BIG_BYTES);
		} else {
			assert_int_equal(memory.size, strlen("hello a b\n"));
			assert_memory_equal(memory.bytes, "hello a b\n", memory.size);
		}
		free(memory.bytes);
	}
	http_client_free(client);
	stop(&service);
}

static void refusals_of_the_service_are_reported(void **state)
{
	struct service service;
	struct http_client *client;

	start(&service, NULL);
	client = new_client(service.path);
	expect_failure(client, "/refused", -EREMOTEIO,
		"pilotlightd answers 400: The time 'x\xEF\xBF\xBD' is none: write 10min.");
	expect_failure(client, "/silent", -EREMOTEIO, "pilotlightd answers 503: no reason given");
	expect_failure(client, "/nothing", -EREMOTEIO, "No such path: '/nothing'");
	http_client_free(client);
	stop(&service);
}

static void a_missing_service_is_reported(void **state)
{
	struct service service;
	struct http_client *client;
	char path[200];

	start(&service, NULL);
	end(&service);
	client = new_client(service.path);
	expect_failure(client, "/", -ECONNREFUSED, "systemctl start pilotlightd");
	assert_int_equal(unlink(service.path), 0);
	expect_failure(client, "/", -ENOENT, "systemctl start pilotlightd");
	/* A file of another kind, which the kernel has the same words for. */
	assert_int_equal(mkdir(service.path, 0700), 0);
	expect_failure(client, "/", -ENOTSOCK, "is not a socket");
	assert_int_equal(rmdir(service.path), 0);
	assert_int_equal(rmdir(service.folder), 0);
	expect_failure(client, "/", -ENOENT, service.path);
	http_client_free(client);

	memset(path, 'x', sizeof(path) - 1);
	path[0] = '/';
	path[sizeof(path) - 1] = '\0';
	client = new_client(path);
	expect_failure(client, "/", -ENAMETOOLONG, "too long");
	http_client_free(client);
}

static void a_lack_of_permission_is_explained(void **state)
{
	struct service service;
	struct http_client *client;

	if (geteuid() == 0 && seteuid(65534) < 0) {
		print_message(
			"# root may connect everywhere, and cannot become another user here\n");
		skip();
	}
	start(&service, NULL);
	assert_int_equal(chmod(service.path, 0), 0);
	client = new_client(service.path);
	expect_failure(client, "/", -EACCES, "members of the group pilotlight");
	http_client_free(client);
	stop(&service);
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

static void answers_that_are_not_http_are_reported(void **state)
{
	static const char *const answers[] = { "", "SSH-2.0-OpenSSH_9.2\r\n",
		"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n" };

	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		struct service service;
		struct http_client *client;

		start(&service, answers[i]);
		client = new_client(service.path);
		expect_failure(client, "/", -EPROTO, "invalid or incomplete answer");
		http_client_free(client);
		stop(&service);
	}
}

/* Header fields of a profile; invalid ones count as missing. */
static void fields_of_seconds_are_read(void **state)
{
	static const struct {
		const char *answer;
		uint64_t covered_ns, period_ns;
	} cases[] = {
		{ "X-Pilotlight-Covered-Seconds: 20.000000001\r\n"
		  "x-pilotlight-period-seconds: 0.0101\r\n",
			20000000001, 10100000 },
		{ "X-Pilotlight-Covered-Seconds: 20 s\r\nX-Pilotlight-Period-Seconds: -1\r\n", 0,
			0 },
		{ "X-Pilotlight-Covered-Seconds: 99999999999999\r\n", 0, 0 },
		{ "", 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct output_memory memory = { .limit_bytes = 16 };
		struct service service;
		struct http_client *client;
		struct http_reply reply;
		struct fault fault = { 0 };
		char answer[256];

		(void)snprintf(answer, sizeof(answer),
			"HTTP/1.1 200 OK\r\n%sContent-Length: 0\r\n\r\n", cases[i].answer);
		start(&service, answer);
		client = new_client(service.path);
		assert_int_equal(
			http_client_get(client, "/", output_to_memory, &memory, &reply, &fault), 0);
		assert_int_equal(reply.covered_ns, cases[i].covered_ns);
		assert_int_equal(reply.period_ns, cases[i].period_ns);
		http_client_free(client);
		stop(&service);
	}
}

static int refuse_bytes(void *context, const void *bytes, size_t size)
{
	(void)bytes;
	(void)size;
	return -ENOSPC;
}

static int stop_at_once(void *context, uint64_t received_bytes)
{
	unsigned *calls = context;

	(void)received_bytes;
	(*calls)++;
	return 1;
}

static void a_reader_may_stop(void **state)
{
	struct service service;
	struct http_client *client;
	struct http_reply reply;
	struct fault full = { 0 }, interrupted = { 0 }, too_much = { 0 };
	unsigned calls = 0;
	struct http_client_options options = { .progress = stop_at_once, .context = &calls };
	struct output_memory memory = { .limit_bytes = 4 << 20 };

	start(&service, NULL);
	options.socket_path = service.path;
	client = new_client(service.path);
	assert_int_equal(
		http_client_get(client, "/big", refuse_bytes, NULL, &reply, &full), -ENOSPC);
	assert_non_null(strstr(full.text, "No space left"));
	http_client_free(client);

	assert_int_equal(http_client_new(&options, &client, &interrupted), 0);
	assert_int_equal(
		http_client_get(client, "/never", output_to_memory, &memory, &reply, &interrupted),
		-ECANCELED);
	assert_string_equal(interrupted.text, "interrupted");
	assert_int_equal(calls, 1);
	http_client_free(client);

	options =
		(struct http_client_options){ .socket_path = service.path, .limit_bytes = 1 << 20 };
	assert_int_equal(http_client_new(&options, &client, &too_much), 0);
	assert_int_equal(
		http_client_get(client, "/big", output_to_memory, &memory, &reply, &too_much),
		-E2BIG);
	assert_non_null(strstr(too_much.text, "larger than 1048576 bytes"));
	assert_true(memory.size <= 1 << 20);
	http_client_free(client);
	free(memory.bytes);
	stop(&service);
}

static void waiting_has_an_end(void **state)
{
	struct service service;
	struct http_client_options options = { .timeout_s = 1 };
	struct http_client *client;
	struct fault fault = { 0 };

	start(&service, NULL);
	options.socket_path = service.path;
	assert_int_equal(http_client_new(&options, &client, &fault), 0);
	expect_failure(client, "/never", -ETIMEDOUT, "within 1 s");
	http_client_free(client);
	stop(&service);
}

static void requests_are_bounded(void **state)
{
	static char target[32 << 10];
	struct http_client *client = new_client("/nowhere");

	memset(target, '/', sizeof(target) - 1);
	expect_failure(client, target, -E2BIG, "select less");
	http_client_free(client);
}

static void the_environment_names_the_socket(void **state)
{
	assert_int_equal(unsetenv("PILOTLIGHT_SOCKET"), 0);
	assert_string_equal(http_client_default_socket(), "/run/pilotlight/api.sock");
	assert_int_equal(setenv("PILOTLIGHT_SOCKET", "", 1), 0);
	assert_string_equal(http_client_default_socket(), "/run/pilotlight/api.sock");
	assert_int_equal(setenv("PILOTLIGHT_SOCKET", "/x", 1), 0);
	assert_string_equal(http_client_default_socket(), "/x");
}

static void failing_allocations_are_reported(void **state)
{
	const struct http_client_options options = { .socket_path = "/nowhere" };
	struct http_client *client = NULL;
	struct http_reply reply;
	struct fault fault = { 0 };

	assert_true(FAIL_EACH_ALLOCATION(
			    http_client_new(&options, &client, &fault), -ENOMEM, !client, 0) >= 2);
	fail_allocation(0);
	assert_int_equal(http_client_get(client, "/", refuse_bytes, NULL, &reply, &fault), -ENOMEM);
	assert_true(allocation_failed());
	http_client_free(client);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_connection_serves_many_requests),
		cmocka_unit_test(refusals_of_the_service_are_reported),
		cmocka_unit_test(a_missing_service_is_reported),
		cmocka_unit_test(a_lack_of_permission_is_explained),
		cmocka_unit_test(answers_that_are_not_http_are_reported),
		cmocka_unit_test(fields_of_seconds_are_read),
		cmocka_unit_test(a_reader_may_stop),
		cmocka_unit_test(waiting_has_an_end),
		cmocka_unit_test(requests_are_bounded),
		cmocka_unit_test(the_environment_names_the_socket),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
