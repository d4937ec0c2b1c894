/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tests the sender with a receiver on loopback, which plays the role in the first part of the path.
 * Tests the owner with hostile senders: this program, started as `sink-send`, plays the role that
 * names the sink. tests/end_to_end/service_send.sh tries whole failures, and TLS.
 */
#include "send/send_job.h"

#include "base/array.h"
#include "base/clock.h"
#include "child/child_request.h"
#include "tests/config/config_folder.h"
#include "tests/harness/failing_allocation.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { BATCH_BYTES = 300000, GUARD_MS = 60000 };

static int server_port, closed_port, batch_fd;
static pid_t server_pid;
static struct config_folder folder; /* of the sender's configuration */

/* --- the receiver ------------------------------------------------------------------------------
 */

static void say(int fd, const char *text)
{
	if (send(fd, text, strlen(text), MSG_NOSIGNAL) < 0)
		_exit(0);
}

static void say_status(int fd, const char *status, const char *type, const char *body, size_t size)
{
	char head[256];

	(void)snprintf(head, sizeof(head),
		"HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n\r\n", status, type,
		size);
	say(fd, head);
	(void)send(fd, body, size, MSG_NOSIGNAL);
}

static const char *value_of(const char *request, const char *name, char value[64])
{
	const char *at = strcasestr(request, name);

	value[0] = '\0';
	if (at)
		(void)snprintf(value, 64, "%.*s", (int)strcspn(at + strlen(name), "\r"),
			at + strlen(name));
	return value;
}

/* Reads the whole request. Returns the bytes of its body. */
static size_t read_request(int fd, char *request, size_t room)
{
	size_t size = 0, body = 0, announced;
	char value[64];
	ssize_t n;

	while (!memmem(request, size, "\r\n\r\n", 4)) {
		n = recv(fd, request + size, room - size - 1, 0);
		if (n <= 0)
			_exit(0);
		size += (size_t)n;
		request[size] = '\0';
	}
	body = size - (size_t)(strstr(request, "\r\n\r\n") + 4 - request);
	announced = strtoul(value_of(request, "content-length: ", value), NULL, 10);
	if (strncmp(request, "POST /unread", 12) == 0 || strncmp(request, "POST /reset", 11) == 0)
		return body;
	for (char part[4096]; body < announced; body += (size_t)n) {
		n = recv(fd, part, sizeof(part), 0);
		if (n <= 0)
			_exit(0);
	}
	return body;
}

static void describe(int fd, const char *request, size_t body_bytes)
{
	char type[64], encoding[64], token[64], other[64], text[400];

	(void)snprintf(text, sizeof(text), "%.*s|%s|%s|%s|%s|%zu", (int)strcspn(request, "\r"),
		request, value_of(request, "\r\ncontent-type: ", type),
		value_of(request, "\r\ncontent-encoding: ", encoding),
		value_of(request, "\r\nauthorization: ", token),
		value_of(request, "\r\nx-test: ", other), body_bytes);
	say_status(fd, "400 Bad", "text/plain", text, strlen(text));
}

static void reset(int fd)
{
	const struct linger linger = { .l_onoff = 1 };

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
	_exit(0);
}

static void answer(int fd)
{
	static char request[16384], chunk[8192];
	const size_t body_bytes = read_request(fd, request, sizeof(request));
	const char *role = request + strlen("POST /");

	if (strncmp(role, "describe", 8) == 0) {
		describe(fd, request, body_bytes);
	} else if (strncmp(role, "taken", 5) == 0) {
		say_status(fd, "200 OK", "application/x-protobuf", "", 0);
	} else if (strncmp(role, "partial", 7) == 0) {
		say_status(fd, "200 OK", "application/x-protobuf", "\x0a\x06\x08\x03\x12\x02no", 8);
	} else if (strncmp(role, "collector", 9) == 0) {
		say_status(fd, "400 Bad Request", "application/x-protobuf",
			"\x08\x03\x12\x1chttp: request body too large", 32);
	} else if (strncmp(role, "later", 5) == 0) {
		say(fd, "HTTP/1.1 429 Later\r\nRetry-After: 7\r\nContent-Length: 0\r\n\r\n");
	} else if (strncmp(role, "beyond", 6) == 0) {
		say(fd, "HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n");
	} else if (strncmp(role, "moved", 5) == 0) {
		say(fd, "HTTP/1.1 302 Found\r\nLocation: /taken\r\nContent-Length: 0\r\n\r\n");
	} else if (strncmp(role, "unread", 6) == 0) {
		say_status(fd, "413 Too Large", "text/plain", "too large", 9);
	} else if (strncmp(role, "reset", 5) == 0) {
		reset(fd);
	} else if (strncmp(role, "garbage", 7) == 0) {
		say(fd, "\x7f\x01\x02 this is not HTTP\r\n\r\n\xff\xff");
	} else if (strncmp(role, "cut", 3) == 0) {
		say(fd, "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nonly this");
	} else if (strncmp(role, "endless", 7) == 0) {
		say(fd, "HTTP/1.1 200 OK\r\n\r\n");
		for (memset(chunk, 'x', sizeof(chunk) - 1);;)
			say(fd, chunk);
	} else if (strncmp(role, "headers", 7) == 0) {
		say(fd, "HTTP/1.1 200 OK\r\n");
		for (;;)
			say(fd, "X-More: "
				"yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n");
	} else if (strncmp(role, "silent", 6) == 0) {
		(void)poll(NULL, 0, -1);
	}
}

