/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sending with a stand-in for the process that sends: this test, started again with "sink-send". It
 * notes what it is asked to send in the file that PILOTLIGHT_CONFIG names, behind "?" if the
 * receiver may have it. Its answer is a status, the contents of the file ".all" beside it, or if
 * there is none those of the batch. Status 0: no answer came. It waits while there is a file
 * ".wait".
 */
#include "push/sending.h"

#include "base/array.h"
#include "base/clock.h"
#include "child/child_request.h"
#include "push/batch_size.h"
#include "tests/harness/failing_allocation.h"
#include "tests/push/spool_fixture.h"

#include <errno.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define SECONDS(n) ((n)*1000000000ULL)

enum { GUARD_MS = 20000, STEP_MS = 20 };

static char log_path[128], answer_path[128], wait_path[128];
static struct spool_thread *spools;
static struct sending *sending;
static struct service_status_sink state_of_sink;
static size_t senders;
static const char *type = "otlp"; /* of the sink */
static int epoll_fd;
static uint32_t random_number;

static int sender_role(void)
{
	static struct send_request request;
	struct send_reply reply = { .version = SEND_VERSION };
	const char *log = getenv("PILOTLIGHT_CONFIG");
	char text[64] = "", path[160];
	ssize_t size;
	FILE *file;

	if (child_request_receive(&request, sizeof(request)) < 0)
		return 9;
	size = pread(SEND_BATCH_FD, text, sizeof(text) - 1, 0);
	if (size < 0 || (uint64_t)size != request.bytes || !log ||
		strcmp(request.sink, "bucket") != 0)
		return 8;
	file = fopen(log, "a");
	if (!file ||
		fprintf(file, "%s%s;",
			request.may_be_there && strcmp(request.type, "clickhouse") == 0 ? "?" : "",
			text) < 0 ||
		fclose(file) != 0)
		return 7;
	(void)snprintf(path, sizeof(path), "%s.all", log);
	file = fopen(path, "r");
	if (file && !fgets(text, sizeof(text), file))
		return 6;
	(void)snprintf(path, sizeof(path), "%s.wait", log);
	while (access(path, F_OK) == 0)
		(void)poll(NULL, 0, STEP_MS / 2);
	reply.status = (uint32_t)atoi(text);
	reply.sent_bytes = request.bytes;
	if (reply.status == 0)
		reply.error = -EIO;
	if (reply.status == 429)
		reply.retry_after_s = 1000;
	reply.rejected = reply.status == 206 ? 5 : reply.status == 299 ? INT64_MAX : 0;
	(void)snprintf(reply.text, sizeof(reply.text), "as asked");
	(void)send(CHILD_SOCKET_NUMBER, &reply, sizeof(reply), MSG_NOSIGNAL);
	for (;;)
		(void)pause();
}

static void write_text(const char *path, const char *text)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_true(fputs(text, file) >= 0 && fclose(file) == 0);
}

static void add_batch(const struct batch *batch, const char *text)
{
	char name[BATCH_NAME_BYTES], unfinished[128];

	batch_name_format(batch, ".pb.gz", name);
	(void)snprintf(unfinished, sizeof(unfinished), "%s/.new", spool_folder);
	write_text(unfinished, text);
	assert_int_equal(rename(unfinished, file_path(spool_folder, name)), 0);
}

/* The batch of minute `i`, with those contents. */
static void add_of(enum pilotlight_source source, unsigned i, const char *text)
{
	struct batch batch = minute_batch(i);

	batch.source = source;
	add_batch(&batch, text);
}

static void add(unsigned i, const char *text)
{
	add_of(PILOTLIGHT_SOURCE_CPU, i, text);
}

/* The batch of minute `i` of that source has come. */
static void wake(enum pilotlight_source source, unsigned i)
{
	struct batch batch = minute_batch(i);

	batch.source = source;
	sending_wake(sending, &batch);
}

static uint32_t given_number(void)
{
	return random_number;
}

