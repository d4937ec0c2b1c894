/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/flamegraph_svg.h"

#include "render/flamegraph_assets.h"
#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"
#include "tests/render/rendered.h"

#include <sys/wait.h>

static char *draw_as(const struct profile *profile, const char *title, enum frame_detail detail)
{
	static struct rendering rendering;

	assert_int_equal(
		flamegraph_svg_write(profile, title, detail, rendering_begin(&rendering)), 0);
	return rendering_end(&rendering);
}

static char *draw(const struct profile *profile)
{
	return draw_as(profile, NULL, FRAME_BY_FUNCTION);
}

/* Puts `placeholder` in the place of an asset, which must be in the text as it is in its file. */
static void cut_out(char *text, const char *asset, const char *asset_end, const char *placeholder)
{
	char *found = strstr(text, asset);

	assert_non_null(found);
	assert_int_equal(strlen(asset), asset_end - asset);
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

static void machine_is_golden_in_any_order(void **state)
{
	for (int backwards = 0; backwards < 2; backwards++) {
		_cleanup_(profile_freep) struct profile *profile = example_machine(backwards);
		_cleanup_free_ char *text = draw_as(profile, "A busy machine", FRAME_BY_FUNCTION);

		cut_out(text, flamegraph_css, flamegraph_css_end, "@style@\n");
		cut_out(text, flamegraph_js, flamegraph_js_end, "@script@\n");
		assert_golden(text, "tests/data/render/machine.svg");
	}
}

/* The browser's test of it: svg_in_browser.sh. */
static void narrow_frames_are_golden(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_narrow();
	_cleanup_free_ char *text = draw_as(profile, "Narrow frames", FRAME_BY_FUNCTION);

	cut_out(text, flamegraph_css, flamegraph_css_end, "@style@\n");
	cut_out(text, flamegraph_js, flamegraph_js_end, "@script@\n");
	assert_golden(text, "tests/data/render/narrow.svg");
}

static void assets_cannot_end_early(void **state)
{
	assert_null(strstr(flamegraph_js, "]]>"));
	assert_null(strpbrk(flamegraph_css, "<&"));
	assert_true(flamegraph_js_end - flamegraph_js > 1000);
	assert_true(flamegraph_css_end - flamegraph_css > 1000);
}

/* Runs what there is of real parsers over the text; returns false if there is none. */
static bool parses_as_xml(const char *text)
{
	static const char command[] =
		"if command -v xmllint >/dev/null; then xmllint --huge --noout - >&2; "
		"elif command -v python3 >/dev/null; then "
		"python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.stdin.buffer)' "
		">&2; "
		"else cat >/dev/null; exit 99; fi";
	FILE *parser = popen(command, "w");
	int status;

	assert_non_null(parser);
	assert_int_equal(fwrite(text, 1, strlen(text), parser), strlen(text));
	status = pclose(parser);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == 99)
		return false;
	assert_int_equal(WEXITSTATUS(status), 0);
	return true;
}

static void is_well_formed(void **state)
{
	_cleanup_(profile_freep) struct profile *machine = example_machine(false);
	_cleanup_(profile_freep) struct profile *hostile = example_hostile();
	_cleanup_free_ char *first = NULL, *second = NULL;

	first = draw(machine);
	second = draw_as(hostile, "</title>\x01\xff]]><script>\"", FRAME_BY_FUNCTION);
	if (!parses_as_xml(first) || !parses_as_xml(second)) {
		print_message("skipped: neither xmllint nor python3 is there to parse XML\n");
		skip();
	}
}

static void hostile_names_are_escaped(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_hostile();
	_cleanup_free_ char *text = draw(profile);

	assert_int_equal(count_of(text, "<script>"), 1);
	assert_int_equal(count_of(text, "]]>"), 1);
	assert_null(strstr(text, "<rect/>"));
	assert_non_null(strstr(text, "&lt;/title&gt;&lt;script&gt;alert(1)"));
	assert_non_null(strstr(text, "&lt;&amp;event&gt;"));
	assert_non_null(strstr(text, "evil&quot; onload="));
	assert_non_null(strstr(text, "[\"&lt;/metadata&gt;\\\"\\\\;\xef\xbf\xbd\"]"));
}

