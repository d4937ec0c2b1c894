/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers from memory and from files, and the bound of those that clients have not read. */
#include "tests/harness/failing_allocation.h"
#include "tests/serve/http_fixture.h"

#include <fcntl.h>

static void text_answers_have_the_header_of_their_route(void **state)
{
	struct http_server *server = http_start(*state, NULL);
	char *reply;

	EXPECT(server, "GET /parameters HTTP/1.1\r\n" CLOSE, "\r\nX-Is-Text: 1\r\n");
	reply = http_exchange(server, "GET /hello HTTP/1.1\r\n" CLOSE);
	assert_null(strstr(reply, "X-Is-Text"));
	free(reply);
}

static void a_page_gets_errors_as_answers(void **state)
{
	struct http_server *server = http_start(*state, NULL);
	char *reply;

	EXPECT(server, "GET /none HTTP/1.1\r\nPilotlight-Status: 200\r\n" CLOSE,
		"HTTP/1.1 200 OK\r\n", "\r\nPilotlight-Status: 404\r\n",
		"\r\n\r\nNo such path: '/none'.");
	EXPECT(server, "PUT /hello HTTP/1.1\r\nPilotlight-Status: 200\r\n" CLOSE,
		"HTTP/1.1 200 OK\r\n", "\r\nPilotlight-Status: 405\r\n");
	EXPECT(server, "GET /none HTTP/1.1\r\nPilotlight-Status: 404\r\n" CLOSE,
		"HTTP/1.1 404 Not Found\r\n");
	/* What is no error is as without it. */
	reply = http_exchange(server, "GET /hello HTTP/1.1\r\nPilotlight-Status: 200\r\n" CLOSE);
	assert_null(strstr(reply, "Pilotlight-Status"));
	free(reply);
	assert_int_equal(http_counters_of(server).statuses[4], 3);
}

#define CONTENT_POLICY "Content-Security-Policy: "

static void answers_are_inert_in_a_browser(void **state)
{
	static const char *const requests[] = { "GET /hello HTTP/1.1\r\n" CLOSE,
		"GET /parameters HTTP/1.1\r\n" CLOSE, "GET /none HTTP/1.1\r\n" CLOSE,
		"PUT /hello HTTP/1.1\r\n" CLOSE, "GET /hello%00 HTTP/1.1\r\n" CLOSE };
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, NULL);

	for (size_t i = 0; i < ARRAY_SIZE(requests); i++)
		EXPECT(server, requests[i],
			CONTENT_POLICY "default-src 'none'; base-uri 'none'; "
				       "form-action 'none'; frame-ancestors 'none'\r\n",
			"\r\nX-Content-Type-Options: nosniff\r\n",
			"\r\nCross-Origin-Resource-Policy: same-origin\r\n",
			"\r\nX-Frame-Options: DENY\r\n", "\r\nReferrer-Policy: no-referrer\r\n");
	seen->content_policy = "default-src 'self'";
	EXPECT(server, "GET /big HTTP/1.1\r\n" CLOSE, CONTENT_POLICY "default-src 'self'\r\n");
}

static void large_answers_arrive_whole(void **state)
{
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, NULL);

	for (seen->big_bytes = 0; seen->big_bytes < (8 << 20);
		seen->big_bytes = seen->big_bytes * 7 + BODY_BLOCK_BYTES - 1) {
		http_check_big(seen, "GET /big HTTP/1.1\r\n" CLOSE);
		if (seen->big_bytes >= 1 << 20)
			continue;
		seen->file_bytes = seen->big_bytes;
		http_check_big(seen, "GET /file HTTP/1.1\r\n" CLOSE);
	}
	assert_int_equal(server->answer_bytes, 0);
}

/* A truncated answer must not look complete. */
static void a_file_that_is_too_short_ends_the_connection(void **state)
{
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, NULL);
	char *reply;

	seen->file_bytes = 1000;
	seen->big_bytes = 100000;
	reply = http_exchange(server, "GET /file HTTP/1.1\r\n" HOST "\r\n");
	assert_non_null(strstr(reply, "Content-Length: 100000\r\n"));
	assert_true(strlen(strstr(reply, "\r\n\r\n") + 4) <= 1000);
	assert_int_equal(http_counters_of(server).open, 0);
	assert_int_equal(server->answer_bytes, 0);
	free(reply);
}