static void open_sending(void)
{
	struct spool_thread_options threads = { .count = 1 };
	struct spool_result result;
	struct sending_options options = {
		.name = "bucket",
		.type = type,
		.timeout_ns = SECONDS(10),
		.spool = 0,
		.senders = &senders,
		.report = &state_of_sink,
		.backoff_ns_min = SECONDS(1) / 50,
		.backoff_ns_max = SECONDS(1) / 10,
		.random = given_number,
	};

	(void)snprintf(log_path, sizeof(log_path), "%s/.log", spool_folder);
	(void)snprintf(answer_path, sizeof(answer_path), "%s/.log.all", spool_folder);
	(void)snprintf(wait_path, sizeof(wait_path), "%s/.log.wait", spool_folder);
	write_text(log_path, "");
	assert_int_equal(setenv("PILOTLIGHT_CONFIG", log_path, true), 0);
	state_of_sink = (struct service_status_sink){ .name = "bucket" };
	threads.spools[0] = spool_options_of(1 << 20);
	threads.spools[0].age_max_ns = INT64_MAX;
	assert_int_equal(spool_thread_new(&threads, &spools), 0);
	while (spool_thread_take(spools, 0, &result) < 0)
		(void)poll(&(struct pollfd){ spool_thread_poll_fd(spools), POLLIN, 0 }, 1, STEP_MS);
	epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	assert_true(epoll_fd >= 0);
	assert_int_equal(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, spool_thread_poll_fd(spools),
				 &(struct epoll_event){ .events = EPOLLIN }),
		0);
	options.epoll_fd = epoll_fd;
	options.spools = spools;
	senders = 0;
	assert_int_equal(sending_new(&options, &sending), 0);
}

static void close_sending(void)
{
	sending_free(TAKE_PTR(sending));
	spool_thread_free(TAKE_PTR(spools));
	closep(&epoll_fd);
	epoll_fd = -1;
	assert_int_equal(senders, 0);
}

static int tear_down(void **state)
{
	close_sending();
	return spool_tear_down(state);
}

static struct service_status_sink report(void)
{
	struct service_status_sink sink = state_of_sink;

	sending_report(sending, &sink);
	return sink;
}

static void run_once(void)
{
	struct pollfd fd = { epoll_fd, POLLIN, 0 };

	(void)poll(&fd, 1, STEP_MS);
	sending_run(sending);
}

#define RUN_UNTIL(condition)                                                       \
	do {                                                                       \
		uint64_t end_ns = clock_monotonic_ns() + SECONDS(GUARD_MS / 1000); \
                                                                                   \
		while (!(condition)) {                                             \
			assert_true(clock_monotonic_ns() < end_ns);                \
			run_once();                                                \
		}                                                                  \
	} while (0)

static const char *sent(void)
{
	static char text[1024];
	FILE *file = fopen(log_path, "r");
	size_t size;

	assert_non_null(file);
	size = fread(text, 1, sizeof(text) - 1, file);
	text[size] = '\0';
	assert_int_equal(fclose(file), 0);
	return text;
}

static void batches_are_sent_in_order(void **state)
{
	add(2, "202");
	add(0, "200");
	add(1, "206");
	open_sending();
	RUN_UNTIL(report().sent_batches == 3 && count_files() == 0);
	assert_string_equal(sent(), "200;206;202;");
	assert_int_equal(report().sent_bytes, 9);
	assert_int_equal(report().rejected, 5);
	assert_int_equal(report().failed, 0);
	assert_false(report().is_failing);
	assert_true(report().is_sent);
	/* Later ones are found when they are said to be there. */
	RUN_UNTIL(report().kept_files == 0);
	add(3, "204");
	wake(PILOTLIGHT_SOURCE_CPU, 3);
	RUN_UNTIL(report().sent_batches == 4);
}

static void what_receivers_reject_does_not_wrap(void **state)
{
	for (unsigned i = 0; i < 3; i++)
		add(i, "299");
	open_sending();
	RUN_UNTIL(report().sent_batches == 3);
	assert_true(report().rejected == UINT64_MAX);
}

/* The thread has looked, but its result is not taken yet. */
static void a_batch_that_comes_during_a_search_is_found(void **state)
{
	open_sending();
	sending_run(sending);
	assert_int_equal(poll(&(struct pollfd){ epoll_fd, POLLIN, 0 }, 1, GUARD_MS), 1);
	add(0, "200");
	wake(PILOTLIGHT_SOURCE_CPU, 0);
	RUN_UNTIL(report().sent_batches == 1);
}

