/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends a batch for ClickHouse to a server on loopback, which answers each request as it is told
 * and notes what came. Most bodies here are no rows, so the sender passes them on as they are.
 */
#include "send/clickhouse_requests.h"
#include "send/send_job.h"

#include "base/array.h"
#include "base/clock.h"
#include "export/gzip.h"
#include "export/row_writer.h"
#include "send/known_rows.h"
#include "tests/config/config_folder.h"

#include <arpa/inet.h>
#include <errno.h>
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

enum {
	GUARD_MS = 60000,
	LOG_BYTES = 8192,
	ANSWERS_MAX = 8,
	REQUEST_BYTES = 16384,
	BODY_BYTES = 64 << 10 /* of an answer that the sender reads */
};

/* Shared with the server's process. */
static struct shared {
	const char *answers[ANSWERS_MAX]; /* "200 body"; NULL: "200 "; "": reset; or `late` */
	unsigned count;			  /* of requests */
	char log[LOG_BYTES];		  /* "table body;" each, or "there?;" */
	char keys[LOG_BYTES];
} * shared;

static int server_port, batch_fd, known_fd = -1;
static uint64_t batch_bytes;
static pid_t server_pid;
static const char late[] = "200 "; /* comes after a second */
static char digits[4 + BODY_BYTES + 1] = "200 ";
static struct config_folder folder; /* of the sender's configuration */

/* --- the server --- */

static void note_request(const char *request, const char *body, size_t size)
{
	static const char insert[] = "&query=INSERT%20INTO%20pilotlight.";
	static const char select[] = "POST /?query=SELECT%20";
	const char *query = strstr(request, insert), *key = strstr(request, "X-ClickHouse-Key: ");
	const size_t used = strlen(shared->log), keys = strlen(shared->keys);

	if (query)
		(void)snprintf(shared->log + used, LOG_BYTES - used, "%.*s %.*s;",
			(int)strcspn(query + strlen(insert), "%"), query + strlen(insert),
			(int)size, body);
	else
		(void)snprintf(shared->log + used, LOG_BYTES - used, "%s;",
			strncmp(request, select, strlen(select)) == 0 ? "there?" : "?");
	key = key ? key + strlen("X-ClickHouse-Key: ") : "";
	(void)snprintf(
		shared->keys + keys, LOG_BYTES - keys, "%.*s;", (int)strcspn(key, "\r"), key);
}

/* Returns false at the end of the connection. */
static bool serve_request(int fd)
{
	static char request[REQUEST_BYTES];
	const char *answer, *length, *body;
	char head[256];
	size_t size = 0, wanted = REQUEST_BYTES;

	while (size < wanted) {
		ssize_t n = recv(fd, request + size, sizeof(request) - 1 - size, 0);

		if (n <= 0)
			return false;
		request[size += (size_t)n] = '\0';
		body = strstr(request, "\r\n\r\n");
		length = strstr(request, "Content-Length: ");
		if (body && length)
			wanted = (size_t)(body + 4 - request) +
				 strtoul(length + strlen("Content-Length: "), NULL, 10);
	}
	body = strstr(request, "\r\n\r\n") + 4;
	answer = shared->count < ANSWERS_MAX ? shared->answers[shared->count] : NULL;
	note_request(request, body, size - (size_t)(body - request));
	shared->count++;
	if (!answer)
		answer = "200 ";
	if (!*answer)
		return false;
	if (answer == late)
		(void)sleep(1);
	(void)snprintf(head, sizeof(head), "HTTP/1.1 %.3s X\r\nContent-Length: %zu\r\n\r\n", answer,
		strlen(answer + 4));
	return send(fd, head, strlen(head), MSG_NOSIGNAL | MSG_MORE) > 0 &&
	       send(fd, answer + 4, strlen(answer + 4), MSG_NOSIGNAL) >= 0;
}

static _Noreturn void serve(int listen_fd)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;;) {
		int fd = accept(listen_fd, NULL, NULL);

		while (fd >= 0 && serve_request(fd))
			;
		(void)close(fd);
	}
}

