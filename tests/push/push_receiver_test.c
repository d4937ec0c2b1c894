/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sinks whose batches are sent. The process that sends is this test, started again with
 * "sink-send"; its answer is the status in place of the sink's name.
 */
#include "push/batch_size.h"
#include "send/send_request.h"
#include "tests/push/push_fixture.h"

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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
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