static void what_may_be_tried_again_is(void **state)
{
	static const char *const answers[] = { "0", "502", "503", "504" };

	add(0, "200");
	add(1, "201");
	open_sending();
	for (unsigned i = 0; i < ARRAY_SIZE(answers); i++) {
		write_text(answer_path, answers[i]);
		RUN_UNTIL(report().failed == i + 1);
		assert_true(report().is_failing);
		assert_false(report().is_held);
		assert_string_equal(report().fault, i == 0   ? "as asked"
						    : i == 1 ? "it answers 502: as asked"
						    : i == 2 ? "it answers 503: as asked"
							     : "it answers 504: as asked");
		assert_int_equal(count_files(), 2);
	}
	assert_int_equal(unlink(answer_path), 0);
	RUN_UNTIL(report().sent_batches == 2);
	assert_false(report().is_failing);
	assert_string_equal(report().fault, "");
	/* No other batch was sent meanwhile. */
	assert_string_equal(sent(), "200;200;200;200;200;201;");
}

/* The receiver asks for 1,000 seconds. */
static void check_wait(uint32_t number, uint64_t least_s)
{
	uint64_t before_ns = clock_monotonic_ns();

	random_number = number;
	open_sending();
	RUN_UNTIL(report().failed == 1);
	assert_true(sending_retry_ns(sending) >= before_ns + SECONDS(least_s));
	assert_true(sending_retry_ns(sending) <= clock_monotonic_ns() + SECONDS(least_s));
	for (unsigned i = 0; i < 4; i++)
		run_once();
	assert_string_equal(sent(), "429;");
}

static void a_batch_that_only_fails_is_given_up_once_others_are_taken(void **state)
{
	add(0, "502");
	add(1, "200");
	add(2, "201");
	open_sending();
	RUN_UNTIL(report().sent_batches == 2 && count_files() == 0);
	assert_string_equal(sent(), "502;502;502;502;502;201;502;502;502;502;502;200;");
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED], SPOOL_MINUTE_NS);
	assert_false(report().is_failing);
}

static void a_receiver_that_is_away_loses_nothing(void **state)
{
	add(0, "200");
	add(1, "201");
	add(2, "202");
	open_sending();
	write_text(answer_path, "503");
	RUN_UNTIL(report().failed >= 13);
	/* The newest is tried in its turn, so there are no more requests than failures. */
	assert_ptr_equal(
		strstr(sent(), "200;200;200;200;200;202;200;200;200;200;200;202;"), sent());
	assert_int_equal(count_files(), 3);
	assert_int_equal(unlink(answer_path), 0);
	RUN_UNTIL(report().sent_batches == 3 && count_files() == 0);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED], 0);
}

static void a_wait_that_is_asked_for_is_kept(void **state)
{
	add(0, "429");
	check_wait(0, 1000);
	close_sending();
	check_wait(UINT32_MAX, 1500);
}

static void a_batch_at_fault_is_dropped_once_another_is_taken(void **state)
{
	add(0, "400");
	open_sending();
	/* There is no telling yet who is at fault. */
	RUN_UNTIL(report().failed >= 1);
	assert_true(report().is_failing);
	assert_false(report().is_held);
	assert_int_equal(count_files(), 1);
	add(1, "201");
	add(2, "200");
	RUN_UNTIL(report().sent_batches == 2 && count_files() == 0);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED], SPOOL_MINUTE_NS);
	assert_false(report().is_failing);
	assert_non_null(strstr(sent(), "400;200;201;"));
}

static void a_run_of_refusals_holds_the_spool(void **state)
{
	add(0, "200");
	add(1, "201");
	add(2, "202");
	open_sending();
	write_text(answer_path, "400");
	RUN_UNTIL(report().is_held);
	RUN_UNTIL(report().failed >= 2);
	assert_string_equal(report().fault, "held: it answers 400: as asked");
	assert_int_equal(count_files(), 3);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED], 0);
	/* What all batches have in common holds it at the first. */
	write_text(answer_path, "401");
	RUN_UNTIL(strcmp(report().fault, "held: it answers 401: as asked") == 0);
	assert_int_equal(unlink(answer_path), 0);
	RUN_UNTIL(report().sent_batches == 3);
	assert_false(report().is_held);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED], 0);
}