static _Noreturn void serve(int listen_fd)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int fd = accept(listen_fd, NULL, NULL);

		if (fd < 0 || fork() != 0) {
			(void)close(fd);
			continue;
		}
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer(fd);
		(void)shutdown(fd, SHUT_WR);
		_exit(0);
	}
}

static int listen_on_loopback(int *ret_port)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&address, size) < 0 ||
		getsockname(fd, (struct sockaddr *)&address, &size) < 0)
		return -1;
	*ret_port = ntohs(address.sin_port);
	return fd;
}

/* --- hostile senders ---------------------------------------------------------------------------
 */

static void reply_with(const struct send_reply *reply, size_t bytes)
{
	(void)send(CHILD_SOCKET_NUMBER, reply, bytes, MSG_NOSIGNAL);
}

/* Plays a role that begins with "!"; otherwise it is the real sender. */
static int sender(int argc, char **argv)
{
	static struct send_request request;
	struct send_reply reply = { .version = SEND_VERSION, .status = 200, .text = "fine" };
	char peeked[1024];
	ssize_t size = recv(CHILD_SOCKET_NUMBER, peeked, sizeof(peeked), MSG_PEEK);

	if (size < 0 || !memmem(peeked, (size_t)size, "hostile:", 8))
		return send_main(argc, argv);
	if (child_request_receive(&request, sizeof(request)) < 0)
		return 9;
	if (strcmp(request.sink, "hostile:version") == 0)
		reply.version++;
	else if (strcmp(request.sink, "hostile:status") == 0)
		reply.status = 7;
	else if (strcmp(request.sink, "hostile:error") == 0)
		reply.error = 5;
	else if (strcmp(request.sink, "hostile:text") == 0)
		memset(reply.text, 'x', sizeof(reply.text));
	else if (strcmp(request.sink, "hostile:shown") == 0)
		(void)snprintf(reply.text, sizeof(reply.text), "\x1b[31m\xff red");
	else if (strcmp(request.sink, "hostile:wait") == 0)
		reply.retry_after_s = UINT32_MAX;
	else if (strcmp(request.sink, "hostile:rejected") == 0)
		reply.rejected = UINT64_MAX;
	if (strcmp(request.sink, "hostile:crash") == 0)
		(void)raise(SIGKILL);
	if (strcmp(request.sink, "hostile:exit") == 0)
		return 3;
	if (strcmp(request.sink, "hostile:silent") == 0)
		for (;;)
			(void)pause();
	reply_with(&reply, strcmp(request.sink, "hostile:short") == 0 ? 8 : sizeof(reply));
	for (;;)
		(void)pause();
}

/* --- the tests ---------------------------------------------------------------------------------
 */

static struct send_outcome send_as(const char *sink, const char *type)
{
	const struct send_job_options options = {
		.sink = sink,
		.type = type,
		.timeout_ns = 20ULL * NSEC_PER_SEC,
		.fd = batch_fd,
		.bytes = BATCH_BYTES,
		.known_fd = -1,
	};
	_cleanup_(send_job_freep) struct send_job *job = NULL;
	struct send_outcome outcome;
	struct pollfd fd = { .events = POLLIN };

	assert_int_equal(send_job_start(&options, &job), 0);
	fd.fd = send_job_poll_fd(job);
	do
		assert_int_equal(poll(&fd, 1, GUARD_MS), 1);
	while (send_job_take(job, &outcome) < 0);
	return outcome;
}

/* The configuration has one sink, "test", with these lines more. */
static struct send_outcome send_with(const char *url, const char *lines)
{
	char text[1024];

	(void)snprintf(text, sizeof(text), "[sink test]\nType=otlp\nUrl=%s\n%s", url, lines);
	config_folder_write(&folder, "x.conf", text);
	return send_as("test", "otlp");
}

/* The sender adds "/v1development/profiles". */
static const char *url_of(const char *scheme, int port, const char *role)
{
	static char url[128];

	(void)snprintf(url, sizeof(url), "%s://127.0.0.1:%d/%s", scheme, port, role);
	return url;
}

