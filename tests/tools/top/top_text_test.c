/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/top_text.h"

#include "base/clock.h"
#include "base/output.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char stacks[] = "nginx;main;serve 30\n"
			     "nginx;main;read_[k] 10\n"
			     "node;start;\xff\x1b_[j] 59\n"
			     "node;start;;f_[i] 1\n"
			     "[lost: ring full] 25\n";

/* The columns of unit, thread and binary, which stacks do not tell. */
#define NOWHERE "                                                   "

static struct top_answer answer_of(const char *text)
{
	struct top_answer answer = {
		.machine = { .cpus = 4,
			.rate_hz = 10,
			.cost_ratio = 0.0005,
			.memory_bytes = 32 << 20 },
		.span_ns = 10ULL * NSEC_PER_SEC,
		.covered_ns = 10ULL * NSEC_PER_SEC,
		.period_ns = NSEC_PER_SEC / 10,
		.received_ns = 1763608320ULL * NSEC_PER_SEC,
	};

	assert_int_equal(top_profile_new(text, strlen(text), &answer.profile), 0);
	return answer;
}

static void the_machine_fits_a_line(void **state)
{
	struct top_answer answer = answer_of(stacks);
	char line[TOP_TEXT_BYTES];

	assert_string_equal(top_text_machine(&answer, line),
		"CPU 25.0% of 4, 100 samples at 10 Hz, 25 lost (20.00%); costs 0.05%, 32.0 MiB");
	/* The windows are whole: more than was asked for, and of another rate than that of now. */
	answer.covered_ns *= 2;
	answer.machine.rate_hz = 7;
	assert_string_equal(top_text_machine(&answer, line),
		"CPU 12.5% of 4, 100 samples at 7 Hz, 25 lost (20.00%); costs 0.05%, 32.0 MiB");
	answer.machine = (struct top_machine){ 0 };
	assert_string_equal(top_text_machine(&answer, line), "100 samples, 25 lost (20.00%)");
	/* Absurd values do no harm. */
	answer.machine = (struct top_machine){
		.cpus = 1e300, .rate_hz = 1e300, .memory_bytes = 1e300, .cost_ratio = -1e300
	};
	answer.profile->cut = answer.profile->damaged = UINT64_MAX / 2;
	assert_true(strlen(top_text_machine(&answer, line)) < TOP_TEXT_BYTES);
	top_profile_free(answer.profile);
}

/* 100 samples of 100 ms in 10 s: one thread for all that time. */
static void other_events_are_times(void **state)
{
	struct top_answer answer = answer_of(stacks);
	const struct top_row row = { .total = 50, .self = 20 };
	char line[TOP_TEXT_BYTES], columns[TOP_TEXT_COLUMNS_BYTES];

	answer.event = "offcpu";
	assert_string_equal(top_text_machine(&answer, line),
		"time off CPU: 1.00 s a second, 100 samples, 25 lost (20.00%); costs 0.05%, "
		"32.0 MiB");
	assert_string_equal(
		top_text_head(&answer, TOP_PROCESSES, true, columns), "SHARE%   TIME% ");
	assert_string_equal(
		top_text_head(&answer, TOP_TREE, false, columns), "TOTAL%   SELF%   SECONDS ");
	assert_string_equal(top_text_columns(&answer, &row, TOP_TREE, false, columns),
		"  50.0    20.0      5.00 ");
	answer.event = "cycles";
	assert_string_equal(
		top_text_head(&answer, TOP_PROCESSES, true, columns), "SHARE%    CPU% ");
	assert_string_equal(top_text_head(NULL, TOP_PROCESSES, true, columns), "SHARE%    CPU% ");
	answer.event = "cpu";
	assert_int_equal(strncmp(top_text_machine(&answer, line), "CPU 25.0% of 4, ", 16), 0);
	answer.event = "runqueue";
	answer.period_ns = 0;
	assert_int_equal(strncmp(top_text_machine(&answer, line),
				 "time waiting for a CPU: 100 samples, ", 37),
		0);
	top_profile_free(answer.profile);
}

static void of_events_it_shows_their_rate(void **state)
{
	struct top_answer answer = answer_of(stacks);
	const struct top_row row = { .total = 50 };
	char line[TOP_TEXT_BYTES], columns[TOP_TEXT_COLUMNS_BYTES];

	answer.event = "faults";
	answer.period_ns = 7;
	answer.covered_ns = 10ULL * NSEC_PER_SEC;
	assert_string_equal(top_text_machine(&answer, line),
		"page faults: 70 a second, 100 samples, 25 lost (20.00%); costs 0.05%, 32.0 MiB");
	assert_string_equal(
		top_text_head(&answer, TOP_PROCESSES, true, columns), "SHARE%      /S ");
	assert_string_equal(
		top_text_columns(&answer, &row, TOP_PROCESSES, true, columns), "  50.0    35.0 ");
	answer.event = "cache-misses";
	assert_int_equal(
		strncmp(top_text_machine(&answer, line), "cache-misses: 70 a second, ", 27), 0);
	answer.covered_ns = 0;
	assert_string_equal(
		top_text_columns(&answer, &row, TOP_PROCESSES, true, columns), "  50.0       - ");
	top_profile_free(answer.profile);
}

