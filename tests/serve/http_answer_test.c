/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers out of files, and what a route may have besides its function. */
#include "base/array.h"
#include "tests/harness/failing_allocation.h"
#include "tests/serve/http_fixture.h"

#include <fcntl.h>
#include <sys/mman.h>

#define HOST  "Host: localhost\r\n"
#define CLOSE HOST "Connection: close\r\n\r\n"

struct seen {
	struct http_request *late[2];
	size_t late_count;
	size_t big_bytes;
	size_t file_bytes; /* that the file really has */
	unsigned gone_count;
};

static void answer_text(void *context, struct http_request *request)
{
	(void)context;
	http_answer_text(request, 200, "text");
}

static void answer_bytes(void *context, struct http_request *request)
{
	struct http_answer answer = { .status = 200, .content_type = "a/b", .body = strdup("x") };

	(void)context;
	answer.size = answer.body ? 1 : 0;
	http_answer(request, &answer);
}

static void keep_for_later(void *context, struct http_request *request)
{
	struct seen *seen = context;

	assert_true(seen->late_count < ARRAY_SIZE(seen->late));
	seen->late[seen->late_count++] = request;
}

static int new_file(size_t size)
{
	int fd = memfd_create("answer", MFD_CLOEXEC);

	assert_true(fd >= 0);
	for (size_t i = 0; i < size; i++) {
		char c = (char)('a' + i % 23);

		assert_int_equal(pwrite(fd, &c, 1, (off_t)i), 1);
	}
	return fd;
}

static void answer_file(void *context, struct http_request *request)
{
	struct seen *seen = context;
	struct http_answer answer = {
		.status = 200, .content_type = "application/octet-stream", .size = seen->big_bytes
	};

	http_answer_file(request, &answer, new_file(seen->file_bytes));
}

static void note_gone(void *context, struct http_request *request)
{
	struct seen *seen = context;

	seen->gone_count++;
	for (size_t i = 0; i < seen->late_count; i++)
		if (seen->late[i] == request) {
			http_answer_text(request, 499, "gone");
			return;
		}
	fail_msg("a request that nobody holds");
}