static struct send_outcome send_to(const char *role)
{
	return send_with(url_of("http", server_port, role), "");
}

static void a_request_is_whole(void **state)
{
	const char *url = url_of("http", server_port, "describe");
	char token[] = "/tmp/send_job_test.XXXXXX", lines[128];
	int fd = mkstemp(token);
	struct send_outcome outcome;

	/* The sender of root is another user. */
	assert_true(fd >= 0 && fchmod(fd, 0644) == 0);
	assert_int_equal(write(fd, "secret-1\n", 9), 9);
	assert_int_equal(close(fd), 0);
	(void)snprintf(lines, sizeof(lines), "TokenFile=%s\nHeader=X-Test: a b\n", token);
	outcome = send_with(url, lines);
	assert_string_equal(outcome.text,
		"it answers 400: POST /describe/v1development/profiles "
		"HTTP/1.1|application/x-protobuf|gzip|Bearer secret-1|a b|300000");
	assert_int_equal(outcome.verdict, SEND_REFUSED_BATCH);
	assert_int_equal(unlink(token), 0);
	outcome = send_with(url, lines);
	assert_int_equal(outcome.verdict, SEND_TRY_AGAIN);
	assert_non_null(strstr(outcome.text, "cannot read the token"));
	assert_non_null(
		strstr(send_with(url, "TokenFile=name\n").text, "there is no credential 'name'"));
}

/* All that an intruder in the engine can choose is one of the sinks. */
static void other_sinks_are_refused(void **state)
{
	static const char *const wrong[][2] = {
		{ "other", "otlp" },
		{ "test", "pyroscope" },
		{ "files", "pprof" }, /* is not sent */
		{ "", "" },
		{ "test\nUrl=http://x", "otlp" },
	};
	struct send_outcome outcome;

	assert_int_equal(
		send_with(url_of("http", server_port, "taken"), "[sink files]\nType=pprof\n")
			.verdict,
		SEND_TAKEN);
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		outcome = send_as(wrong[i][0], wrong[i][1]);
		assert_int_equal(outcome.verdict, SEND_TRY_AGAIN);
		assert_true(outcome.text[0] && !strstr(outcome.text, "answers"));
	}
	outcome = send_with(url_of("http", server_port, "taken"), "Nonsense=1\n");
	assert_int_equal(outcome.verdict, SEND_TRY_AGAIN);
	assert_non_null(strstr(outcome.text, "Nonsense"));
	assert_int_equal(unlink(folder.file), 0);
	assert_non_null(strstr(send_as("test", "otlp").text, folder.file));
}

static void a_long_token_is_refused(void **state)
{
	const char *url = url_of("http", server_port, "taken");
	char token[] = "/tmp/send_job_test.XXXXXX", line[4096], lines[128];
	int fd = mkstemp(token);
	struct send_outcome outcome;

	memset(line, 'x', sizeof(line));
	(void)snprintf(lines, sizeof(lines), "TokenFile=%s\n", token);
	assert_true(fd >= 0 && fchmod(fd, 0644) == 0);
	assert_int_equal(write(fd, line, 4094), 4094);
	assert_int_equal(send_with(url, lines).verdict, SEND_TAKEN);
	assert_int_equal(write(fd, "\n", 1), 1);
	assert_int_equal(send_with(url, lines).verdict, SEND_TAKEN);
	assert_int_equal(pwrite(fd, line, sizeof(line), 0), sizeof(line));
	outcome = send_with(url, lines);
	assert_int_equal(outcome.verdict, SEND_TRY_AGAIN);
	assert_non_null(strstr(outcome.text, token));
	assert_non_null(strstr(outcome.text, "is longer than 4094 bytes"));
	assert_int_equal(close(fd), 0);
	assert_int_equal(unlink(token), 0);
}

