/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/difference_svg.h"

#include "render/flamegraph_assets.h"
#include "tests/harness/failing_allocation.h"
#include "tests/render/example_difference.h"
#include "tests/render/rendered.h"

static const char *const names[DIFFERENCE_SIDE_COUNT] = { "base", "compared" };

static char *draw_named(const struct profile *base, const struct profile *compared,
	enum difference_whole whole, const char *const wanted_names[DIFFERENCE_SIDE_COUNT])
{
	static struct rendering rendering;
	struct profile_difference difference = example_difference(base, compared, whole);

	assert_int_equal(difference_svg_write(&difference, wanted_names, FRAME_BY_FUNCTION,
				 rendering_begin(&rendering)),
		0);
	return rendering_end(&rendering);
}

static char *draw(
	const struct profile *base, const struct profile *compared, enum difference_whole whole)
{
	return draw_named(base, compared, whole, names);
}

/* Puts `placeholder` in the place of an asset, which must be in the text as it is in its file. */
static void cut_out(char *text, const char *asset, const char *placeholder)
{
	char *found = strstr(text, asset);

	assert_non_null(found);
	memmove(found + strlen(placeholder), found + strlen(asset),
		strlen(found + strlen(asset)) + 1);
	memcpy(found, placeholder, strlen(placeholder));
}

static size_t count_of(const char *text, const char *what)
{
	size_t count = 0;

	for (; (text = strstr(text, what)); text += strlen(what))
		count++;
	return count;
}

static void upgrade_is_golden_in_any_order(void **state)
{
	static const char *const before_after[] = { "before", "after" };

	for (int backwards = 0; backwards < 2; backwards++) {
		_cleanup_(profile_freep) struct profile *base = example_machine(backwards);
		_cleanup_(profile_freep) struct profile *compared = example_upgraded(!backwards);
		_cleanup_free_ char *text =
			draw_named(base, compared, DIFFERENCE_BY_TOTAL, before_after);

		cut_out(text, flamegraph_css, "@style@\n");
		cut_out(text, flamegraph_js, "@script@\n");
		assert_golden(text, "tests/data/render/upgrade.svg");
	}
}

static void frames_tell_both_sides(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(base, "c|30|x:main|x:less");
	example_add(base, "c|10|x:main");
	example_add(base, "c|60|x:main|x:same|x:gone");
	example_add(compared, "c|200|x:main@2|x:less");
	example_add(compared, "c|700|x:main@2|x:more^inner");
	example_add(compared, "c|600|x:main@2|x:same");
	example_add(compared, "c|500|x:main@2");
	text = draw(base, compared, DIFFERENCE_BY_TOTAL);
	assert_non_null(strstr(text, " data-o=\"30\" data-q=\"30\" data-c=\"200\" data-d=\"200\">"
				     "<title>less\n"
				     "total 30.00 % \xe2\x86\x92 10.00 %, -20.00 points (-66.7 %)\n"
				     "self 30.00 % \xe2\x86\x92 10.00 %, -20.00 points (-66.7 %)\n"
				     "30 \xe2\x86\x92 200 samples</title></rect>"));
	assert_non_null(strstr(text, "<title>more\n"
				     "total 0.00 % \xe2\x86\x92 35.00 %, +35.00 points (new)\n"
				     "self 0.00 % \xe2\x86\x92 0.00 %, 0.00 points (none)\n"));
	assert_non_null(strstr(text, "data-i=\"1\"><title>inner\ninlined\ntotal "));
	assert_non_null(strstr(text, "<title>same\n"
				     "total 60.00 % \xe2\x86\x92 30.00 %, -30.00 points (-50.0 %)\n"
				     "self 0.00 % \xe2\x86\x92 30.00 %, +30.00 points (new)\n"));
	assert_non_null(strstr(text, ">- less</text>"));
	assert_non_null(strstr(text, ">+ more</text>"));
	assert_non_null(strstr(text, ">main</text>"));
	assert_int_equal(count_of(text, "<rect class=\"p4\""), 3); /* two frames and the legend */
	assert_int_equal(count_of(text, "<rect class=\"m4\""), 3);
	assert_non_null(strstr(text, "<title>gone\n"
				     "total 60.00 % \xe2\x86\x92 0.00 %, -60.00 points (gone)\n"
				     "self 60.00 % \xe2\x86\x92 0.00 %, -60.00 points (gone)\n"
				     "60 \xe2\x86\x92 0 samples</title></rect>"));
}

/* The same work in half the CPU time: its share of the time is half, that of all work is not. */
static void times_scale_the_other_profile(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_free_ char *by_time = NULL, *by_total = NULL;

	example_add(base, "c|100|x:main");
	example_add(compared, "c|50|x:main");
	base->start_ns = compared->start_ns = 1000000000;
	base->end_ns = compared->end_ns = 3000000000;
	base->period_ns = compared->period_ns = 10000000;
	base->cpu_count = compared->cpu_count = 1;
	by_time = draw(base, compared, DIFFERENCE_BY_TIME);
	by_total = draw(base, compared, DIFFERENCE_BY_TOTAL);
	assert_non_null(strstr(by_time, "<title>main\ntotal 50.00 % \xe2\x86\x92 25.00 %, "
					"-25.00 points (-50.0 %)"));
	assert_non_null(strstr(by_time, "Shares are of the time of all CPUs."));
	assert_non_null(strstr(by_time, "\"wholes\":[200.000000,200.000000]}"));
	assert_non_null(strstr(by_total, "<title>main\ntotal 100.00 % \xe2\x86\x92 100.00 %, "
					 "0.00 points (0.0 %)"));
}