static void frames_tell_their_line(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *merged = NULL, *apart = NULL;

	example_add(profile, "c|3|x:main#/src/m.c:5|l:f^g#/inc/g.h:8");
	example_add(profile, "c|1|x:main#/src/m.c:9|l:f^g#/inc/g.h:8");
	merged = draw(profile);
	apart = draw_as(profile, NULL, FRAME_BY_LINE);
	assert_non_null(strstr(merged, " data-l=\"0:5:2:3\"><title>main\n"
				       "hottest of 2 lines: m.c:5\n4 samples, 100.00 %"));
	assert_non_null(strstr(merged, "<title>f\n4 samples"));
	assert_non_null(strstr(merged, " data-l=\"1:8\"><title>g\ninlined, g.h:8\n4 samples"));
	assert_non_null(strstr(
		merged, "<metadata class=\"files\">[\"/src/m.c\",\n\"/inc/g.h\"]</metadata>"));
	assert_non_null(strstr(apart, " data-l=\"0:5\"><title>main (m.c:5)\nm.c:5\n3 samples"));
	assert_non_null(strstr(apart, " data-l=\"0:9\"><title>main (m.c:9)\nm.c:9\n1 sample,"));
}

static void inlined_frames_without_a_line_are_marked(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|3|x:main|l:outer^inner");
	text = draw(profile);
	assert_non_null(strstr(text, "<title>inner\ninlined\n3 samples"));
	assert_non_null(strstr(text, "<rect class=\"i"));
	assert_non_null(strstr(text, ">inlined</text>")); /* in the legend */
	assert_null(strstr(text, "data-l="));
	assert_non_null(strstr(text, "<metadata class=\"files\">[]</metadata>"));
}

/* The script takes these letters for frames left out, and for less and more than before. */
static void kinds_have_other_letters_than_differences(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|3|x:main|p:python|e:perl");
	text = draw(profile);
	assert_non_null(strstr(text, ">Python</text>"));
	assert_non_null(strstr(text, ">Perl</text>"));
	for (const char *letter = "emnp"; *letter; letter++) {
		const char start[] = { 'r', 'e', 'c', 't', ' ', 'c', 'l', 'a', 's', 's', '=', '"',
			*letter, '\0' };

		for (const char *at = text; (at = strstr(at, start)); at++)
			assert_false(at[sizeof(start) - 1] >= '0' && at[sizeof(start) - 1] <= '9');
	}
}

/* Frames and, of those that end in them, samples: all that there are (I1). */
static void samples_are_conserved(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	_cleanup_free_ char *text = draw(profile);
	uint64_t sum = 0;

	assert_null(strstr(text, "class=\"e0\""));
	for (const char *next = text; (next = strstr(next, "data-s=\"")); next++)
		sum += strtoull(next + strlen("data-s=\""), NULL, 10);
	assert_int_equal(
		sum, accounts_stored(&profile->accounts) + accounts_lost(&profile->accounts));
}

static void narrow_frames_are_data_for_the_script(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;
	char stack[64];

	example_add(profile, "c|100000|x:main|x:wide");
	for (int i = 0; i < 300; i++) {
		(void)snprintf(stack, sizeof(stack), "c|10|x:main|x:narrow_%d|x:above", i);
		example_add(profile, stack);
	}
	example_add(profile, "c|5|x:main|x:narrow_0#/src/n.c:7|x:above|l:leaf");
	text = draw(profile);
	assert_null(strstr(text, "<title>narrow_"));
	assert_non_null(
		strstr(text, "<title>300 frames too narrow to draw\n3,005 samples, 2.92 %"));
	assert_non_null(strstr(text, "300 frames, with 3,005 samples (2.92 %), too narrow"));
	assert_int_equal(count_of(text, "class=\"e1\""), 1); /* in the legend */
	/* The third rectangle is main's; "leaf" stands on "above". */
	assert_non_null(strstr(text, "<metadata class=\"narrow\">{\"looks\":["
				     "[\"frames left out of this file\",\"e0\",-1,\"\",0],\n"
				     "[\"narrow_0\",\"x"));
	assert_non_null(strstr(text, "\"frames\":[[2,1,1,0,2,2,10,3,3,5],\n[2,4,1,0,2,2,10],\n"));
	assert_non_null(strstr(text, "\"narrow_1\",\"x"));
	assert_int_equal(count_of(text, ",2,2,10]"), 299);
}

