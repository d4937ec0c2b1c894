/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/shown_text.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BAD "\xef\xbf\xbd"

static struct output_memory memory;

/* Writes the text in parts of this size. */
static void write_in_parts(const char *text, size_t size, size_t part)
{
	struct shown_lines *lines = malloc(sizeof(*lines));

	assert_non_null(lines);
	memory = (struct output_memory){ .limit_bytes = 4096 };
	shown_lines_init(lines, output_to_memory, &memory);
	for (size_t i = 0; i < size; i += part) {
		size_t bytes = size - i < part ? size - i : part;
		char *copy = malloc(bytes);

		assert_non_null(copy);
		memcpy(copy, text + i, bytes);
		assert_int_equal(shown_lines_write(lines, copy, bytes), 0);
		free(copy);
	}
	assert_int_equal(shown_lines_finish(lines), 0);
	assert_int_equal(output_to_memory(&memory, "", 1), 0);
	free(lines);
}

static void lines_reach_a_terminal_without_controls(void **state)
{
	static const struct {
		const char *text, *shown;
	} cases[] = {
		{ "", "" },
		{ "one\ttwo\n", "one\ttwo\n" },
		{ "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5\n",
			"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x94\xa5\n" },
		{ "\x1b]52;c;eA==\x07\n", BAD "]52;c;eA==" BAD "\n" },
		{ "a\rb\bc\x7f"
		  "d",
			"a" BAD "b" BAD "c" BAD "d" },
		{ "\xc2\x9b"
		  "31m",
			BAD "31m" }, /* CSI of C1 */
		{ "\x9b"
		  "31m",
			BAD "31m" },
		{ "\xe2\x80\xaegnp", BAD "gnp" }, /* U+202E */
		{ "\xe2\x82", BAD BAD },	  /* cut short */
		{ "\xe2\x82\n\xf0\x9f\x1b", BAD BAD "\n" BAD BAD BAD },
		{ "\xed\xa0\x80", BAD BAD BAD },
		{ "\xe2\xc3\xa9", BAD "\xc3\xa9" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		for (size_t part = 1; part < 8; part++) {
			write_in_parts(cases[i].text, strlen(cases[i].text), part);
			assert_string_equal(memory.bytes, cases[i].shown);
			free(memory.bytes);
		}
	write_in_parts("a\0b", 3, 2);
	assert_string_equal(memory.bytes, "a" BAD "b");
	free(memory.bytes);
}

static int fail_to_write(void *context, const void *bytes, size_t size)
{
	return -EPIPE;
}

static void the_error_of_writing_is_returned(void **state)
{
	struct shown_lines *lines = malloc(sizeof(*lines));

	assert_non_null(lines);
	shown_lines_init(lines, fail_to_write, NULL);
	assert_int_equal(shown_lines_write(lines, "text", 4), -EPIPE);
	assert_int_equal(shown_lines_finish(lines), -EPIPE);
	free(lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_reach_a_terminal_without_controls),
		cmocka_unit_test(the_error_of_writing_is_returned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
