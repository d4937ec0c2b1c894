/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/push/push_fixture.h"

#include "tests/harness/failing_allocation.h"

#include <errno.h>

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

static void later_batches_are_asked_for_late_names(void **state)
{
	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	strcpy(what, "parca");
	seal(0);
	seal(60);
	RUN_UNTIL(report().batches == 1);
	assert_null(strstr(text_of("20261120T031000.000000000Z_60000000000ns_cpu.pb.gz") +
				   sizeof(struct parca_bytes),
		"late-names"));
	seal(120);
	RUN_UNTIL(report().batches == 2);
	assert_non_null(strstr(text_of("20261120T031100.000000000Z_60000000000ns_cpu.pb.gz") +
				       sizeof(struct parca_bytes),
		" late-names 01ab:65 "));
}

/* No batch has names here: one that is asked for them is larger by the question. */
static void late_names_that_are_too_large_cost_no_samples(void **state)
{
	static const char *const answers[] = { "parca", "names" };

	open_push(1U << PILOTLIGHT_SOURCE_CPU, 1 << 20);
	strcpy(what, "parca");
	seal(0);
	seal(60);
	RUN_UNTIL(report().batches == 1);
	for (uint64_t i = 0; i < 2; i++) {
		const uint64_t bytes = report().kept_bytes;

		close_push();
		open_push(1U << PILOTLIGHT_SOURCE_CPU, bytes);
		strcpy(what, answers[i]);
		seal(120 + i * 120);
		RUN_UNTIL(report().batches == 1);
		seal(180 + i * 120);
		RUN_UNTIL(report().until_ns == SPOOL_NOW_NS + SECONDS(180 + i * 120));
		assert_int_equal(report().batches, 2);
		assert_int_equal(report().skipped_ns[SERVICE_SINK_TOO_LARGE], 0);
	}
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

/* Each window of a time that is there is counted whole, also the first. */
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
	assert_int_equal(report().skipped_ns[SERVICE_SINK_CLOCK_SET], SECONDS(30));
	assert_int_equal(report().batches, 1);
	seal(180);
	RUN_UNTIL(report().batches == 2);
	(void)text_of("20261120T031200.000000000Z_60000000000ns_cpu.pb.gz");
}

/* A sink that would wait for that time begins anew. The next engine goes on there. */
static void a_clock_that_was_ahead_silences_no_sink_for_long(void **state)
{
	const uint32_t sources = 1U << PILOTLIGHT_SOURCE_CPU | 1U << PILOTLIGHT_SOURCE_OFFCPU;

	open_push(sources, 1 << 20);
	seal(86400);
	seal(86460);
	RUN_UNTIL(report().batches == 2);
	seal(60);
	run_some(false);
	assert_int_equal(report().batches, 2);
	seal(2760);
	RUN_UNTIL(report().batches == 4);
	(void)text_of("20261120T031100.000000000Z_2700000000000ns_cpu.pb.gz");
	(void)text_of("20261120T031100.000000000Z_2700000000000ns_offcpu.pb.gz");
	/* Ten seconds of each source. */
	assert_int_equal(report().skipped_ns[SERVICE_SINK_CLOCK_SET], SECONDS(20));
	assert_int_equal(report().until_ns, SPOOL_NOW_NS + SECONDS(2760));
	close_push();
	/* As a sender or another program does. */
	remove_file(spool_folder, "20261121T031000.000000000Z_60000000000ns_cpu.pb.gz");
	remove_file(spool_folder, "20261121T031000.000000000Z_60000000000ns_offcpu.pb.gz");

	open_push(sources, 1 << 20);
	seal(2820);
	RUN_UNTIL(report().batches == 2);
	(void)text_of("20261120T035600.000000000Z_60000000000ns_cpu.pb.gz");
	(void)text_of("20261120T035600.000000000Z_60000000000ns_offcpu.pb.gz");
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

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_FOLDER(each_interval_becomes_a_batch),
		WITH_FOLDER(each_source_has_its_batches),
		WITH_FOLDER(the_last_windows_of_a_source_are_written),
		WITH_FOLDER(later_batches_are_asked_for_late_names),
		WITH_FOLDER(late_names_that_are_too_large_cost_no_samples),
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
		WITH_FOLDER(a_clock_that_was_ahead_silences_no_sink_for_long),
		WITH_FOLDER(failing_allocations_are_tried_again),
	};

	if (argc > 1 && strcmp(argv[1], "answer") == 0)
		return answer_role();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