/* They are there at the end; in twice the time there are not twice as many. */
static void of_what_lives_it_shows_the_amount(void **state)
{
	struct top_answer answer = answer_of(stacks);
	const struct top_row row = { .total = 50 };
	char line[TOP_TEXT_BYTES], columns[TOP_TEXT_COLUMNS_BYTES];

	answer.event = "kmem:live";
	answer.period_ns = 1 << 20;
	assert_non_null(strstr(top_text_machine(&answer, line), "not freed: 100.0 MiB, 100 samp"));
	assert_string_equal(
		top_text_head(&answer, TOP_PROCESSES, false, columns), "SHARE%     MIB       MIB ");
	assert_string_equal(top_text_columns(&answer, &row, TOP_PROCESSES, false, columns),
		"  50.0    50.0     50.00 ");
	answer.event = "kmem:alloc";
	assert_non_null(strstr(top_text_machine(&answer, line), "allocated: 10.0 MiB a second, "));
	top_profile_free(answer.profile);
}

static void the_title_has_the_time(void **state)
{
	struct top_answer answer = { .span_ns = 60ULL * NSEC_PER_SEC,
		.received_ns = 1763608320ULL * NSEC_PER_SEC };
	char line[TOP_TEXT_BYTES];

	assert_int_equal(setenv("TZ", "UTC", 1), 0);
	(void)top_text_title(&answer, line);
	assert_int_equal(strncmp(line, "pilotlight top  ", 16), 0);
	assert_non_null(strstr(line, "  03:12:00  last 1min"));
}

static void columns_are_as_wide_as_their_head(void **state)
{
	struct top_answer answer = answer_of(stacks);
	const struct top_row row = { .total = 40, .self = 30, .name = 1 };
	const struct top_row huge = { .total = UINT64_MAX, .self = UINT64_MAX, .name = 1 };
	char head[TOP_TEXT_COLUMNS_BYTES], columns[TOP_TEXT_COLUMNS_BYTES];

	for (enum top_mode mode = TOP_FUNCTIONS; mode < TOP_MODE_COUNT; mode++)
		for (int is_narrow = 0; is_narrow < 2; is_narrow++)
			assert_int_equal(strlen(top_text_head(&answer, mode, is_narrow, head)),
				strlen(top_text_columns(&answer, &row, mode, is_narrow, columns)));
	assert_true(strlen(top_text_columns(&answer, &huge, TOP_TREE, false, columns)) <
		    TOP_TEXT_COLUMNS_BYTES);
	/* 40 samples are 40 of 100 that one CPU gives. */
	assert_string_equal(
		top_text_columns(&answer, &row, TOP_PROCESSES, true, columns), "  40.0    40.0 ");
	answer.covered_ns *= 4;
	assert_string_equal(
		top_text_columns(&answer, &row, TOP_PROCESSES, true, columns), "  40.0    10.0 ");
	answer.period_ns = 0;
	assert_string_equal(
		top_text_columns(&answer, &row, TOP_PROCESSES, true, columns), "  40.0       - ");
	assert_string_equal(top_text_columns(&answer, &row, TOP_TREE, false, columns),
		"  40.0    30.0        40 ");
	top_profile_free(answer.profile);
}

static void a_table_has_the_functions(void **state)
{
	struct top_answer answer = answer_of(stacks);
	struct output_memory memory = { .limit_bytes = 1 << 16 };
	struct output *output = malloc(sizeof(*output));
	const char *table;

	assert_non_null(output);
	output_init(output, output_to_memory, &memory);
	assert_int_equal(top_text_write(&answer, output), 0);
	output_char(output, '\0');
	assert_int_equal(output_finish(output), 0);
	table = strstr(memory.bytes, "\n\n");
	assert_non_null(table);
	assert_string_equal(table,
		"\n\n"
		" SELF%  TOTAL%   SAMPLES KIND    UNIT               THREAD          "
		"BINARY          FUNCTION\n"
		"  59.0    59.0        59 jit     " NOWHERE "\xef\xbf\xbd\xef\xbf\xbd\n"
		"  30.0    30.0        30         " NOWHERE "serve\n"
		"  10.0    10.0        10 kernel  " NOWHERE "read\n"
		"   1.0     1.0         1 inlined " NOWHERE "f\n");
	free(memory.bytes);
	free(output);
	top_profile_free(answer.profile);
}

static void a_function_is_somewhere(void **state)
{
	static const char table[] =
		"S\t1\t0\nF\t1\t1\ta-unit-with-a-long-name.service\tgr\xc3\xbcn\tlibc.so.6\tf\n";
	struct top_profile *profile = NULL;
	char columns[TOP_TEXT_ORIGIN_BYTES];

	assert_int_equal(top_profile_read_table(table, strlen(table), &profile), 0);
	assert_string_equal(top_text_origin(profile, &profile->functions[0], columns),
		"a-unit-with-a-long gr\xc3\xbcn            libc.so.6       ");
	assert_int_equal(strlen(top_text_origin(profile, NULL, columns)), strlen(NOWHERE));
	top_profile_free(profile);
}

static void failing_allocations_are_reported(void **state)
{
	struct top_answer answer = answer_of(stacks);
	struct output_memory memory = { .limit_bytes = 1 << 16 };
	struct output *output = malloc(sizeof(*output));

	assert_non_null(output);
	output_init(output, output_to_memory, &memory);
	fail_allocation(0);
	assert_int_equal(top_text_write(&answer, output), -ENOMEM);
	assert_true(allocation_failed());
	free(memory.bytes);
	free(output);
	top_profile_free(answer.profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_machine_fits_a_line),
		cmocka_unit_test(other_events_are_times),
		cmocka_unit_test(of_events_it_shows_their_rate),
		cmocka_unit_test(of_what_lives_it_shows_the_amount),
		cmocka_unit_test(the_title_has_the_time),
		cmocka_unit_test(columns_are_as_wide_as_their_head),
		cmocka_unit_test(a_table_has_the_functions),
		cmocka_unit_test(a_function_is_somewhere),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