/* --- batches --- */

static void add(const void *bytes, size_t size)
{
	assert_int_equal(pwrite(batch_fd, bytes, size, (off_t)batch_bytes), size);
	batch_bytes += size;
}

static void add_bytes(const void *body, size_t size)
{
	const struct pilotlight_clickhouse_request request = { .body_bytes = size };

	add(&request, sizeof(request));
	add(body, size);
}

static void add_request(const char *body)
{
	add_bytes(body, strlen(body));
}

/* Inserts a stack of one day. */
static void add_stack(uint64_t id)
{
	struct output_memory body = { .limit_bytes = 4096 };
	static struct output packed, plain;
	struct gzip *gzip;

	output_init(&packed, output_to_memory, &body);
	assert_int_equal(gzip_new(&packed, &gzip), 0);
	output_init(&plain, gzip_write, gzip);
	row_put_u16(&plain, 20000);
	row_put_text(&plain, "host");
	row_put_u64(&plain, id);
	row_put_length(&plain, 1);
	row_put_u64(&plain, 7);
	assert_int_equal(output_finish(&plain), 0);
	assert_int_equal(gzip_finish(gzip), 0);
	assert_int_equal(output_finish(&packed), 0);
	gzip_free(gzip);
	add_bytes(body.bytes, body.size);
	free(body.bytes);
}

#define IDENTITY "\1\2\0\0\0\0\0\0\7\0\0\0\0\0\0\0"
#define TEXTS	 "cpu\0a' OR \\\0h\xc3\xb6st\0host.id=1"

static void begin_batch_of(const void *identity, size_t size)
{
	const struct pilotlight_clickhouse_batch header = {
		.magic = PILOTLIGHT_CLICKHOUSE_BATCH_MAGIC,
		.version = PILOTLIGHT_CLICKHOUSE_BATCH_VERSION,
	};

	batch_bytes = 0;
	add(&header, sizeof(header));
	add_bytes(identity, size);
}

/* The third has nothing to insert. */
static void make_batch_of(const void *identity, size_t size)
{
	begin_batch_of(identity, size);
	add_request("a");
	add_request("");
	add_request("b");
	add_request("");
	add_request("c");
}

static void make_batch(void)
{
	make_batch_of(IDENTITY TEXTS, sizeof(IDENTITY TEXTS));
}

static struct send_outcome send_batch(bool may_be_there, const char *settings)
{
	char text[256];
	const struct send_job_options options = {
		.sink = "test",
		.type = "clickhouse",
		.timeout_ns = 20ULL * NSEC_PER_SEC,
		.fd = batch_fd,
		.bytes = batch_bytes,
		.known_fd = known_fd,
		.may_be_there = may_be_there,
	};
	_cleanup_(send_job_freep) struct send_job *job = NULL;
	struct send_outcome outcome;
	struct pollfd fd = { .events = POLLIN };

	(void)snprintf(text, sizeof(text),
		"[sink test]\nType=clickhouse\nUrl=http://127.0.0.1:%d\n%s\n", server_port,
		settings);
	config_folder_write(&folder, "x.conf", text);
	assert_int_equal(send_job_start(&options, &job), 0);
	fd.fd = send_job_poll_fd(job);
	do
		assert_int_equal(poll(&fd, 1, GUARD_MS), 1);
	while (send_job_take(job, &outcome) < 0);
	return outcome;
}

/* With these answers, which end with NULL. */
static enum send_verdict send_with(bool may_be_there, const char *const *answers)
{
	struct send_outcome outcome;

	*shared = (struct shared){ 0 };
	for (size_t i = 0; answers[i]; i++)
		shared->answers[i] = answers[i];
	outcome = send_batch(may_be_there, "");
	return outcome.verdict;
}

#define SEND(may_be_there, ...) \
	send_with((may_be_there), (const char *const[]){ __VA_ARGS__ __VA_OPT__(, ) NULL })

