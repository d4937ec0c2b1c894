/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/difference_table.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_difference.h"
#include "tests/render/rendered.h"

static const char *const names[DIFFERENCE_SIDE_COUNT] = { "base", "compared" };

static int64_t increase; /* of the last table */

static char *tabulate_as(const struct profile *base, const struct profile *compared,
	enum difference_whole whole, const char *const wanted_names[DIFFERENCE_SIDE_COUNT],
	enum frame_detail detail)
{
	static struct rendering rendering;
	struct profile_difference difference = example_difference(base, compared, whole);

	assert_int_equal(difference_table_write(&difference, wanted_names, detail, 0,
				 rendering_begin(&rendering), &increase),
		0);
	return rendering_end(&rendering);
}

static char *tabulate(const struct profile *base, const struct profile *compared)
{
	return tabulate_as(base, compared, DIFFERENCE_BY_TOTAL, names, FRAME_BY_FUNCTION);
}

static size_t count_rows(const char *text)
{
	size_t count = 0;

	for (const char *end; (end = strchr(text, '\n')); text = end + 1)
		count += *text != '#';
	return count;
}

static const char *first_row(const char *text)
{
	while (*text == '#')
		text = strchr(text, '\n') + 1;
	return text;
}

static void upgrade_is_golden_in_any_order(void **state)
{
	static const char *const before_after[] = { "before", "after" };

	for (int backwards = 0; backwards < 2; backwards++) {
		_cleanup_(profile_freep) struct profile *base = example_machine(backwards);
		_cleanup_(profile_freep) struct profile *compared = example_upgraded(!backwards);
		_cleanup_free_ char *text = tabulate_as(
			base, compared, DIFFERENCE_BY_TIME, before_after, FRAME_BY_FUNCTION);

		assert_golden(text, "tests/data/render/upgrade.txt");
	}
}

static void other_sources_than_cpu_time_give_times(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *compared = example_machine(false);
	_cleanup_free_ char *text = NULL;

	base->event = example_string(base, "runqueue");
	compared->event = example_string(compared, "runqueue");
	base->period_ns = 1000000;
	compared->period_ns = 10000;
	example_lose(base, PILOTLIGHT_DROP_RING_FULL, 1985);
	text = tabulate(base, compared);
	assert_non_null(strstr(text, "#   amount   "));
	assert_non_null(strstr(text, " stored, 2.000 s lost\n"));
	assert_non_null(strstr(text, " ms stored, 0.150 ms lost\n"));
	assert_null(strstr(text, "#   samples "));
}

static void the_greatest_change_of_self_is_first(void **state)
{
	static const char row[] = "     0.00    20.00    +20.00     0.00    20.00    +20.00"
				  "  executable  leaf      /usr/bin/c\n";
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(base, "c|1000|x:main|l:one");
	example_add(compared, "c|200|x:leaf");
	example_add(compared, "c|300|x:main|l:one");
	example_add(compared, "c|500|x:main_2|l:one");
	text = tabulate(base, compared);
	assert_memory_equal(first_row(text), row, strlen(row));
}

/* Of as many samples, some are in a build at another place. */
static void binaries_are_known_by_their_base_names(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_free_ char *text = NULL;
	uint32_t libc;

	example_add(base, "c|10|l:read");
	example_add(base, "c|10|x:main");
	example_add(compared, "c|4|l:read");
	example_add(compared, "c|6|m:read");
	libc = compared->locations.items[1].binary;
	compared->binaries.items[libc].path = example_string(compared, "/nix/store/libc.so.6");
	text = tabulate(base, compared);
	assert_int_equal(count_rows(text), 2);
	assert_non_null(strstr(text, "   50.00   100.00    +50.00    50.00   100.00    +50.00"
				     "  library     read      /nix/store/libc.so.6\n"));
	compared->binaries.items[libc].path = example_string(compared, "/usr/lib/libother.so");
	free(TAKE_PTR(text));
	text = tabulate(base, compared);
	assert_int_equal(count_rows(text), 3);
	assert_non_null(strstr(text, "    0.00    60.00    +60.00     0.00    60.00    +60.00"
				     "  library     read      /usr/lib/libother.so\n"));
}

