/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The process that answers: this program started again, which then has no privileges left. */
#include "child/child_process.h"
#include "tests/answer/answer_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "sandbox/sandbox.h"

enum { SECONDS_MAX = 120 };

static int set_up(void **state)
{
	struct answer_fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	answer_fixture_init(fixture);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	answer_fixture_done(*state);
	free(*state);
	return 0;
}

static struct child_process_end run(const void *request, size_t bytes, int output_fd)
{
	static char *const arguments[] = { (char *)"answer_process_test", (char *)"answer", NULL };
	static char *const environment[] = { NULL };
	const struct child_descriptor output = { .fd = output_fd, .number = ANSWER_OUTPUT_FD };
	const struct child_process_options options = {
		.program = "/proc/self/exe",
		.arguments = arguments,
		.environment = environment,
		.descriptors = &output,
		.descriptor_count = 1,
		.request = request,
		.request_bytes = bytes,
		.timeout_ns = SECONDS(SECONDS_MAX),
	};
	struct child_process *child;
	struct child_process_end end;
	struct pollfd wait = { .events = POLLIN };

	assert_int_equal(child_process_start(&options, &child), 0);
	wait.fd = child_process_poll_fd(child);
	while (child_process_finish(child, &end) == -EAGAIN)
		assert_true(poll(&wait, 1, -1) > 0 || errno == EINTR);
	child_process_free(child);
	assert_false(end.has_timed_out);
	return end;
}

/* As answer_fixture_make(), in a process. */
static void ask(struct answer_fixture *fixture, const char *const *pairs)
{
	struct child_process_end end;

	answer_fixture_set(fixture, pairs);
	answer_fixture_begin(fixture);
	end = run(&fixture->request, sizeof(fixture->request), fixture->output_fd);
	if (end.reply_bytes != sizeof(fixture->reply))
		fail_msg("no reply; status %d, signal %d", end.exit_status, end.signal);
	memcpy(&fixture->reply, end.reply, sizeof(fixture->reply));
	answer_fixture_end(fixture);
}

#define ASK_PROCESS(fixture, ...) ask((fixture), (const char *const[]){ __VA_ARGS__, NULL })

static void expect_counts(
	struct answer_fixture *fixture, uint64_t alpha, uint64_t beta, uint64_t gamma)
{
	if (fixture->reply.status != 200)
		fail_msg("%d %s", fixture->reply.status, fixture->reply.text);
	assert_int_equal(answer_fixture_count(fixture, "alpha;"), alpha);
	assert_int_equal(answer_fixture_count(fixture, "beta;"), beta);
	assert_int_equal(answer_fixture_count(fixture, "gamma;"), gamma);
}

/* Two days, the second of which the writer has open. */
static void a_process_answers_while_history_is_written(void **state)
{
	struct answer_fixture *fixture = *state;
	struct store *store = fixture_open(fixture->history);
	char start[128];

	answer_fixture_fill(store);
	ASK_PROCESS(fixture, "to", "now", "format", "folded");
	expect_counts(fixture, 12, 3, 2);
	(void)snprintf(start, sizeof(start), "alpha;%s;", fixture->function);
	assert_int_equal(answer_fixture_count(fixture, start), 12);
	ASK_PROCESS(fixture, "to", "now", "pid", "20");
	assert_int_equal(fixture->reply.status, 200);
	assert_string_equal(fixture->reply.content_type, "image/svg+xml");
	store_close(store);
}

/* Nobody has any of it open, and SQLite's files beside the databases are gone. */
static void a_process_answers_of_history_at_rest(void **state)
{
	struct answer_fixture *fixture = *state;
	struct store *store = fixture_open(fixture->history);

	answer_fixture_fill(store);
	store_close(store);
	ASK_PROCESS(fixture, "to", "now", "format", "folded");
	expect_counts(fixture, 12, 3, 2);
}

/* Whatever append has returned for is seen, over more than one length of the log. */
static void all_that_was_committed_is_seen(void **state)
{
	struct answer_fixture *fixture = *state;
	struct store *store = fixture_open(fixture->history);
	struct fault fault = { 0 };
	uint64_t sum = 0;

	for (unsigned i = 1; i <= 40; i++) {
		const struct fixture_sample sample = {
			.pid = 10, .address = 0x3000 + i, .count = i, .comm = "alpha"
		};

		answer_fixture_append(store, ANSWER_FIXTURE_FIRST + SECONDS(10 * i), &sample, 1);
		sum += i;
		if (i % 8 == 0) {
			ASK_PROCESS(fixture, "to", "now", "format", "folded");
			expect_counts(fixture, sum, 0, 0);
		}
		if (i % 16 == 0)
			while (store_maintain(store, ANSWER_FIXTURE_NOW + DAY_NS * 3, UINT64_MAX,
				       &fault) > 0)
				;
	}
	store_close(store);
}