static void files_that_wait_are_bounded(void **state)
{
	static const struct http_limits limits = { 8, 8, 16 << 10, 4 << 20, 10, 60 };
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, &limits);

	seen->big_bytes = (4 << 20) + 1;
	seen->file_bytes = 1;
	EXPECT(server, "GET /file HTTP/1.1\r\n" CLOSE, "HTTP/1.1 429 ",
		"Answer too large: 4194305 bytes");
	assert_int_equal(server->answer_bytes, 0);
}

static void answers_that_wait_are_bounded(void **state)
{
	static const struct http_limits limits = { 8, 8, 16 << 10, 6 << 20, 10, 60 };
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, &limits);
	int fd = http_connect(server);
	char *reply;

	seen->big_bytes = 3 << 20;
	http_ask(server, fd, "GET /big HTTP/1.1\r\n" CLOSE);
	while (http_counters_of(server).bytes == 0)
		http_step(server, -1, 0);
	EXPECT(server, "GET /big HTTP/1.1\r\n" CLOSE, "HTTP/1.1 429 ",
		"Answer too large: 3145728 bytes");
	reply = http_receive(server, fd, NULL);
	assert_true(strlen(reply) > seen->big_bytes);
	free(reply);
	EXPECT(server, "GET /big HTTP/1.1\r\n" CLOSE, "HTTP/1.1 200 ");
	assert_int_equal(http_counters_of(server).bytes,
		2 * seen->big_bytes +
			strlen("Answer too large: 3145728 bytes, and you have not read 3145728 "
			       "bytes of "
			       "earlier answers (limit for one user: 3145728). Read those first, "
			       "or ask for less.\n"));
	(void)close(fd);
}

/* Sends a request as another user, and does not read the answer. */
static int ask_as(struct http_server *server, struct http_seen *seen, uid_t uid, size_t bytes)
{
	int fd = http_connect(server);
	uint64_t sent = http_counters_of(server).bytes;

	server->connections->peer.uid = uid;
	seen->big_bytes = bytes;
	http_ask(server, fd, "GET /big HTTP/1.1\r\n" CLOSE);
	while (http_counters_of(server).bytes == sent)
		http_step(server, -1, 0);
	return fd;
}

/* One user may use half of the limit for all. Small answers always have room. */
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
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, &limits);
	int fds[ARRAY_SIZE(asked)];
	char *reply;

	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		fds[i] = ask_as(server, seen, asked[i].uid, asked[i].bytes);
	for (size_t i = 0; i < ARRAY_SIZE(asked); i++)
		EXPECT_REPLY(server, fds[i], asked[i].text);
	assert_int_equal(server->answer_bytes, 0);
	/* Read answers use no room. */
	fds[0] = ask_as(server, seen, 1001, 4 << 20);
	reply = http_receive(server, fds[0], NULL);
	assert_true(strlen(reply) > 4 << 20);
	free(reply);
	(void)close(fds[0]);
}

static size_t count_descriptors(void)
{
	size_t count = 0;

	for (int fd = 0; fd < 256; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void failing_allocations_lose_no_file(void **state)
{
	static const char *const paths[] = { "/file", "/parameters" };
	struct http_seen *seen = *state;
	struct http_server *server = http_start(seen, NULL);
	size_t descriptors = count_descriptors();

	seen->big_bytes = seen->file_bytes = 100;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		for (size_t n = 0;; n++) {
			char text[128];
			int fd = http_connect(server);

			(void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n" CLOSE, paths[i]);
			http_ask(server, fd, text);
			fail_allocation(n);
			while (http_counters_of(server).open > 0)
				http_step(server, -1, 0);
			if (!allocation_failed()) {
				EXPECT_REPLY(server, fd, "HTTP/1.1 200 ");
				assert_true(n >= 3);
				break;
			}
			(void)close(fd);
			assert_int_equal(count_descriptors(), descriptors);
			assert_int_equal(server->answer_bytes, 0);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SERVER(text_answers_have_the_header_of_their_route),
		WITH_SERVER(a_page_gets_errors_as_answers),
		WITH_SERVER(answers_are_inert_in_a_browser),
		WITH_SERVER(large_answers_arrive_whole),
		WITH_SERVER(a_file_that_is_too_short_ends_the_connection),
		WITH_SERVER(files_that_wait_are_bounded),
		WITH_SERVER(answers_that_wait_are_bounded),
		WITH_SERVER(answers_that_wait_leave_room_for_others),
		WITH_SERVER(failing_allocations_lose_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
