/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The meter with a stand-in for the query process: this test, started again with "answer". What it
 * does stands where the folder of the symbol cache would: "values" answers with some, "echo" with
 * its parameters as labels, "units X" with 40 units whose names begin with X, "part" with values of
 * 4 s only, "hostile" with what no query process writes, a number refuses with that status, "hang"
 * notes its process in the file in place of the history, and never answers.
 */
#include "push/function_meter.h"

#include "answer/answer_metrics.h"
#include "answer/answer_request.h"
#include "base/array.h"
#include "base/clock.h"
#include "child/child_request.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

/* 2026-11-20 03:10:00 UTC. */
#define NOW_NS	   1795144200000000000ULL
#define SECONDS(n) ((n)*1000000000ULL)

enum { GUARD_MS = 20000, STEP_MS = 20, UNITS = 40 };

static struct function_meter *meter;
static char what[32], history[64];
static uint64_t name_wait_ns;

/* --- the stand-in --- */

static uint64_t written;

static void write_value(uint32_t metric, uint32_t kind, uint64_t ns, const char *label)
{
	struct answer_metric_value value = { .metric = metric, .kind = kind, .ns = ns };

	(void)snprintf(value.label, sizeof(value.label), "%s", label);
	if (write(ANSWER_OUTPUT_FD, &value, sizeof(value)) == sizeof(value))
		written += sizeof(value);
}

static void write_hostile(void)
{
	struct answer_metric_value value = { .kind = ANSWER_METRIC_MATCHED, .ns = 1 };

	write_value(2, ANSWER_METRIC_SELECTED, 1, "");
	write_value(UINT32_MAX, ANSWER_METRIC_MATCHED, 1, "");
	write_value(0, 0, 1, "");
	write_value(0, 4, 1, "");
	write_value(1, ANSWER_METRIC_MATCHED, 1, "a\x1b[31m");
	write_value(1, ANSWER_METRIC_MATCHED, 1, "a\xff");
	memset(value.label, 'x', sizeof(value.label));
	if (write(ANSWER_OUTPUT_FD, &value, sizeof(value)) == sizeof(value))
		written += sizeof(value);
	for (int i = 0; i < 500; i++) {
		char label[16];

		(void)snprintf(label, sizeof(label), "%d", i);
		write_value(1, ANSWER_METRIC_MATCHED, 1, label);
	}
}

static void echo(const struct answer_request *request)
{
	size_t at = 0;

	while (at < request->parameters_bytes) {
		char label[ANSWER_METRIC_LABEL_BYTES];
		const char *name = request->parameters + at, *value = name + strlen(name) + 1;

		(void)snprintf(label, sizeof(label), "%s %s", name, value);
		write_value(1, ANSWER_METRIC_MATCHED, 1, label);
		at += strlen(name) + strlen(value) + 2;
	}
}

static void write_units(const char *head)
{
	for (int i = 0; i < UNITS; i++) {
		char label[ANSWER_METRIC_LABEL_BYTES];

		(void)snprintf(label, sizeof(label), "%s%d", head, i);
		write_value(1, ANSWER_METRIC_MATCHED, 1, label);
	}
}

static void note_process(const char *path)
{
	FILE *file = fopen(path, "w");

	if (file) {
		(void)fprintf(file, "%d;", (int)getpid());
		(void)fclose(file);
	}
}