/* The script gets both periods: they may differ. */
static void other_sources_than_cpu_time_give_times(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(base, "c|100|x:main");
	example_add(compared, "c|50|x:main");
	base->event = example_string(base, "offcpu");
	compared->event = example_string(compared, "offcpu");
	base->start_ns = compared->start_ns = 1000000000;
	base->end_ns = compared->end_ns = 3000000000;
	base->period_ns = 10000000;
	compared->period_ns = 1000000;
	text = draw(base, compared, DIFFERENCE_BY_TIME);
	assert_non_null(strstr(text, "\n1.000 s \xe2\x86\x92 50.000 ms</title>"));
	assert_non_null(strstr(text, "base: 1.000 s, "));
	assert_non_null(strstr(text, "Shares are of the time recorded, of one thread."));
	assert_non_null(strstr(text, "\"periods\":[10000000,1000000]}"));
}

/* What may be chance has no colour and no mark. */
static void changes_within_the_error_have_no_colour(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(base, "c|500|x:main");
	example_add(base, "c|500|x:other");
	example_add(compared, "c|530|x:main");
	example_add(compared, "c|470|x:other");
	text = draw(base, compared, DIFFERENCE_BY_TOTAL);
	assert_int_equal(count_of(text, "<rect class=\"n0\""), 5); /* with the legend's */
	assert_non_null(strstr(text, ">main</text>"));
	assert_non_null(strstr(text, "+3.00 points (+6.0 %)"));
}

/* A change of next to nothing is the greatest there is, and yet has no strong colour. */
static void small_changes_stay_pale(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_empty();
	_cleanup_(profile_freep) struct profile *compared = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(base, "c|5000000|x:main");
	example_add(base, "c|5000000|x:other");
	example_add(compared, "c|5010000|x:main");
	example_add(compared, "c|4990000|x:other");
	text = draw(base, compared, DIFFERENCE_BY_TOTAL);
	assert_int_equal(count_of(text, "<rect class=\"p4\""), 1); /* in the legend */
	assert_int_equal(count_of(text, "<rect class=\"p2\""), 2);
	assert_int_equal(count_of(text, "<rect class=\"m2\""), 2);
}

static void hostile_names_are_escaped(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_hostile();
	_cleanup_(profile_freep) struct profile *compared = example_hostile();
	static const char *const hostile[] = { "<base>\"\\", "]]></metadata>\xff" };
	_cleanup_free_ char *text = NULL;

	/* Their event is one that a user has named, and is counted. */
	base->period_ns = compared->period_ns = 1;
	example_lose(base, PILOTLIGHT_DROP_RING_FULL, 1);
	text = draw_named(base, compared, DIFFERENCE_BY_TOTAL, hostile);
	assert_int_equal(count_of(text, "<script>"), 1);
	assert_int_equal(count_of(text, "]]>"), 1);
	assert_int_equal(count_of(text, "</metadata>"), 4);
	assert_non_null(strstr(text, "&lt;base&gt;&quot;\\: 117 events"));
	assert_non_null(strstr(text, "]]&gt;&lt;/metadata&gt;\xef\xbf\xbd"));
}

static void an_empty_profile_is_drawn(void **state)
{
	_cleanup_(profile_freep) struct profile *empty = example_empty();
	_cleanup_(profile_freep) struct profile *machine = example_machine(false);
	_cleanup_free_ char *nothing = NULL, *vanished = NULL, *appeared = NULL;

	nothing = draw(empty, empty, DIFFERENCE_BY_TOTAL);
	vanished = draw(machine, empty, DIFFERENCE_BY_TOTAL);
	appeared = draw(empty, machine, DIFFERENCE_BY_TOTAL);
	assert_non_null(strstr(nothing, "<title>all\ntotal 0.00 % \xe2\x86\x92 0.00 %"));
	assert_non_null(strstr(nothing, ">Differential flame graph</title>"));
	assert_int_equal(count_of(nothing, "data-n="), 1);
	assert_non_null(strstr(vanished, "<title>xz\ntotal 61.11 % \xe2\x86\x92 0.00 %, "
					 "-61.11 points (gone)"));
	assert_non_null(strstr(appeared, "<title>xz\ntotal 0.00 % \xe2\x86\x92 61.11 %, "
					 "+61.11 points (new)"));
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	_cleanup_(profile_freep) struct profile *compared = example_upgraded(false);
	struct profile_difference difference =
		example_difference(base, compared, DIFFERENCE_BY_TOTAL);
	static struct output output;

	assert_true(FAIL_EACH_ALLOCATION((output_init(&output, discard, NULL),
						 difference_svg_write(&difference, names,
							 FRAME_BY_FUNCTION, &output)),
			    -ENOMEM, true, 0) >= 30);
}

static void output_errors_stick(void **state)
{
	_cleanup_(profile_freep) struct profile *base = example_machine(false);
	struct profile_difference difference = example_difference(base, base, DIFFERENCE_BY_TOTAL);
	static struct output output;

	output_init(&output, no_space, NULL);
	assert_int_equal(difference_svg_write(&difference, names, FRAME_BY_FUNCTION, &output), 0);
	assert_int_equal(output_finish(&output), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(upgrade_is_golden_in_any_order),
		cmocka_unit_test(frames_tell_both_sides),
		cmocka_unit_test(times_scale_the_other_profile),
		cmocka_unit_test(other_sources_than_cpu_time_give_times),
		cmocka_unit_test(changes_within_the_error_have_no_colour),
		cmocka_unit_test(small_changes_stay_pale),
		cmocka_unit_test(hostile_names_are_escaped),
		cmocka_unit_test(an_empty_profile_is_drawn),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(output_errors_stick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
