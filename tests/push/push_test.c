/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sinks with a stand-in for the query process: this test, started again with "answer". What it does
 * stands where the folder of the symbol cache would: "echo" answers with its parameters, a number
 * refuses with that status, "gzip" answers as gzip ends, "hang" never answers. The process that
 * sends is this test, too, started again with "sink-send"; its answer is the status in place of the
 * URL.
 */
#include "push/push.h"

#include "answer/answer_request.h"
#include "base/array.h"
#include "base/clock.h"
#include "child/child_request.h"
#include "push/batch_size.h"
#include "push/sending.h"
#include "query/host_sample.h"
#include "tests/harness/failing_allocation.h"
#include "tests/push/spool_fixture.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#define SECONDS(n) ((n)*1000000000ULL)

enum { GUARD_MS = 20000, STEP_MS = 20 };

static struct spool_thread *spools;
static struct push *push;
static char what[32];

static int answer_role(void)
{
	struct answer_reply reply = {
		.version = ANSWER_VERSION, .status = 200, .content_type = "text/x-test"
	};
	static struct answer_request request;

	if (child_request_receive(&request, sizeof(request)) < 0)
		return 9;
	if (strcmp(request.symbol_cache, "echo") == 0) {
		for (size_t i = 0; i < request.parameters_bytes; i++)
			if (!request.parameters[i])
				request.parameters[i] = ' ';
		if (write(ANSWER_OUTPUT_FD, request.parameters, request.parameters_bytes) < 0)
			return 8;
		reply.bytes = request.parameters_bytes;
	} else if (strcmp(request.symbol_cache, "gzip") == 0) {
		/* As its end says, it holds a byte for each second. */
		const char *to = memmem(request.parameters, request.parameters_bytes, "to\0@", 4);
		const uint32_t end =
			(uint32_t)(atoll(to + 4) - atoll(request.parameters + strlen("from") + 2));

		if (write(ANSWER_OUTPUT_FD, "gzip", 4) < 0 ||
			write(ANSWER_OUTPUT_FD, &end, sizeof(end)) < 0)
			return 8;
		reply.bytes = 8;
	} else {
		reply.status = (uint16_t)atoi(request.symbol_cache);
		(void)snprintf(reply.text, sizeof(reply.text), "refused, as asked");
	}
	if (strcmp(request.symbol_cache, "hang") != 0)
		(void)send(CHILD_SOCKET_NUMBER, &reply, sizeof(reply), MSG_NOSIGNAL);
	for (;;)
		(void)pause();
}

static int sender_role(void)
{
	static struct send_request request;
	struct send_reply reply = { .version = SEND_VERSION };

	if (child_request_receive(&request, sizeof(request)) < 0)
		return 9;
	reply.status = (uint32_t)atoi(request.sink);
	reply.sent_bytes = request.bytes;
	(void)send(CHILD_SOCKET_NUMBER, &reply, sizeof(reply), MSG_NOSIGNAL);
	for (;;)
		(void)pause();
}

static struct push_options options_of(uint32_t sources)
{
	struct push_options options = { .spools = spools,
		.sink_count = 1,
		.history = "/history",
		.symbol_cache = what,
		.sources = sources,
		.catch_up_ns = 45 * SPOOL_MINUTE_NS };

	options.sinks[0] = (struct push_sink_options){ .name = "files",
		.type = "pprof",
		.format = "pprof",
		.labels = "service",
		.interval_ns = SPOOL_MINUTE_NS,
		.host_id = "host",
		.sample_hosts_ppm = HOST_SAMPLE_ALL,
		.name_wait_ns = SECONDS(3600) };
	return options;
}

/* Returns once the thread has opened the spool. */
static void start(const struct push_options *options)
{
	struct pollfd fd = { .events = POLLIN };

	assert_int_equal(push_new(options, &push), 0);
	strcpy(what, "echo");
	fd.fd = push_poll_fd(push);
	assert_int_equal(poll(&fd, 1, GUARD_MS), 1);
	push_run(push, false);
}

static void open_spools(uint64_t bytes_max)
{
	struct spool_thread_options threads = { .count = 1 };

	threads.spools[0] = spool_options_of(bytes_max);
	/* The spool reads the real clock. */
	threads.spools[0].age_max_ns = INT64_MAX;
	assert_int_equal(spool_thread_new(&threads, &spools), 0);
}

