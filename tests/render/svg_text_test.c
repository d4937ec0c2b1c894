/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/svg_text.h"

#include "tests/render/rendered.h"

static struct rendering rendering;

static void markup_is_escaped(void **state)
{
	_cleanup_free_ char *text = NULL;

	svg_write_text(rendering_begin(&rendering), "a<b>&\"c\" ]]> 'd'");
	text = rendering_end(&rendering);
	assert_string_equal(text, "a&lt;b&gt;&amp;&quot;c&quot; ]]&gt; 'd'");
}

static void json_is_escaped_too(void **state)
{
	_cleanup_free_ char *text = NULL;

	svg_write_json(rendering_begin(&rendering), "/a\\b\"<c>&/");
	text = rendering_end(&rendering);
	assert_string_equal(text, "/a\\\\b\\\"&lt;c&gt;&amp;/");
}

static void hundredths_have_no_zeros_at_the_end(void **state)
{
	static const struct {
		uint64_t hundredths;
		const char *text;
	} cases[] = { { 0, "0" }, { 1, "0.01" }, { 10, "0.1" }, { 99, "0.99" }, { 100, "1" },
		{ 1250, "12.5" }, { UINT64_MAX, "184467440737095516.15" } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_free_ char *text = NULL;

		svg_write_hundredths(rendering_begin(&rendering), cases[i].hundredths);
		text = rendering_end(&rendering);
		assert_string_equal(text, cases[i].text);
	}
}

static void wide_characters_take_two_columns(void **state)
{
	assert_int_equal(svg_text_columns(""), 0);
	assert_int_equal(svg_text_columns("abc"), 3);
	assert_int_equal(svg_text_columns("\xc3\xa9"), 1);
	assert_int_equal(svg_text_columns("\xe4\xb8\xad"), 2);
	assert_int_equal(svg_text_columns("\xf0\x9f\x94\xa5"), 2);
	assert_int_equal(svg_text_columns("\xe2\x80\xa6"), 1);
}

static void long_text_is_elided_between_characters(void **state)
{
	static const struct {
		const char *text;
		size_t columns;
		const char *elided;
	} cases[] = {
		{ "main", 4, "main" },
		{ "main", 9, "main" },
		{ "", 1, "" },
		{ "main", 3, "ma\xe2\x80\xa6" },
		{ "main", 1, "\xe2\x80\xa6" },
		{ "a\xe4\xb8\xad\xe4\xb8\xad", 5, "a\xe4\xb8\xad\xe4\xb8\xad" },
		{ "a\xe4\xb8\xad\xe4\xb8\xad", 4, "a\xe4\xb8\xad\xe2\x80\xa6" },
		{ "a\xe4\xb8\xad\xe4\xb8\xad", 3, "a\xe2\x80\xa6" },
	};
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		strcpy(text, cases[i].text);
		svg_elide_text(text, sizeof(text), cases[i].columns);
		assert_string_equal(text, cases[i].elided);
		assert_true(svg_text_columns(text) <= cases[i].columns);
	}
}

static void no_room_for_an_ellipsis_leaves_the_text(void **state)
{
	char text[5] = "main";

	svg_elide_text(text, sizeof(text), 3);
	assert_string_equal(text, "main");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markup_is_escaped),
		cmocka_unit_test(json_is_escaped_too),
		cmocka_unit_test(hundredths_have_no_zeros_at_the_end),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(long_text_is_elided_between_characters),
		cmocka_unit_test(no_room_for_an_ellipsis_leaves_the_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