static void a_source_that_is_refused_stops_no_other(void **state)
{
	for (unsigned i = 0; i < 2; i++) {
		add(i, "200");
		add_of(PILOTLIGHT_SOURCE_OFFCPU, i, "400");
	}
	open_sending();
	RUN_UNTIL(report().sent_batches == 2 && report().failed >= 2);
	assert_true(report().is_failing);
	assert_false(report().is_held);
	assert_string_equal(report().fault, "held: source offcpu: it answers 400: as asked");
	assert_int_equal(count_files(), 2);
	/* Those of another one do not wait for the end of the backoff, either. */
	add(2, "201");
	wake(PILOTLIGHT_SOURCE_CPU, 2);
	RUN_UNTIL(report().sent_batches == 3);
	assert_true(report().is_failing);
	write_text(answer_path, "202");
	RUN_UNTIL(report().sent_batches == 5 && count_files() == 0);
	assert_false(report().is_failing);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED], 0);
}

static void another_source_does_not_prove_a_batch_at_fault(void **state)
{
	add_of(PILOTLIGHT_SOURCE_OFFCPU, 0, "400");
	add(1, "200");
	open_sending();
	RUN_UNTIL(report().sent_batches == 1 && report().failed >= 2);
	assert_int_equal(count_files(), 1);
	add_of(PILOTLIGHT_SOURCE_OFFCPU, 2, "201");
	wake(PILOTLIGHT_SOURCE_OFFCPU, 2);
	RUN_UNTIL(report().sent_batches == 2 && count_files() == 0);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED], SPOOL_MINUTE_NS);
	assert_false(report().is_failing);
}

static void what_is_too_large_is_counted(void **state)
{
	uint64_t duration_ns = 0;

	add(0, "413");
	add(1, "200");
	open_sending();
	assert_false(sending_take_too_large(sending, &duration_ns));
	RUN_UNTIL(report().sent_batches == 1 && count_files() == 0);
	RUN_UNTIL(report().skipped_ns[SERVICE_SINK_REFUSED_SIZE] == SPOOL_MINUTE_NS);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED], 0);
	assert_int_equal(report().failed, 0);
	assert_true(sending_take_too_large(sending, &duration_ns));
	assert_int_equal(duration_ns, SPOOL_MINUTE_NS);
	assert_false(sending_take_too_large(sending, &duration_ns));
}

/* A misconfigured proxy, for instance. */
static void a_receiver_that_finds_all_too_large_loses_nothing(void **state)
{
	add(0, "200");
	open_sending();
	write_text(answer_path, "413");
	/* One batch does not tell whose fault it is. */
	RUN_UNTIL(report().failed >= 1);
	assert_true(report().is_failing);
	assert_false(report().is_held);
	add(1, "201");
	add(2, "202");
	RUN_UNTIL(report().is_held);
	RUN_UNTIL(report().failed >= 3);
	assert_string_equal(report().fault, "held: it answers 413: as asked");
	assert_int_equal(count_files(), 3);
	assert_int_equal(unlink(answer_path), 0);
	RUN_UNTIL(report().sent_batches == 3);
	assert_false(report().is_held);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED_SIZE], 0);
}

/* After a run of batches of which twice as much is still less than what was too large. */
static void batches_may_grow_again(void **state)
{
	unsigned i;

	add(0, "413       ");
	for (i = 1; i < BATCH_SIZE_GROW_AFTER + 2; i++)
		add(i, i == 2 ? "200     " : "200");
	open_sending();
	RUN_UNTIL(report().sent_batches == BATCH_SIZE_GROW_AFTER + 1 && count_files() == 0);
	/* The last was taken first, and the second is too large to grow by now. */
	assert_false(sending_take_room(sending));
	add(i, "200");
	add(i + 1, "200");
	wake(PILOTLIGHT_SOURCE_CPU, i + 1);
	RUN_UNTIL(report().sent_batches == BATCH_SIZE_GROW_AFTER + 3);
	assert_true(sending_take_room(sending));
	assert_false(sending_take_room(sending));
}