static void open_push(uint32_t sources, uint64_t bytes_max)
{
	struct push_options options;

	open_spools(bytes_max);
	options = options_of(sources);
	start(&options);
}

static void close_push(void)
{
	push_free(TAKE_PTR(push));
	spool_thread_free(TAKE_PTR(spools));
}

static int tear_down(void **state)
{
	close_push();
	return spool_tear_down(state);
}

static struct service_status_sink report(void)
{
	struct service_status_sink sink;

	push_report(push, 0, &sink);
	return sink;
}

/* Runs until `condition` holds. */
#define RUN_UNTIL(condition)                                                       \
	do {                                                                       \
		uint64_t end_ns = clock_monotonic_ns() + SECONDS(GUARD_MS / 1000); \
                                                                                   \
		while (!(condition)) {                                             \
			struct pollfd fd = { push_poll_fd(push), POLLIN, 0 };      \
                                                                                   \
			assert_true(clock_monotonic_ns() < end_ns);                \
			(void)poll(&fd, 1, STEP_MS);                               \
			push_run(push, false);                                     \
		}                                                                  \
	} while (0)

/* Runs what is due, several times, so that what must not happen could. */
static void run_some(bool are_names_pending)
{
	for (int i = 0; i < 5; i++) {
		struct pollfd fd = { push_poll_fd(push), POLLIN, 0 };

		(void)poll(&fd, 1, STEP_MS);
		push_run(push, are_names_pending);
	}
}

/* The window that ended so long after SPOOL_NOW_NS, a round minute. */
static void seal(uint64_t seconds)
{
	push_sealed(push, SPOOL_NOW_NS + SECONDS(seconds));
}

static const char *text_of(const char *name)
{
	static char text[512];
	int fd = open(file_path(spool_folder, name), O_RDONLY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		fail_msg("no %s", name);
	size = read(fd, text, sizeof(text) - 1);
	assert_true(size >= 0 && close(fd) == 0);
	text[size] = '\0';
	return text;
}

static void each_interval_becomes_a_batch(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	/* The first window says where the first batch begins. */
	for (uint64_t i = 10; i < 60; i += 10)
		seal(i);
	run_some(false);
	assert_int_equal(report().batches, 0);
	seal(60);
	RUN_UNTIL(report().batches == 1);
	assert_string_equal(text_of("20261120T031010.000000000Z_50000000000ns_cpu.pb.gz"),
		"from @1795144210.000000000 to @1795144260.000000000 windows ended event cpu "
		"format pprof "
		"labels service ");
	seal(70);
	run_some(false);
	seal(125);
	RUN_UNTIL(report().batches == 2);
	assert_string_equal(text_of("20261120T031100.000000000Z_65000000000ns_cpu.pb.gz"),
		"from @1795144260.000000000 to @1795144325.000000000 windows ended event cpu "
		"format pprof "
		"labels service ");
	assert_int_equal(report().until_ns, SPOOL_NOW_NS + SECONDS(125));
	assert_int_equal(report().kept_files, 2);
	assert_true(report().bytes == report().kept_bytes && report().bytes > 100);
	assert_string_equal(report().name, "files");
	assert_string_equal(report().type, "pprof");
}

static void each_source_has_its_batches(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU | 1U << PILOTLIGHT_SOURCE_OFFCPU, 1 << 20);
	seal(0);
	seal(60);
	RUN_UNTIL(report().batches == 2);
	run_some(false);
	assert_int_equal(count_files(), 2);
	(void)text_of("20261120T031000.000000000Z_60000000000ns_cpu.pb.gz");
	assert_non_null(strstr(text_of("20261120T031000.000000000Z_60000000000ns_offcpu.pb.gz"),
		" event offcpu "));
}