static int answer_role(void)
{
	struct answer_reply reply = {
		.version = ANSWER_VERSION, .status = 200, .content_type = "text/x-test"
	};
	static struct answer_request request;

	if (child_request_receive(&request, sizeof(request)) < 0)
		return 9;
	if (strcmp(request.symbol_cache, "values") == 0) {
		write_value(0, ANSWER_METRIC_SELECTED, 100, "");
		write_value(0, ANSWER_METRIC_UNNAMED, 10, "");
		write_value(0, ANSWER_METRIC_MATCHED, 40, "");
		write_value(1, ANSWER_METRIC_SELECTED, 200, "");
		write_value(1, ANSWER_METRIC_MATCHED, 70, "nginx.service");
		write_value(1, ANSWER_METRIC_MATCHED, 30, ANSWER_METRIC_OTHER);
	} else if (strcmp(request.symbol_cache, "echo") == 0) {
		echo(&request);
	} else if (strncmp(request.symbol_cache, "units ", 6) == 0) {
		write_units(request.symbol_cache + 6);
	} else if (strcmp(request.symbol_cache, "part") == 0) {
		write_value(0, ANSWER_METRIC_SELECTED, 100, "");
		reply.covered_ns = SECONDS(4);
	} else if (strcmp(request.symbol_cache, "hang") == 0) {
		note_process(request.history);
	} else if (strcmp(request.symbol_cache, "hostile") == 0) {
		write_hostile();
	} else {
		reply.status = (uint16_t)atoi(request.symbol_cache);
		(void)snprintf(reply.text, sizeof(reply.text), "refused, as asked");
	}
	reply.bytes = written;
	if (strcmp(request.symbol_cache, "hang") != 0)
		(void)send(CHILD_SOCKET_NUMBER, &reply, sizeof(reply), MSG_NOSIGNAL);
	for (;;)
		(void)pause();
}

/* --- the tests --- */

static char *selected[] = { (char[]){ "unit:nginx.service" }, (char[]){ "comm:w*" } };
static char none[] = "none", unit[] = "unit", total[] = "total", self[] = "self", empty[] = "",
	    pattern[] = "^regex";

static const struct config_metric metrics[] = {
	{ .name = "all", .function = empty, .count = total, .by = none, .series_max = 20 },
	{ .name = "regex",
		.select = { .items = selected, .count = 2 },
		.function = pattern,
		.count = self,
		.by = unit,
		.series_max = 40 },
};

static int make(struct function_meter **ret_meter)
{
	const struct function_meter_options options = {
		.metrics = metrics,
		.metric_count = ARRAY_SIZE(metrics),
		.history = history,
		.symbol_cache = what,
		.catch_up_ns = SECONDS(600),
		.interval_ns = 1,
		.name_wait_ns = name_wait_ns,
	};

	return function_meter_new(&options, ret_meter);
}

static int set_up(void **state)
{
	int fd;

	strcpy(history, "/tmp/function-meter-test-XXXXXX");
	fd = mkstemp(history);
	assert_true(fd >= 0 && close(fd) == 0);
	name_wait_ns = SECONDS(3600);
	assert_int_equal(make(&meter), 0);
	return 0;
}

static int tear_down(void **state)
{
	function_meter_free(TAKE_PTR(meter));
	return unlink(history);
}

static void seal(uint64_t seconds)
{
	function_meter_sealed(meter, NOW_NS + SECONDS(seconds));
}

static const struct service_status_meter *status(void)
{
	return function_meter_status(meter);
}

static void run(bool are_names_pending)
{
	struct pollfd fd = { function_meter_poll_fd(meter), POLLIN, 0 };

	(void)poll(&fd, 1, STEP_MS);
	function_meter_run(meter, are_names_pending);
}

#define RUN_UNTIL(condition)                                                       \
	do {                                                                       \
		uint64_t end_ns = clock_monotonic_ns() + SECONDS(GUARD_MS / 1000); \
                                                                                   \
		while (!(condition)) {                                             \
			assert_true(clock_monotonic_ns() < end_ns);                \
			run(false);                                                \
		}                                                                  \
	} while (0)

static uint64_t ns_of(size_t metric, const char *label)
{
	const struct service_status_metric *measured = &status()->metrics[metric];

	for (size_t i = 0; i < measured->series_count; i++)
		if (strcmp(measured->series[i].label, label) == 0)
			return measured->series[i].ns;
	return 0;
}