#define ALL	 "names a;stacks b;samples c;"
#define QUESTION "there?;"

/* --- tests --- */

static void requests_are_sent_in_order(void **state)
{
	make_batch();
	assert_int_equal(SEND(false), SEND_TAKEN);
	assert_string_equal(shared->log, ALL);
	assert_string_equal(shared->keys, ";;;");
}

static void a_batch_that_may_be_there_is_asked_for(void **state)
{
	make_batch();
	assert_int_equal(SEND(true, "200 0\n"), SEND_TAKEN);
	assert_string_equal(shared->log, QUESTION ALL);
	assert_int_equal(SEND(true, "200 17\n"), SEND_TAKEN);
	assert_string_equal(shared->log, QUESTION);
	assert_int_equal(SEND(true, "200 10"), SEND_TAKEN);
	assert_string_equal(shared->log, QUESTION);
	/* What is no number does not say that it is there. */
	assert_int_equal(SEND(true, "200 <html>"), SEND_TRY_AGAIN);
	assert_int_equal(SEND(true, "200 "), SEND_TRY_AGAIN);
	assert_int_equal(SEND(true, "200 1 row"), SEND_TRY_AGAIN);
	assert_int_equal(SEND(true, "503 "), SEND_TRY_AGAIN);
	assert_string_equal(shared->log, QUESTION);
}

static void an_answer_without_an_end_is_no_number(void **state)
{
	make_batch();
	*shared = (struct shared){ .answers = { digits } };
	assert_string_equal(
		send_batch(true, "").text, "the answer to a query is no number: is it ClickHouse?");
	assert_string_equal(shared->log, QUESTION);
}

/* The time is for all requests of a batch: each of these would have its answer in time. */
static void a_batch_has_one_timeout(void **state)
{
	make_batch();
	*shared = (struct shared){ .answers = { late, late, late } };
	assert_int_equal(send_batch(false, "Timeout=2s").verdict, SEND_TRY_AGAIN);
}

static void a_failure_ends_it(void **state)
{
	make_batch();
	assert_int_equal(SEND(false, "200 ", "500 Code: 241, memory"), SEND_TRY_AGAIN);
	assert_string_equal(shared->log, "names a;stacks b;");
	assert_int_equal(SEND(false, "200 ", "200 ", ""), SEND_TRY_AGAIN);
	assert_string_equal(shared->log, ALL);
}

static void codes_have_their_verdicts(void **state)
{
	static const struct {
		const char *answer;
		enum send_verdict verdict;
	} cases[] = {
		{ "500 Code: 252. DB::Exception: Too many parts", SEND_TRY_LATER },
		{ "500 Code: 202, e.displayText() = DB::Exception", SEND_TRY_LATER },
		{ "404 Code: 60. DB::Exception: Table does not exist", SEND_REFUSED },
		{ "500 Code: 81, e.displayText() = DB::Exception", SEND_REFUSED },
		{ "403 Code: 516. DB::Exception: default: Authentication", SEND_REFUSED },
		{ "500 Code: 210, e.displayText() = DB::NetException", SEND_TRY_AGAIN },
		{ "400 bad", SEND_REFUSED_BATCH },
		{ "413 ", SEND_TOO_LARGE },
		{ "429 ", SEND_TRY_LATER },
	};

	make_batch();
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(SEND(false, cases[i].answer), cases[i].verdict);
}

static void make_batch_of_stack(uint64_t id)
{
	begin_batch_of(IDENTITY TEXTS, sizeof(IDENTITY TEXTS));
	add_request("");
	add_request("");
	add_stack(id);
	add_request("");
	add_request("c");
}