/* As after an order to sample an event for a time. */
static void the_last_windows_of_a_source_are_written(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU | 1U << PILOTLIGHT_SOURCE_OFFCPU, 1 << 20);
	seal(0);
	seal(60);
	RUN_UNTIL(report().batches == 2);
	close_push();

	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	seal(120);
	RUN_UNTIL(report().batches == 2);
	(void)text_of("20261120T031100.000000000Z_60000000000ns_offcpu.pb.gz");
	/* Then it has none any more, and is not asked for again. */
	strcpy(what, "404");
	seal(180);
	RUN_UNTIL(report().empty == 2);
	strcpy(what, "echo");
	seal(240);
	RUN_UNTIL(report().batches == 3);
	run_some(false);
	assert_int_equal(report().batches + report().empty, 5);
	(void)text_of("20261120T031300.000000000Z_60000000000ns_cpu.pb.gz");
}

static void a_batch_waits_for_names(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	seal(0);
	seal(60);
	run_some(true);
	seal(70);
	run_some(true);
	assert_int_equal(report().batches, 0);
	/* It ends where it would have without the wait. */
	RUN_UNTIL(report().batches == 1);
	(void)text_of("20261120T031000.000000000Z_60000000000ns_cpu.pb.gz");
}

static void a_wait_for_names_has_an_end(void **state)
{
	struct push_options options;
	uint64_t guard_ns = clock_monotonic_ns() + SECONDS(GUARD_MS / 1000);

	open_spools(1 << 20);
	options = options_of(1U << PILOTLIGHT_SOURCE_CPU);
	options.sinks[0].name_wait_ns = SECONDS(1) / 10;
	start(&options);
	seal(0);
	seal(60);
	while (report().batches == 0) {
		assert_true(clock_monotonic_ns() < guard_ns);
		run_some(true);
	}
}

/* The host is drawn in the epoch of SPOOL_NOW_NS, and not in the next one. */
static void a_host_that_is_not_drawn_pushes_nothing(void **state)
{
	struct push_options options;

	open_spools(1 << 20);
	options = options_of(1U << PILOTLIGHT_SOURCE_CPU);
	options.sinks[0].sample_hosts_ppm = HOST_SAMPLE_ALL / 2;
	options.sinks[0].host_id = "c";
	start(&options);
	seal(0);
	/* The batch ends with its epoch, and a window may end somewhat later. */
	seal(660);
	RUN_UNTIL(report().skipped_ns[SERVICE_SINK_UNSAMPLED] > 0);
	assert_int_equal(
		report().skipped_ns[SERVICE_SINK_UNSAMPLED], SECONDS(60) - SECONDS(1) / 10);
	assert_non_null(strstr(text_of("20261120T031000.000000000Z_600100000000ns_cpu.pb.gz"),
		" sample-hosts 500000 "));
	seal(720);
	RUN_UNTIL(report().skipped_ns[SERVICE_SINK_UNSAMPLED] > SECONDS(60));
	assert_int_equal(report().batches, 1);
}

/* The next engine goes on where this one ended, and makes nothing twice. */
static void a_restart_leaves_no_gap_and_no_overlap(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	seal(0);
	seal(60);
	RUN_UNTIL(report().batches == 1);
	strcpy(what, "hang");
	seal(120);
	run_some(false);
	close_push();
	remove_file(spool_folder, "20261120T031000.000000000Z_60000000000ns_cpu.pb.gz");

	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	seal(130);
	RUN_UNTIL(report().batches == 1);
	assert_int_equal(count_files(), 1);
	(void)text_of("20261120T031100.000000000Z_70000000000ns_cpu.pb.gz");
}

static void what_fails_is_tried_again(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	seal(0);
	strcpy(what, "503");
	seal(60);
	RUN_UNTIL(report().failed == 1);
	assert_true(report().is_failing);
	assert_string_equal(report().fault, "refused, as asked");
	run_some(false);
	assert_int_equal(report().failed, 1); /* not at once */
	RUN_UNTIL(report().failed == 2);
	strcpy(what, "echo");
	seal(70);
	RUN_UNTIL(report().batches == 1);
	assert_false(report().is_failing);
	assert_string_equal(report().fault, "");
	/* With what was sealed meanwhile. */
	(void)text_of("20261120T031000.000000000Z_70000000000ns_cpu.pb.gz");
}

static void a_folder_that_vanishes_is_tried_again(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	seal(0);
	remove_folder(spool_folder);
	seal(60);
	RUN_UNTIL(report().failed == 1);
	assert_string_equal(
		report().fault, "cannot write to its folder: No such file or directory");
	assert_int_equal(mkdir(spool_folder, 0755), 0);
	RUN_UNTIL(report().batches == 1);
	assert_int_equal(count_files(), 1);
}