static void answers_have_their_verdicts(void **state)
{
	static const struct {
		const char *role;
		enum send_verdict verdict;
		uint64_t retry_after_s, rejected;
		const char *text; /* a part of it */
	} cases[] = {
		{ "taken", SEND_TAKEN, 0, 0, "200" },
		{ "partial", SEND_TAKEN, 0, 3, "no" },
		{ "later", SEND_TRY_LATER, 7, 0, "429" },
		{ "collector", SEND_TOO_LARGE, 0, 0, "400: http: request body too large" },
		{ "moved", SEND_REFUSED, 0, 0, "302" },
		{ "unread", SEND_TOO_LARGE, 0, 0, "413: too large" },
		{ "reset", SEND_TRY_AGAIN, 0, 0, "" },
		{ "garbage", SEND_TRY_AGAIN, 0, 0, "HTTP/0.9" },
		{ "cut", SEND_TAKEN, 0, 0, "200" },
		{ "endless", SEND_TAKEN, 0, 0, "200" },
		{ "headers", SEND_TAKEN, 0, 0, "200" },
		{ "beyond", SEND_TRY_AGAIN, 0, 0, "it answers 999, which is no status" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct send_outcome outcome = send_to(cases[i].role);

		if (outcome.verdict != cases[i].verdict || outcome.rejected != cases[i].rejected ||
			outcome.retry_after_ns != cases[i].retry_after_s * NSEC_PER_SEC ||
			!strstr(outcome.text, cases[i].text))
			fail_msg(
				"%s: verdict %d, %s", cases[i].role, outcome.verdict, outcome.text);
	}
}

static void no_answer_is_tried_again(void **state)
{
	struct send_outcome outcome = send_with(url_of("http", closed_port, ""), "");

	assert_int_equal(outcome.verdict, SEND_TRY_AGAIN);
	assert_non_null(strstr(outcome.text, "connect"));
	outcome = send_with(url_of("http", server_port, "silent"), "Timeout=1s\n");
	assert_int_equal(outcome.verdict, SEND_TRY_AGAIN);
	assert_non_null(strstr(outcome.text, "timed out"));
	outcome = send_with(url_of("https", server_port, "taken"), "");
	assert_int_equal(outcome.verdict, SEND_TRY_AGAIN);
}

static void senders_are_not_trusted(void **state)
{
	static const struct {
		const char *sink;
		enum send_verdict verdict;
		const char *text;
	} cases[] = {
		{ "hostile:version", SEND_TRY_AGAIN, "failed" },
		{ "hostile:status", SEND_TRY_AGAIN, "" },
		{ "hostile:error", SEND_TRY_AGAIN, "" },
		{ "hostile:text", SEND_TRY_AGAIN, "" },
		{ "hostile:rejected", SEND_TRY_AGAIN, "" },
		{ "hostile:short", SEND_TRY_AGAIN, "" },
		{ "hostile:crash", SEND_TRY_AGAIN, "signal 9" },
		{ "hostile:exit", SEND_TRY_AGAIN, "status 3" },
		{ "hostile:shown", SEND_TAKEN, "it answers 200: [31m red" },
		{ "hostile:wait", SEND_TAKEN, "200" },
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct send_outcome outcome = send_as(cases[i].sink, "otlp");

		if (outcome.verdict != cases[i].verdict || !strstr(outcome.text, cases[i].text))
			if (i > 0)
				fail_msg("%s: verdict %d, %s", cases[i].sink, outcome.verdict,
					outcome.text);
		assert_true(outcome.retry_after_ns <= 3600ULL * NSEC_PER_SEC);
	}
}

static int start_and_free(const struct send_job_options *options)
{
	_cleanup_(send_job_freep) struct send_job *job = NULL;

	return send_job_start(options, &job);
}

static void failing_allocations_leave_nothing(void **state)
{
	const struct send_job_options options = {
		.sink = "hostile:silent",
		.type = "otlp",
		.timeout_ns = 1,
		.fd = batch_fd,
		.bytes = BATCH_BYTES,
		.known_fd = -1,
	};

	assert_true(FAIL_EACH_ALLOCATION(start_and_free(&options), -ENOMEM, true, 0) >= 2);
}

static int set_up(void **state)
{
	int listen_fd = listen_on_loopback(&server_port);
	int closed_fd = listen_on_loopback(&closed_port);

	batch_fd = memfd_create("batch", MFD_CLOEXEC);
	if (listen_fd < 0 || closed_fd < 0 || listen(listen_fd, 16) < 0 || batch_fd < 0 ||
		ftruncate(batch_fd, BATCH_BYTES) < 0)
		return -1;
	server_pid = fork();
	if (server_pid == 0)
		serve(listen_fd);
	(void)close(listen_fd);
	config_folder_make(&folder);
	/* The sender of root is another user. */
	if (chmod(folder.path, 0755) < 0 || setenv("PILOTLIGHT_CONFIG", folder.file, true) < 0)
		return -1;
	return server_pid > 0 ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)kill(server_pid, SIGKILL);
	(void)waitpid(server_pid, NULL, 0);
	config_folder_remove(&folder);
	return close(batch_fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_is_whole),
		cmocka_unit_test(other_sinks_are_refused),
		cmocka_unit_test(a_long_token_is_refused),
		cmocka_unit_test(answers_have_their_verdicts),
		cmocka_unit_test(no_answer_is_tried_again),
		cmocka_unit_test(senders_are_not_trusted),
		cmocka_unit_test(failing_allocations_leave_nothing),
	};

	if (argc > 1 && strcmp(argv[1], "sink-send") == 0)
		return sender(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