static void values_add_up(void **state)
{
	strcpy(what, "values");
	seal(0); /* where the numbers begin */
	for (int i = 0; i < 5; i++)
		run(false);
	assert_int_equal(status()->measured, 0);
	seal(10);
	RUN_UNTIL(status()->measured == 1);
	assert_int_equal(status()->until_ns, NOW_NS + SECONDS(10));
	assert_string_equal(status()->metrics[1].name, "regex");
	assert_string_equal(status()->metrics[1].by, "unit");
	assert_string_equal(status()->metrics[0].by, "");
	seal(20);
	RUN_UNTIL(status()->measured == 2);
	assert_int_equal(status()->metrics[0].selected_ns, 200);
	assert_int_equal(status()->metrics[0].unnamed_ns, 20);
	assert_int_equal(ns_of(0, ""), 80);
	assert_int_equal(ns_of(1, "nginx.service"), 140);
	assert_int_equal(ns_of(1, ANSWER_METRIC_OTHER), 60);
}

static void all_metrics_are_one_question(void **state)
{
	static const char *const labels[] = { "from @1795144200.000000000",
		"to @1795144220.000000000", "windows ended", "metric all", "metric regex",
		"select unit:nginx.service", "select comm:w*", "function ^regex", "count self",
		"by unit", "series 40" };

	strcpy(what, "echo");
	seal(0);
	seal(10);
	seal(20);
	RUN_UNTIL(status()->measured == 1);
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++)
		if (ns_of(1, labels[i]) != 1)
			fail_msg("no %s", labels[i]);
	/* The first one has no pattern. */
	assert_int_equal(status()->metrics[1].series_count, 14);
}

static void names_are_waited_for(void **state)
{
	strcpy(what, "echo");
	seal(0);
	seal(10);
	for (int i = 0; i < 5; i++)
		run(true);
	assert_int_equal(status()->measured, 0);
	seal(20);
	RUN_UNTIL(status()->measured == 1);
	assert_int_equal(ns_of(1, "to @1795144220.000000000"), 1);
}

static void a_wait_for_names_has_an_end(void **state)
{
	uint64_t end_ns = clock_monotonic_ns() + SECONDS(GUARD_MS / 1000);

	function_meter_free(TAKE_PTR(meter));
	name_wait_ns = 1;
	assert_int_equal(make(&meter), 0);
	strcpy(what, "values");
	seal(0);
	seal(10);
	while (status()->measured == 0) {
		assert_true(clock_monotonic_ns() < end_ns);
		run(true);
	}
}

static void what_fails_is_measured_later(void **state)
{
	strcpy(what, "503");
	seal(0);
	seal(10);
	RUN_UNTIL(status()->failed == 1);
	assert_true(status()->is_failing);
	assert_string_equal(status()->fault, "refused, as asked");
	strcpy(what, "echo");
	RUN_UNTIL(status()->measured == 1);
	assert_false(status()->is_failing);
	assert_int_equal(ns_of(1, "from @1795144200.000000000"), 1);
	/* Windows that were dropped. */
	strcpy(what, "404");
	seal(30);
	RUN_UNTIL(status()->until_ns == NOW_NS + SECONDS(30));
	assert_int_equal(status()->measured, 1);
}

static void what_is_too_old_is_skipped(void **state)
{
	strcpy(what, "echo");
	seal(0);
	seal(700);
	RUN_UNTIL(status()->measured == 1);
	assert_int_equal(status()->skipped_ns, SECONDS(100));
	assert_int_equal(ns_of(1, "from @1795144300.000000000"), 1);
}

/* Of a damaged day, or windows that were dropped. */
static void what_an_answer_does_not_cover_is_skipped(void **state)
{
	strcpy(what, "values");
	seal(0);
	seal(10);
	RUN_UNTIL(status()->measured == 1);
	assert_int_equal(status()->skipped_ns, 0);
	strcpy(what, "part");
	seal(20);
	RUN_UNTIL(status()->measured == 2);
	assert_int_equal(status()->skipped_ns, SECONDS(6));
	strcpy(what, "404");
	seal(25);
	RUN_UNTIL(status()->until_ns == NOW_NS + SECONDS(25));
	assert_int_equal(status()->skipped_ns, SECONDS(11));
}