static char *tabulate_rows(
	const struct profile *base, const struct profile *compared, size_t rows_max)
{
	static struct rendering rendering;
	struct profile_difference difference =
		example_difference(base, compared, DIFFERENCE_BY_TOTAL);

	assert_int_equal(difference_table_write(&difference, names, FRAME_BY_FUNCTION, rows_max,
				 rendering_begin(&rendering), &increase),
		0);
	return rendering_end(&rendering);
}

/* The table begins with it, and knows how much the greatest increase is. */
static void a_sentence_tells_what_changed(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_free_ char *text = NULL, *few = NULL, *same = NULL;

	example_add(base, "c|6000|x:main|x:loop");
	example_add(base, "c|2000|x:main|x:index_orders");
	example_add(base, "c|1000|x:main|x:fib");
	example_add(base, "c|500|x:main|x:gone");
	example_add(base, "c|500|x:main|x:chance");
	example_add(compared, "c|6000|x:main|x:loop");
	example_add(compared, "c|1350|x:main|x:index_orders");
	example_add(compared, "c|2000|x:main|x:fib");
	example_add(compared, "c|120|x:main|x:fresh");
	example_add(compared, "c|530|x:main|x:chance");
	text = tabulate(base, compared);
	assert_memory_equal(
		text, "# fib +10.00 points, index_orders -6.50, gone -5.00, and 1 more\n", 64);
	assert_int_equal(increase, DIFFERENCE_SHARE_ONE / 10);
	assert_int_equal(count_rows(text), 5);
	assert_non_null(strstr(strstr(text, "\n# within the error of sampling:\n"), "  chance "));
	few = tabulate_rows(base, compared, 2);
	assert_int_equal(count_rows(few), 2);
	assert_non_null(strstr(few, "  index_orders "));
	assert_non_null(strstr(few, "\n# 5 more functions\n"));
	same = tabulate_rows(base, base, 30);
	assert_int_equal(increase, 0);
	assert_int_equal(count_rows(same), 0);
	assert_memory_equal(same, "# no function's own share changed by more than", 40);
}

static void small_changes_are_counted_not_listed(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(base, "c|100000|x:large#/src/a.c:1");
	example_add(compared, "c|99985|x:large#/src/a.c:1");
	example_add(compared, "c|9|x:small");
	example_add(compared, "c|6|x:smaller");
	text = tabulate_as(base, compared, DIFFERENCE_BY_TOTAL, names, FRAME_BY_LINE);
	assert_int_equal(count_rows(text), 1);
	assert_non_null(strstr(text, "large (a.c:1)"));
	assert_non_null(strstr(text, "# 2 more lines\n"));
}

static void an_empty_table_is_a_header(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_free_ char *text = tabulate(base, base);

	assert_int_equal(count_rows(text), 0);
	assert_non_null(strstr(text, "# base: samples\n#   samples  0 stored, 0 lost\n"));
	assert_non_null(strstr(text, "# compared: samples\n"));
}

static void hostile_names_keep_their_lines(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_hostile();
	static const char *const hostile[] = { "a\nb", "\x1b[31m" };
	_cleanup_free_ char *text =
		tabulate_as(base, compared, DIFFERENCE_BY_TOTAL, hostile, FRAME_BY_FUNCTION);

	assert_int_equal(count_rows(text), 10);
	assert_null(strchr(text, '\x1b'));
	assert_non_null(strstr(text, "# a\xef\xbf\xbd"
				     "b: samples\n"));
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *compared = example_upgraded(false);
	struct profile_difference difference =
		example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	static struct output output;

	assert_true(FAIL_EACH_ALLOCATION((output_init(&output, discard, NULL),
						 difference_table_write(&difference, names,
							 FRAME_BY_FUNCTION, 0, &output, &increase)),
			    -ENOMEM, true, 0) >= 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(upgrade_is_golden_in_any_order),
		cmocka_unit_test(other_sources_than_cpu_time_give_times),
		cmocka_unit_test(the_greatest_change_of_self_is_first),
		cmocka_unit_test(binaries_are_known_by_their_base_names),
		cmocka_unit_test(a_sentence_tells_what_changed),
		cmocka_unit_test(small_changes_are_counted_not_listed),
		cmocka_unit_test(an_empty_table_is_a_header),
		cmocka_unit_test(hostile_names_keep_their_lines),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