/* A folder in the place of a batch cannot be removed as a file, whoever the test is. */
static void what_was_sent_is_not_sent_again(void **state)
{
	const char *name = "20261120T031000.000000000Z_60000000000ns_cpu.pb.gz";

	add(0, "200");
	add(1, "0");
	open_sending();
	write_text(wait_path, "");
	RUN_UNTIL(strstr(sent(), "200;"));
	assert_int_equal(unlink(file_path(spool_folder, name)), 0);
	assert_int_equal(mkdir(file_path(spool_folder, name), 0700), 0);
	assert_int_equal(unlink(wait_path), 0);
	RUN_UNTIL(report().failed >= 2);
	assert_int_equal(rmdir(file_path(spool_folder, name)), 0);
	RUN_UNTIL(strstr(sent(), "0;0;"));
	assert_int_equal(report().sent_batches, 1);
	assert_null(strstr(strstr(sent(), "200;") + 1, "200;"));
}

/* What was tried before, and what an earlier engine left, also if its clock was ahead. */
static void what_the_receiver_may_have_is_asked_for(void **state)
{
	const uint64_t future_ns = SECONDS(4000000000);
	struct batch batch = { SECONDS(1), SECONDS(2), PILOTLIGHT_SOURCE_CPU };

	add_batch(&batch, "200");
	batch = (struct batch){ future_ns, future_ns + 1, PILOTLIGHT_SOURCE_CPU };
	add_batch(&batch, "201");
	type = "clickhouse";
	open_sending();
	type = "otlp";
	batch = (struct batch){ future_ns, future_ns + 1, PILOTLIGHT_SOURCE_LOCK };
	add_batch(&batch, "202");
	sending_wake(sending, &batch);
	RUN_UNTIL(report().sent_batches == 3 && count_files() == 0);
	assert_string_equal(sent(), "?200;?201;202;");
	batch = (struct batch){ future_ns + 1, future_ns + 2, PILOTLIGHT_SOURCE_CPU };
	add_batch(&batch, "503");
	sending_wake(sending, &batch);
	RUN_UNTIL(report().failed >= 2);
	assert_non_null(strstr(sent(), "202;503;?503;"));
}

/* As by a receiver that refuses those beyond an age. They do not keep the later ones back. */
static void times_of_the_past_are_dropped_and_counted(void **state)
{
	for (unsigned i = 0; i < 5; i++)
		add(i, i < 3 ? "400" : "200");
	open_sending();
	RUN_UNTIL(report().sent_batches == 2 && report().failed >= 1);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED], 2 * SPOOL_MINUTE_NS);
	add(5, "200");
	wake(PILOTLIGHT_SOURCE_CPU, 5);
	RUN_UNTIL(report().sent_batches == 3 && count_files() == 0);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED], 3 * SPOOL_MINUTE_NS);
}

static void failing_allocations_are_reported(void **state)
{
	struct sending_options options = {
		.name = "x",
		.type = "clickhouse",
		.report = &state_of_sink,
	};
	struct sending *other = NULL;

	open_sending();
	assert_int_equal(
		FAIL_EACH_ALLOCATION(sending_new(&options, &other), -ENOMEM, !other, 0), 1);
	sending_free(other);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, spool_set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(batches_are_sent_in_order),
		WITH_FOLDER(what_receivers_reject_does_not_wrap),
		WITH_FOLDER(a_batch_that_comes_during_a_search_is_found),
		WITH_FOLDER(what_may_be_tried_again_is),
		WITH_FOLDER(a_batch_that_only_fails_is_given_up_once_others_are_taken),
		WITH_FOLDER(a_receiver_that_is_away_loses_nothing),
		WITH_FOLDER(a_wait_that_is_asked_for_is_kept),
		WITH_FOLDER(a_batch_at_fault_is_dropped_once_another_is_taken),
		WITH_FOLDER(a_run_of_refusals_holds_the_spool),
		WITH_FOLDER(a_source_that_is_refused_stops_no_other),
		WITH_FOLDER(another_source_does_not_prove_a_batch_at_fault),
		WITH_FOLDER(what_is_too_large_is_counted),
		WITH_FOLDER(a_receiver_that_finds_all_too_large_loses_nothing),
		WITH_FOLDER(batches_may_grow_again),
		WITH_FOLDER(what_was_sent_is_not_sent_again),
		WITH_FOLDER(what_the_receiver_may_have_is_asked_for),
		WITH_FOLDER(times_of_the_past_are_dropped_and_counted),
		WITH_FOLDER(failing_allocations_are_reported),
	};

	if (argc > 1 && strcmp(argv[1], "sink-send") == 0)
		return sender_role();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