/* As long as all goes well: a receiver that fails may come back without its tables. */
static void a_stack_is_sent_once(void **state)
{
	struct send_outcome outcome;

	assert_int_equal(known_rows_create(&known_fd), 0);
	make_batch_of_stack(1);
	assert_int_equal(SEND(false), SEND_TAKEN);
	assert_non_null(strstr(shared->log, "stacks "));
	*shared = (struct shared){ 0 };
	outcome = send_batch(false, "");
	assert_string_equal(shared->log, "samples c;");
	assert_int_equal(outcome.sent_bytes, 1);
	assert_int_equal(SEND(true, "200 1\n"), SEND_TAKEN);
	assert_int_equal(SEND(false), SEND_TAKEN);
	assert_string_equal(shared->log, "samples c;");
	make_batch_of_stack(2);
	/* Its insert is not confirmed. */
	assert_int_equal(SEND(false, "500 Code: 241, memory"), SEND_TRY_AGAIN);
	assert_int_equal(SEND(false), SEND_TAKEN);
	assert_non_null(strstr(shared->log, "stacks "));
	make_batch_of_stack(1);
	assert_int_equal(SEND(false), SEND_TAKEN);
	assert_non_null(strstr(shared->log, "stacks "));
	assert_int_equal(SEND(false, "500 Code: 241, memory"), SEND_TRY_AGAIN);
	assert_string_equal(shared->log, "samples c;");
	assert_int_equal(SEND(false), SEND_TAKEN);
	assert_non_null(strstr(shared->log, "stacks "));
	assert_int_equal(close(known_fd), 0);
	known_fd = -1;
}

static void the_token_is_a_password(void **state)
{
	char setting[] = "TokenFile=/tmp/send_clickhouse_test.XXXXXX",
	     *token = strchr(setting, '/');
	int fd = mkstemp(token);

	assert_true(fd >= 0 && fchmod(fd, 0644) == 0);
	assert_int_equal(write(fd, "secret-1\n", 9), 9);
	assert_int_equal(close(fd), 0);
	make_batch();
	*shared = (struct shared){ 0 };
	assert_int_equal(send_batch(false, setting).verdict, SEND_TAKEN);
	assert_string_equal(shared->keys, "secret-1;secret-1;secret-1;");
	assert_int_equal(unlink(token), 0);
}

static void what_is_damaged_is_not_sent(void **state)
{
	uint64_t whole;

	make_batch();
	whole = batch_bytes;
	for (batch_bytes = 0; batch_bytes < whole; batch_bytes += 7) {
		struct clickhouse_requests requests;
		struct clickhouse_request request;
		int r = clickhouse_requests_open(&requests, batch_fd, batch_bytes);

		while (r == 0)
			r = clickhouse_requests_next(&requests, &request);
		assert_int_equal(r, -EBADMSG);
	}
	batch_bytes = whole - 1;
	assert_int_equal(SEND(false), SEND_TRY_AGAIN);
	assert_string_equal(shared->log, "names a;stacks b;");
	/* A length of a body beyond all. */
	make_batch();
	assert_int_equal(pwrite(batch_fd, "\xff\xff\xff\xff\xff\xff\xff\x7f", 8, 16), 8);
	assert_int_equal(SEND(false), SEND_TRY_AGAIN);
	assert_string_equal(shared->log, "");
}

static void batches_of_before_an_upgrade_are_sent(void **state)
{
	const struct pilotlight_clickhouse_batch header = {
		.magic = PILOTLIGHT_CLICKHOUSE_BATCH_MAGIC,
		.version = 3,
	};

	batch_bytes = 0;
	add(&header, sizeof(header));
	add_bytes(IDENTITY TEXTS, sizeof(IDENTITY TEXTS));
	add_request("a");
	add_request("b");
	add_request("");
	add_request("c");
	assert_int_equal(SEND(false), SEND_TAKEN);
	assert_string_equal(shared->log, "names a;locations b;samples c;");
	batch_bytes--;
	assert_int_equal(SEND(false), SEND_TRY_AGAIN);
}

/* Returns 0 and the question, or -errno. */
static int ask_of(const void *identity, size_t size, char query[CLICKHOUSE_QUESTION_BYTES])
{
	struct clickhouse_requests requests;
	struct clickhouse_request request;

	make_batch_of(identity, size);
	assert_int_equal(clickhouse_requests_open(&requests, batch_fd, batch_bytes), 0);
	assert_int_equal(clickhouse_requests_next(&requests, &request), 0);
	assert_null(request.query);
	return clickhouse_requests_question(&requests, &request, query);
}