/* 24 of 30,000 samples that recurse deeply do not make the picture higher. */
static void rows_with_next_to_nothing_are_not_drawn(void **state)
{
	enum { DEPTH = 400 };
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;
	struct profile_sample sample = { .count = 24 };
	uint32_t location;

	example_add(profile, "c|29976|x:main|x:work|x:more");
	location = example_location(profile, "x:recurse", "c");
	for (int i = 0; i < DEPTH; i++)
		assert_int_equal(profile_add_node(profile, sample.node, location, &sample.node), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
	text = draw(profile);
	/* "all", "c", "main", "work" and "more", and the grey frame's row. */
	assert_non_null(strstr(text, " height=\"266\" viewBox="));
	assert_int_equal(count_of(text, "<title>recurse\n"), 3);
	assert_non_null(strstr(text, "<title>1 frame too narrow to draw\n24 samples, 0.08 %"));
}

/* What the file cannot hold is said, and grey. */
static void a_file_has_a_bound(void **state)
{
	enum { STACKS = 120000 };
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;
	struct profile_sample sample;
	uint32_t location, base;

	example_add(profile, "c|1000000|x:main");
	location = example_location(profile, "x:main", "c");
	assert_int_equal(profile_add_node(profile, PROFILE_ROOT, location, &base), 0);
	for (uint32_t i = 0; i < STACKS; i++) {
		sample = (struct profile_sample){ .count = 1 + i % 2, .node = base };
		assert_int_equal(profile_add_location(profile, example_binary_of(profile, 'x', "c"),
					 i, &location),
			0);
		assert_int_equal(profile_add_node(profile, sample.node, location, &sample.node), 0);
		assert_int_equal(profile_add_sample(profile, &sample), 0);
	}
	text = draw(profile);
	assert_in_range(strlen(text), 1 << 20, 4 << 20);
	assert_non_null(strstr(text, "60,000 frames, with 120,000 samples (10.17 %), too narrow"));
	assert_non_null(
		strstr(text, "60,000 frames, with 60,000 samples (5.08 %), left out of this file"));
	assert_non_null(strstr(text, "<title>120,000 frames too narrow to draw\n180,000 samples"));
}

static void other_sources_than_cpu_time_give_times(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|1500|x:main|l:read");
	example_add(profile, "c|500|x:main|x:idle");
	example_lose(profile, PILOTLIGHT_DROP_RING_FULL, 20);
	text = draw(profile);
	assert_null(strstr(text, "data-period"));
	profile->event = example_string(profile, "offcpu");
	profile->period_ns = 1000000;
	free(text);
	text = draw(profile);
	assert_non_null(strstr(text, " data-period=\"1000000\">\n<title>"));
	assert_non_null(strstr(
		text, "offcpu (time off CPU) in samples of 1 ms \xc2\xb7 2.000 s, 20.000 ms lost"));
	assert_non_null(strstr(text, "<title>read\n1.500 s, 74.26 %"));
	profile->event = example_string(profile, "faults");
	profile->period_ns = 7;
	free(text);
	text = draw(profile);
	assert_non_null(strstr(text, " data-period=\"7\" data-noun=\"fault\">\n<title>"));
	assert_non_null(strstr(text,
		"faults (page faults) in samples of 7 faults \xc2\xb7 14,000 faults, 140 lost"));
	assert_non_null(strstr(text, "<title>read\n10,500 faults, 74.26 %"));
}

static void the_root_is_below_its_callees(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = NULL;

	example_add(profile, "c|1|x:main");
	text = draw(profile);
	assert_non_null(strstr(text, "x=\"16\" y=\"132\" width=\"1167.5\" height=\"17\" "
				     "data-n=\"1\"><title>all\n"));
}

static void an_empty_profile_is_drawn(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_free_ char *text = draw(profile);

	assert_non_null(strstr(text, "<title>all\n0 samples, 0.00 %"));
	assert_non_null(strstr(text, ">Flame graph</title>"));
	assert_int_equal(count_of(text, "data-n="), 1);
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	static struct output output;

	assert_true(FAIL_EACH_ALLOCATION((output_init(&output, discard, NULL),
						 flamegraph_svg_write(profile, NULL,
							 FRAME_BY_FUNCTION, &output)),
			    -ENOMEM, true, 0) >= 15);
}

static void output_errors_stick(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	static struct output output;

	output_init(&output, no_space, NULL);
	assert_int_equal(flamegraph_svg_write(profile, NULL, FRAME_BY_FUNCTION, &output), 0);
	assert_int_equal(output_finish(&output), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(machine_is_golden_in_any_order),
		cmocka_unit_test(narrow_frames_are_golden),
		cmocka_unit_test(assets_cannot_end_early),
		cmocka_unit_test(is_well_formed),
		cmocka_unit_test(hostile_names_are_escaped),
		cmocka_unit_test(frames_tell_their_line),
		cmocka_unit_test(inlined_frames_without_a_line_are_marked),
		cmocka_unit_test(kinds_have_other_letters_than_differences),
		cmocka_unit_test(samples_are_conserved),
		cmocka_unit_test(narrow_frames_are_data_for_the_script),
		cmocka_unit_test(rows_with_next_to_nothing_are_not_drawn),
		cmocka_unit_test(a_file_has_a_bound),
		cmocka_unit_test(other_sources_than_cpu_time_give_times),
		cmocka_unit_test(the_root_is_below_its_callees),
		cmocka_unit_test(an_empty_profile_is_drawn),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(output_errors_stick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