static const struct http_route routes[] = {
	{ "GET", "/text", answer_text, NULL, "X-Is-Text" },
	{ "GET", "/bytes", answer_bytes, NULL, "X-Is-Text" },
	{ "GET", "/watched", keep_for_later, note_gone, NULL },
	{ "GET", "/file", answer_file, NULL, NULL },
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

static void text_answers_have_the_header_of_their_route(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	char *reply;

	(void)state;
	reply = http_exchange(server, "GET /text HTTP/1.1\r\n" CLOSE);
	assert_non_null(strstr(reply, "\r\nX-Is-Text: 1\r\n"));
	free(reply);
	reply = http_exchange(server, "GET /bytes HTTP/1.1\r\n" CLOSE);
	assert_null(strstr(reply, "X-Is-Text"));
	free(reply);
	http_server_free(server);
}

static void files_are_sent_as_they_are(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	char *reply, *body;

	(void)state;
	for (seen.big_bytes = 0; seen.big_bytes < (1 << 20);
		seen.big_bytes = seen.big_bytes * 7 + BODY_BLOCK_BYTES - 1) {
		seen.file_bytes = seen.big_bytes;
		reply = http_exchange(server, "GET /file HTTP/1.1\r\n" CLOSE);
		body = strstr(reply, "\r\n\r\n");
		assert_non_null(body);
		body += 4;
		assert_int_equal(strlen(body), seen.big_bytes);
		for (size_t i = 0; i < seen.big_bytes; i++)
			if (body[i] != (char)('a' + i % 23))
				fail_msg("byte %zu", i);
		free(reply);
	}
	assert_int_equal(server->answer_bytes, 0);
	http_server_free(server);
}

/* What was promised and is not there must not look like an answer that is whole. */
static void a_file_that_is_too_short_ends_the_connection(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	char *reply;

	(void)state;
	seen.file_bytes = 1000;
	seen.big_bytes = 100000;
	reply = http_exchange(server, "GET /file HTTP/1.1\r\n" HOST "\r\n");
	assert_non_null(strstr(reply, "Content-Length: 100000\r\n"));
	assert_true(strlen(strstr(reply, "\r\n\r\n") + 4) <= 1000);
	assert_int_equal(counters_of(server).open, 0);
	assert_int_equal(server->answer_bytes, 0);
	free(reply);
	http_server_free(server);
}

static void files_that_wait_are_bounded(void **state)
{
	static const struct http_limits limits = { 8, 8, 16 << 10, 4 << 20, 10, 60 };
	struct seen seen;
	struct http_server *server = new_server(&limits, &seen);
	char *reply;

	(void)state;
	seen.big_bytes = (4 << 20) + 1;
	seen.file_bytes = 1;
	reply = http_exchange(server, "GET /file HTTP/1.1\r\n" CLOSE);
	assert_int_equal(strncmp(reply, "HTTP/1.1 429 ", 13), 0);
	assert_non_null(strstr(reply, "Answer too large: 4194305 bytes"));
	free(reply);
	assert_int_equal(server->answer_bytes, 0);
	http_server_free(server);
}

static void a_disconnected_client_cancels_its_request(void **state)
{
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	int gone_fd = http_connect(server), half_fd = http_connect(server);
	char *reply;

	(void)state;
	http_ask(server, gone_fd, "GET /watched HTTP/1.1\r\n" HOST "\r\n");
	while (seen.late_count < 1)
		http_step(server, -1, 0);
	http_ask(server, half_fd, "GET /watched HTTP/1.1\r\n" HOST "\r\n");
	assert_int_equal(shutdown(half_fd, SHUT_WR), 0);
	while (seen.late_count < 2)
		http_step(server, -1, 0);
	(void)close(gone_fd);
	while (counters_of(server).open > 1)
		http_step(server, -1, 0);
	assert_int_equal(seen.gone_count, 1);
	/* One that was answered already is nobody's any more. */
	http_answer_text(seen.late[1], 200, "there");
	reply = http_receive(server, half_fd, NULL);
	assert_non_null(strstr(reply, "there\n"));
	assert_int_equal(seen.gone_count, 1);
	free(reply);
	(void)close(half_fd);
	http_server_free(server);
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
	static const char *const paths[] = { "/file", "/text" };
	struct seen seen;
	struct http_server *server = new_server(NULL, &seen);
	size_t descriptors = count_descriptors();

	(void)state;
	seen.big_bytes = seen.file_bytes = 100;
	for (size_t i = 0; i < ARRAY_SIZE(paths); i++)
		for (size_t n = 0;; n++) {
			char text[128], *reply;
			int fd = http_connect(server);

			(void)snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\n" CLOSE, paths[i]);
			http_ask(server, fd, text);
			fail_allocation(n);
			while (counters_of(server).open > 0)
				http_step(server, -1, 0);
			if (!allocation_failed()) {
				reply = http_receive(server, fd, NULL);
				assert_int_equal(strncmp(reply, "HTTP/1.1 200 ", 13), 0);
				free(reply);
				(void)close(fd);
				assert_true(n >= 3);
				break;
			}
			(void)close(fd);
			assert_int_equal(count_descriptors(), descriptors);
			assert_int_equal(server->answer_bytes, 0);
		}
	http_server_free(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_answers_have_the_header_of_their_route),
		cmocka_unit_test(files_are_sent_as_they_are),
		cmocka_unit_test(a_file_that_is_too_short_ends_the_connection),
		cmocka_unit_test(files_that_wait_are_bounded),
		cmocka_unit_test(a_disconnected_client_cancels_its_request),
		cmocka_unit_test(failing_allocations_lose_no_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