static void a_clock_that_was_set_back_goes_on(void **state)
{
	strcpy(what, "values");
	seal(100);
	seal(10);
	seal(20);
	RUN_UNTIL(status()->measured == 1);
	assert_int_equal(status()->until_ns, NOW_NS + SECONDS(20));
}

/* A new unit takes the place of one that has not grown, and is not counted as one of the others. */
static void series_go_on_after_the_clock_was_set_back(void **state)
{
	strcpy(what, "units a");
	seal(3600);
	seal(3610);
	RUN_UNTIL(status()->measured == 1);
	assert_int_equal(status()->metrics[1].series_count, UNITS);
	seal(10);
	strcpy(what, "units b");
	seal(20);
	RUN_UNTIL(status()->measured == 2);
	assert_int_equal(ns_of(1, ANSWER_METRIC_OTHER), 0);
	assert_int_equal(ns_of(1, "b0"), 1);
	assert_int_equal(ns_of(1, "a0"), 0);
}

static void the_clock_is_set_back_during_a_measurement(void **state)
{
	strcpy(what, "values");
	seal(0);
	seal(100);
	function_meter_run(meter, false);
	seal(10);
	RUN_UNTIL(status()->measured == 1);
	assert_int_equal(status()->until_ns, NOW_NS + SECONDS(10));
	seal(20);
	RUN_UNTIL(status()->measured == 2);
	assert_int_equal(status()->until_ns, NOW_NS + SECONDS(20));
}

static void a_hostile_answer_is_bounded(void **state)
{
	strcpy(what, "hostile");
	seal(0);
	seal(10);
	RUN_UNTIL(status()->measured == 1);
	assert_int_equal(status()->metrics[0].selected_ns, 0);
	assert_int_equal(status()->metrics[0].series_count, 0);
	assert_int_equal(status()->metrics[1].series_count, 41);
	assert_int_equal(ns_of(1, ANSWER_METRIC_OTHER), 460);
}

static void a_process_that_hangs_is_killed(void **state)
{
	uint64_t end_ns = clock_monotonic_ns() + SECONDS(GUARD_MS / 1000);
	int process = 0;
	char end = '\0';

	strcpy(what, "hang");
	seal(0);
	seal(10);
	while (end != ';') {
		FILE *file = fopen(history, "r");

		assert_non_null(file);
		if (fscanf(file, "%d%c", &process, &end) != 2)
			end = '\0';
		assert_int_equal(fclose(file), 0);
		assert_true(clock_monotonic_ns() < end_ns);
		run(false);
	}
	assert_int_equal(kill(process, 0), 0);
	function_meter_free(TAKE_PTR(meter));
	assert_int_equal(kill(process, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void failing_allocations_are_reported(void **state)
{
	struct function_meter *other = NULL;

	assert_true(FAIL_EACH_ALLOCATION(make(&other), -ENOMEM, !other, 0) >= 4);
	function_meter_free(other);
	strcpy(what, "values");
	seal(0);
	seal(10);
	fail_allocation(0);
	function_meter_run(meter, false);
	assert_true(allocation_failed());
	assert_int_equal(status()->failed, 1);
	RUN_UNTIL(status()->measured == 1);
}

#define WITH_METER(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		WITH_METER(values_add_up),
		WITH_METER(all_metrics_are_one_question),
		WITH_METER(names_are_waited_for),
		WITH_METER(a_wait_for_names_has_an_end),
		WITH_METER(what_fails_is_measured_later),
		WITH_METER(what_is_too_old_is_skipped),
		WITH_METER(what_an_answer_does_not_cover_is_skipped),
		WITH_METER(a_clock_that_was_set_back_goes_on),
		WITH_METER(series_go_on_after_the_clock_was_set_back),
		WITH_METER(the_clock_is_set_back_during_a_measurement),
		WITH_METER(a_hostile_answer_is_bounded),
		WITH_METER(a_process_that_hangs_is_killed),
		WITH_METER(failing_allocations_are_reported),
	};

	if (argc > 1)
		return answer_role();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
