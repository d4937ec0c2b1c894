/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/table.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"
#include "tests/render/rendered.h"

static char *tabulate(const struct profile *profile, enum frame_detail detail)
{
	static struct rendering rendering;

	assert_int_equal(table_write(profile, detail, 0, rendering_begin(&rendering)), 0);
	return rendering_end(&rendering);
}

static size_t count_lines(const char *text, bool headers)
{
	size_t count = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1)
		count += (*text == '#') == headers;
	return count;
}

static void machine_is_golden_in_any_order(void **state)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		_cleanup_(profile_freep) struct profile *profile = example_machine(backwards);
		_cleanup_free_ char *text = tabulate(profile, FRAME_BY_FUNCTION);

		assert_golden(text, "tests/data/render/machine.txt");
	}
}

static void small_functions_are_counted_not_listed(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|1000000|x:large");
	example_add(profile, "c|99|x:small");
	example_add(profile, "c|101|x:just");
	text = tabulate(profile, FRAME_BY_FUNCTION);
	assert_int_equal(count_lines(text, false), 2);
	assert_non_null(strstr(text, "just"));
	assert_null(strstr(text, "small"));
	assert_non_null(strstr(text, "# 1 more functions\n"));
}

static void lines_are_rows_if_asked(void **state)
{
	static const char *const stacks[] = {
		"c|5|x:main#/src/main.c:7|l:work#/src/w.c:20",
		"c|3|x:main#/src/main.c:7|l:work#/src/w.c:21",
		"c|2|x:main#/src/main.c:9|l:work#/src/w.c:21",
	};
	_cleanup_(profile_freep) struct profile *profile = example_of(stacks, 3, false);
	_cleanup_free_ char *text = tabulate(profile, FRAME_BY_LINE);

	assert_int_equal(count_lines(text, false), 4);
	assert_non_null(
		strstr(text, "  50.00         5    50.00         5  library     work (w.c:20)"));
	assert_non_null(
		strstr(text, "  50.00         5    50.00         5  library     work (w.c:21)"));
	assert_non_null(
		strstr(text, "   0.00         0    80.00         8  executable  main (main.c:7)"));
	assert_null(strstr(text, " more lines\n"));
}

static void other_sources_than_cpu_time_give_seconds(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|1500|x:main|l:read");
	example_add(profile, "c|500|x:main");
	profile->event = example_string(profile, "offcpu");
	profile->period_ns = 1000000;
	text = tabulate(profile, FRAME_BY_FUNCTION);
	assert_non_null(strstr(text, "# event    offcpu (time off CPU) in samples of 1 ms\n"));
	assert_non_null(strstr(text, "# amount   2.000 s stored\n"));
	assert_non_null(strstr(text, "#self %    self s  total %   total s"));
	assert_non_null(strstr(text, "  75.00     1.500    75.00     1.500  library     read"));
	assert_non_null(strstr(text, "  25.00     0.500   100.00     2.000  executable  main"));
}

static void small_amounts_have_a_smaller_unit(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *time = NULL, *bytes = NULL;

	example_add(profile, "c|600|x:main|l:read");
	example_add(profile, "c|399|x:main");
	profile->event = example_string(profile, "block");
	profile->period_ns = 1000000;
	time = tabulate(profile, FRAME_BY_FUNCTION);
	assert_non_null(strstr(time, "#self %   self ms  total %  total ms"));
	assert_non_null(strstr(time, "  39.94   399.000   100.00   999.000  executable  main"));
	profile->event = example_string(profile, "kmem:live");
	profile->period_ns = 1024;
	bytes = tabulate(profile, FRAME_BY_FUNCTION);
	assert_non_null(strstr(bytes, "#self %  self KiB  total % total KiB"));
	assert_non_null(strstr(bytes, "  39.94   399.000   100.00   999.000  executable  main"));
}

static void of_events_it_has_their_number(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|1500|x:main|l:read");
	example_add(profile, "c|500|x:main");
	profile->event = example_string(profile, "faults");
	profile->period_ns = 7;
	text = tabulate(profile, FRAME_BY_FUNCTION);
	assert_non_null(strstr(text, "# event    faults (page faults) in samples of 7 faults\n"));
	assert_non_null(strstr(text, "# amount   14,000 faults stored\n"));
	assert_non_null(strstr(text, "#self %      self  total %     total"));
	assert_non_null(strstr(text, "  75.00     10500    75.00     10500  library     read"));
	assert_non_null(strstr(text, "  25.00      3500   100.00     14000  executable  main"));
}

static void an_empty_table_is_a_header(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = tabulate(profile, FRAME_BY_FUNCTION);

	assert_int_equal(count_lines(text, false), 0);
	assert_non_null(strstr(text, "0 fired = 0 stored + 0 idle + 0 filtered + 0 lost"));
	assert_non_null(strstr(text, "# lost     nothing\n"));
}

static void hostile_names_keep_their_lines(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_hostile();
	_cleanup_free_ char *text = tabulate(profile, FRAME_BY_FUNCTION);

	assert_int_equal(count_lines(text, false), 10);
	assert_non_null(strstr(text, "# 1 samples have no stack\n"));
}

/* No column is wider than the rows that are there need. */
static void rows_have_a_limit(void **state)
{
	static struct rendering rendering;
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	_cleanup_free_ char *text = NULL;

	assert_int_equal(
		table_write(profile, FRAME_BY_FUNCTION, 2, rendering_begin(&rendering)), 0);
	text = rendering_end(&rendering);
	assert_non_null(strstr(text, "  function          binary\n  31.22 "));
	assert_non_null(strstr(text, "  lzma_mf_bt4_find  /usr/bin/xz\n# "));
	assert_non_null(strstr(text, " more functions\n"));
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	static struct output output;

	assert_true(
		FAIL_EACH_ALLOCATION((output_init(&output, discard, NULL),
					     table_write(profile, FRAME_BY_FUNCTION, 0, &output)),
			-ENOMEM, true, 0) >= 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine_is_golden_in_any_order),
		cmocka_unit_test(small_functions_are_counted_not_listed),
		cmocka_unit_test(lines_are_rows_if_asked),
		cmocka_unit_test(other_sources_than_cpu_time_give_seconds),
		cmocka_unit_test(small_amounts_have_a_smaller_unit),
		cmocka_unit_test(of_events_it_has_their_number),
		cmocka_unit_test(an_empty_table_is_a_header),
		cmocka_unit_test(hostile_names_keep_their_lines),
		cmocka_unit_test(rows_have_a_limit),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
