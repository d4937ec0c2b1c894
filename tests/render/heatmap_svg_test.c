/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a picture of a heat map says in words, and that nothing in it is the title's. */
#include "render/heatmap_svg.h"

#include "base/clock.h"
#include "tests/render/rendered.h"

#include <stdio.h>
#include <stdlib.h>

enum { COLUMNS = 3 };

/* Ten samples in the eleventh row of the second column, one in the first of the third. */
static void make_map(struct heatmap *heatmap, size_t columns)
{
	const uint64_t period_ns = 10000000;

	*heatmap = (struct heatmap){
		.column_ns = NSEC_PER_SEC,
		.start_ns = 3600ULL * NSEC_PER_SEC,
		.columns = columns,
		.cells = calloc(COLUMNS * HEATMAP_ROWS, sizeof(*heatmap->cells)),
		.found = { .windows = 1, .timed_ns = 11 * period_ns, .untimed_ns = period_ns },
	};
	assert_non_null(heatmap->cells);
	assert_int_equal(profile_new(1 << 20, &heatmap->profile), 0);
	assert_int_equal(
		profile_add_string(heatmap->profile, "cpu-clock", &heatmap->profile->event), 0);
	heatmap->profile->period_ns = period_ns;
	heatmap->cells[1 * HEATMAP_ROWS + 10] = 10 * period_ns;
	heatmap->cells[2 * HEATMAP_ROWS] = period_ns;
}

static void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("%s lacks %s", text, part);
}

static void the_picture_has_words(void **state)
{
	struct rendering rendering;
	struct heatmap heatmap;
	char *text;

	make_map(&heatmap, COLUMNS);
	heatmap_svg_write(&heatmap, "a <script> & \"more\"", rendering_begin(&rendering));
	text = rendering_end(&rendering);
	expect(text, "role=\"img\"");
	expect(text, "3 columns of 1 s, from 01:00:00");
	expect(text, "are at 01:00:01.200");
	expect(text, "&lt;script&gt; &amp;");
	assert_null(strstr(text, "<script"));
	assert_null(strstr(text, "href"));
	free(text);
	heatmap_html_write(&heatmap, "a <script>", rendering_begin(&rendering));
	text = rendering_end(&rendering);
	expect(text, "<table>");
	expect(text, "Content-Security-Policy");
	assert_null(strstr(text, "<script"));
	free(text);
	heatmap_done(&heatmap);
}

static void a_picture_without_columns_is_drawn(void **state)
{
	struct rendering rendering;
	struct heatmap heatmap;
	char *text;

	make_map(&heatmap, 0);
	heatmap_svg_write(&heatmap, "nothing", rendering_begin(&rendering));
	text = rendering_end(&rendering);
	expect(text, "</svg>");
	assert_null(strstr(text, "nan"));
	assert_null(strstr(text, "inf\""));
	free(text);
	heatmap_done(&heatmap);
}

static void output_errors_stick(void **state)
{
	static struct output output;
	struct heatmap heatmap;

	make_map(&heatmap, COLUMNS);
	output_init(&output, no_space, NULL);
	heatmap_svg_write(&heatmap, "title", &output);
	assert_int_equal(output_finish(&output), -ENOSPC);
	heatmap_done(&heatmap);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_picture_has_words),
		cmocka_unit_test(a_picture_without_columns_is_drawn),
		cmocka_unit_test(output_errors_stick),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