static void time_without_windows_is_passed_over(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	seal(0);
	strcpy(what, "404");
	seal(60);
	RUN_UNTIL(report().empty == 1 && report().until_ns == SPOOL_NOW_NS + SECONDS(60));
	assert_false(report().is_failing);
	strcpy(what, "echo");
	seal(120);
	RUN_UNTIL(report().batches == 1);
	(void)text_of("20261120T031100.000000000Z_60000000000ns_cpu.pb.gz");
}

static void what_is_too_large_is_counted(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 50);
	seal(0);
	strcpy(what, "413");
	seal(60);
	RUN_UNTIL(report().until_ns == SPOOL_NOW_NS + SECONDS(60));
	assert_int_equal(report().skipped_ns[SERVICE_SINK_TOO_LARGE], SECONDS(60));
	/* Larger than all files together may be. */
	strcpy(what, "echo");
	seal(120);
	RUN_UNTIL(report().until_ns == SPOOL_NOW_NS + SECONDS(120));
	assert_int_equal(report().skipped_ns[SERVICE_SINK_TOO_LARGE], SECONDS(120));
	assert_int_equal(report().batches + report().failed, 0);
}

static void deleted_batches_are_counted_once(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 150);
	for (uint64_t i = 0; i <= 5; i++) {
		seal(60 * i);
		RUN_UNTIL(report().batches == i);
	}
	assert_int_equal(report().kept_files, 1);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_EVICTED], 4 * SPOOL_MINUTE_NS);
}

static void what_is_too_old_is_skipped(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	seal(0);
	seal(3600);
	RUN_UNTIL(report().batches == 1);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_TOO_OLD], 15 * SPOOL_MINUTE_NS);
	(void)text_of("20261120T032500.000000000Z_2700000000000ns_cpu.pb.gz");
}

static void a_clock_that_was_set_back_repeats_no_time(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	seal(0);
	seal(120);
	RUN_UNTIL(report().batches == 1);
	seal(50);
	seal(60);
	seal(70);
	run_some(false);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_CLOCK_SET], SECONDS(20));
	assert_int_equal(report().batches, 1);
	seal(180);
	RUN_UNTIL(report().batches == 2);
	(void)text_of("20261120T031200.000000000Z_60000000000ns_cpu.pb.gz");
}

static void failing_allocations_are_tried_again(void **state)
{
	struct push_options options;
	struct push *other = NULL;

	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	options = options_of(1);
	fail_allocation(0);
	assert_int_equal(push_new(&options, &other), -ENOMEM);
	assert_null(other);
	seal(0);
	seal(60);
	fail_allocation(0);
	push_run(push, false);
	assert_true(allocation_failed());
	assert_int_equal(report().failed, 1);
	assert_string_equal(
		report().fault, "cannot start the query process: Cannot allocate memory");
	RUN_UNTIL(report().batches == 1);
}

static void open_with_receiver(const char *sink)
{
	struct push_options options;

	open_spools(1 << 20);
	options = options_of(1U << PILOTLIGHT_SOURCE_CPU);
	options.sinks[0].name = sink;
	options.sinks[0].send_timeout_ns = SECONDS(20);
	options.sinks[0].attributes = "tier=1";
	start(&options);
}

static void a_batch_is_sent_and_deleted(void **state)
{
	char sink[] = "503";

	open_with_receiver(sink);
	seal(0);
	seal(60);
	RUN_UNTIL(report().failed >= 1);
	assert_non_null(strstr(text_of("20261120T031000.000000000Z_60000000000ns_cpu.pb.gz"),
		" attributes tier=1 "));
	assert_true(report().is_failing);
	assert_string_equal(report().fault, "it answers 503");
	assert_int_equal(report().kept_files, 1);
	memcpy(sink, "200", 3);
	RUN_UNTIL(report().sent_batches == 1 && report().kept_files == 0);
	assert_int_equal(count_files(), 0);
	assert_int_equal(report().batches, 1);
	assert_int_equal(report().bytes, report().sent_bytes);
	assert_false(report().is_failing);
	/* The next is sent at once. */
	seal(120);
	RUN_UNTIL(report().sent_batches == 2);
}