/* Windows committed before a crash are in the log, which is read-only here. */
static void a_log_without_a_writer_is_read(void **state)
{
	struct answer_fixture *fixture = *state;
	struct store *store = fixture_open(fixture->history);
	char command[512];

	answer_fixture_fill(store);
	(void)snprintf(command, sizeof(command), "mkdir %s/copy && cp %s/*.db* %s/copy/",
		fixture->history, fixture->history, fixture->history);
	assert_int_equal(system(command), 0);
	(void)strcat(fixture->request.history, "/copy");
	ASK_PROCESS(fixture, "to", "now", "format", "folded");
	expect_counts(fixture, 12, 3, 2);
	store_close(store);
}

static void a_failure_is_a_reply(void **state)
{
	struct answer_fixture *fixture = *state;

	ASK_PROCESS(fixture, "to", "now");
	assert_int_equal(fixture->reply.status, 404);
	assert_non_null(strstr(fixture->reply.text, "still empty"));
	ASK_PROCESS(fixture, "pid", "x");
	assert_int_equal(fixture->reply.status, 400);
}

/* The pipe takes nothing more, and so the answer never ends. */
static void the_time_is_bounded(void **state)
{
	struct answer_fixture *fixture = *state;
	struct store *store = fixture_open(fixture->history);
	struct child_process_end end;
	char bytes[4096] = "";
	int fds[2];

	answer_fixture_fill(store);
	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(fds[1], bytes, sizeof(bytes)) > 0)
		;
	assert_int_equal(fcntl(fds[1], F_SETFL, 0), 0);
	answer_fixture_set(fixture, (const char *const[]){ "to", "now", NULL });
	fixture->request.timeout_s = 1;
	end = run(&fixture->request, sizeof(fixture->request), fds[1]);
	assert_int_equal(end.reply_bytes, sizeof(fixture->reply));
	memcpy(&fixture->reply, end.reply, sizeof(fixture->reply));
	if (fixture->reply.status != 503)
		fail_msg("%d %s", fixture->reply.status, fixture->reply.text);
	assert_non_null(strstr(fixture->reply.text, "query timed out"));
	assert_int_equal(close(fds[0]), 0);
	assert_int_equal(close(fds[1]), 0);
	store_close(store);
}

/* More to be read than there is memory, and nothing of it wanted: else the profile's own bound
 * would come first. */
static void the_memory_is_bounded(void **state)
{
	enum { LOCATIONS = 40000 };
	struct answer_fixture *fixture = *state;
	struct fixture_sample *samples;
	struct store *store;

#if SANDBOX_HAS_SANITIZER
	print_message("under a sanitizer there is no limit\n");
	skip();
#endif
	samples = calloc(LOCATIONS, sizeof(*samples));
	assert_non_null(samples);
	for (uint64_t i = 0; i < LOCATIONS; i++)
		samples[i] = (struct fixture_sample){
			.pid = 10, .address = 0x3000 + i, .count = 1, .comm = "alpha"
		};
	store = fixture_open(fixture->history);
	answer_fixture_append(store, ANSWER_FIXTURE_FIRST, samples, LOCATIONS);
	ASK_PROCESS(fixture, "to", "now", "unit", "none");
	assert_int_equal(fixture->reply.status, 404);
	fixture->request.memory_max = 2 << 20;
	ASK_PROCESS(fixture, "to", "now", "unit", "none");
	assert_int_equal(fixture->reply.status, 413);
	assert_non_null(strstr(fixture->reply.text, "more than 2 MiB of memory"));
	store_close(store);
	free(samples);
}

static void the_output_is_bounded(void **state)
{
	struct answer_fixture *fixture = *state;
	struct store *store = fixture_open(fixture->history);

	answer_fixture_fill(store);
	fixture->request.bytes_max = 1000;
	ASK_PROCESS(fixture, "to", "now");
	assert_int_equal(fixture->reply.status, 413);
	assert_non_null(strstr(fixture->reply.text, "larger than"));
	store_close(store);
}

static void malformed_requests_have_no_reply(void **state)
{
	struct answer_fixture *fixture = *state;
	struct answer_request *request = &fixture->request;
	const struct answer_request sound = *request;
	struct child_process_end end;

	end = run(request, sizeof(*request) - 1, fixture->output_fd);
	assert_int_equal(end.reply_bytes, 0);
	assert_int_equal(end.exit_status, 3);
	request->version++;
	end = run(request, sizeof(*request), fixture->output_fd);
	assert_int_equal(end.reply_bytes, 0);
	assert_int_equal(end.exit_status, 3);
	*request = sound;
	memset(request->symbol_cache, 'a', sizeof(request->symbol_cache));
	end = run(request, sizeof(*request), fixture->output_fd);
	assert_int_equal(end.reply_bytes, 0);
	assert_int_equal(end.exit_status, 3);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_answers_while_history_is_written),
		TEST(a_process_answers_of_history_at_rest),
		TEST(all_that_was_committed_is_seen),
		TEST(a_log_without_a_writer_is_read),
		TEST(a_failure_is_a_reply),
		TEST(the_time_is_bounded),
		TEST(the_memory_is_bounded),
		TEST(the_output_is_bounded),
		TEST(malformed_requests_have_no_reply),
	};

	if (argc == 2 && strcmp(argv[1], "answer") == 0)
		return answer_main(argc, argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