#define ASK(identity, query) ask_of((identity), sizeof(identity), (query))

/* All words of the query are the sender's; of the batch it has digits. */
static void no_byte_of_a_batch_is_sql(void **state)
{
	static char longest[PILOTLIGHT_CLICKHOUSE_IDENTITY_BYTES_MAX];
	char query[CLICKHOUSE_QUESTION_BYTES];

	assert_int_equal(ASK(IDENTITY TEXTS, query), 0);
	assert_string_equal(query,
		"SELECT count() FROM pilotlight.samples WHERE ts = toDateTime(7) AND "
		"duration_ns = 513 AND type = unhex('637075') AND "
		"service = unhex('6127204f52205c') AND host = unhex('68c3b67374') AND "
		"has(labels, unhex('686f73742e69643d31'))");
	assert_int_equal(ASK(IDENTITY "cpu\0s\0h\0", query), 0);
	assert_null(strstr(query, "labels"));
	memset(longest, 0xff, sizeof(longest));
	memset(longest + sizeof(longest) - 4, 0, 4);
	assert_int_equal(ask_of(longest, PILOTLIGHT_CLICKHOUSE_IDENTITY_BYTES_MAX, query), 0);
	assert_true(strlen(query) < CLICKHOUSE_QUESTION_BYTES);
}

static void a_damaged_identity_is_no_question(void **state)
{
	static char long_one[PILOTLIGHT_CLICKHOUSE_IDENTITY_BYTES_MAX + 1];
	char query[CLICKHOUSE_QUESTION_BYTES];

	for (size_t size = 0; size < sizeof(IDENTITY TEXTS); size++)
		assert_int_equal(ask_of(IDENTITY TEXTS, size, query), -EBADMSG);
	assert_int_equal(ASK(IDENTITY TEXTS "\0", query), -EBADMSG);
	assert_int_equal(ASK(long_one, query), -EBADMSG);
	make_batch_of(IDENTITY, 16);
	assert_int_equal(SEND(true, "200 0"), SEND_TRY_AGAIN);
	assert_string_equal(shared->log, "");
}

static int set_up(void **state)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	shared = mmap(
		NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	batch_fd = memfd_create("batch", MFD_CLOEXEC);
	memset(digits + strlen(digits), '1', BODY_BYTES);
	if (shared == MAP_FAILED || batch_fd < 0 || fd < 0 ||
		bind(fd, (struct sockaddr *)&address, size) < 0 ||
		getsockname(fd, (struct sockaddr *)&address, &size) < 0 || listen(fd, 16) < 0)
		return -1;
	server_port = ntohs(address.sin_port);
	server_pid = fork();
	if (server_pid == 0)
		serve(fd);
	(void)close(fd);
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
	(void)munmap(shared, sizeof(*shared));
	config_folder_remove(&folder);
	return close(batch_fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_sent_in_order),
		cmocka_unit_test(a_batch_that_may_be_there_is_asked_for),
		cmocka_unit_test(an_answer_without_an_end_is_no_number),
		cmocka_unit_test(a_failure_ends_it),
		cmocka_unit_test(codes_have_their_verdicts),
		cmocka_unit_test(a_stack_is_sent_once),
		cmocka_unit_test(the_token_is_a_password),
		cmocka_unit_test(what_is_damaged_is_not_sent),
		cmocka_unit_test(batches_of_before_an_upgrade_are_sent),
		cmocka_unit_test(no_byte_of_a_batch_is_sql),
		cmocka_unit_test(a_damaged_identity_is_no_question),
		/* The last: it leaves a request that the server may note later. */
		cmocka_unit_test(a_batch_has_one_timeout),
	};

	if (argc > 1 && strcmp(argv[1], "sink-send") == 0)
		return send_main(argc, argv);
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