/* And longer again, when the receiver takes them. */
static void a_batch_with_too_many_plain_bytes_is_divided(void **state)
{
	struct push_options options;

	open_spools(1 << 20);
	options = options_of(1U << PILOTLIGHT_SOURCE_CPU);
	options.sinks[0].plain_bytes_max = 30;
	start(&options);
	strcpy(what, "gzip");
	for (uint64_t i = 0; i <= 60; i += 10)
		seal(i);
	RUN_UNTIL(report().batches == 2);
	run_some(false);
	(void)text_of("20261120T031000.000000000Z_30100000000ns_cpu.pb.gz");
	(void)text_of("20261120T031030.100000000Z_29900000000ns_cpu.pb.gz");
	assert_int_equal(count_files(), 2);
	/* A window cannot be divided. */
	seal(120);
	RUN_UNTIL(report().skipped_ns[SERVICE_SINK_TOO_LARGE] == SECONDS(60));
	assert_int_equal(count_files(), 2);
}

static void batches_that_are_too_large_become_shorter(void **state)
{
	char sink[] = "413";
	uint64_t until = 90, sent = 2;

	open_with_receiver(sink);
	seal(0);
	seal(50);
	seal(60);
	RUN_UNTIL(report().failed >= 1);
	assert_false(report().is_held);
	seal(80);
	seal(90);
	RUN_UNTIL(report().is_held);
	assert_int_equal(report().batches, 2);
	memcpy(sink, "200", 3);
	RUN_UNTIL(report().sent_batches == sent);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED_SIZE], 0);
	while (sent < BATCH_SIZE_GROW_AFTER) {
		seal(until += 15);
		sent++;
		RUN_UNTIL(report().sent_batches == sent);
	}
	seal(until + 15);
	run_some(false);
	assert_int_equal(report().batches, sent);
	seal(until + 30);
	RUN_UNTIL(report().sent_batches == sent + 1);
}

/* Shorter intervals would only cost more query processes. */
static void a_window_that_is_too_large_is_not_divided(void **state)
{
	char sink[] = "413";

	open_with_receiver(sink);
	seal(0);
	seal(60);
	RUN_UNTIL(report().failed >= 1);
	seal(120);
	RUN_UNTIL(report().is_held);
	seal(150);
	run_some(false);
	assert_int_equal(report().batches, 2);
	assert_int_equal(report().kept_files, 2);
	assert_int_equal(report().skipped_ns[SERVICE_SINK_REFUSED_SIZE], 0);
}

#define WITH_FOLDER(test) cmocka_unit_test_setup_teardown(test, spool_set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(each_interval_becomes_a_batch),
		WITH_FOLDER(each_source_has_its_batches),
		WITH_FOLDER(the_last_windows_of_a_source_are_written),
		WITH_FOLDER(a_batch_waits_for_names),
		WITH_FOLDER(a_wait_for_names_has_an_end),
		WITH_FOLDER(a_host_that_is_not_drawn_pushes_nothing),
		WITH_FOLDER(a_restart_leaves_no_gap_and_no_overlap),
		WITH_FOLDER(what_fails_is_tried_again),
		WITH_FOLDER(a_folder_that_vanishes_is_tried_again),
		WITH_FOLDER(time_without_windows_is_passed_over),
		WITH_FOLDER(what_is_too_large_is_counted),
		WITH_FOLDER(deleted_batches_are_counted_once),
		WITH_FOLDER(what_is_too_old_is_skipped),
		WITH_FOLDER(a_clock_that_was_set_back_repeats_no_time),
		WITH_FOLDER(failing_allocations_are_tried_again),
		WITH_FOLDER(a_batch_is_sent_and_deleted),
		WITH_FOLDER(a_batch_with_too_many_plain_bytes_is_divided),
		WITH_FOLDER(batches_that_are_too_large_become_shorter),
		WITH_FOLDER(a_window_that_is_too_large_is_not_divided),
	};

	if (argc > 1 && strcmp(argv[1], "answer") == 0)
		return answer_role();
	if (argc > 1 && strcmp(argv[1], "sink-send") == 0)
		return sender_role();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
