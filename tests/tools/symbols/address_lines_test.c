/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/address_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static struct address_lines lines;
static int ends[2];

static int open_pipe(void **state)
{
	if (pipe2(ends, O_CLOEXEC) < 0)
		return -1;
	(void)fcntl(ends[1], F_SETPIPE_SZ, 256 * 1024);
	address_lines_init(&lines, ends[0]);
	return 0;
}

static void end_input(void)
{
	if (ends[1] >= 0)
		(void)close(ends[1]);
	ends[1] = -1;
}

static int close_pipe(void **state)
{
	end_input();
	return close(ends[0]);
}

static void put(const char *text, size_t size)
{
	assert_int_equal(write(ends[1], text, size), size);
}

static void check_next(const char *expected)
{
	const char *line;
	size_t size;

	assert_int_equal(address_lines_next(&lines, &line, &size), 1);
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(line, expected, size);
}

static void check_end(void)
{
	const char *line;
	size_t size;

	assert_false(address_lines_has_next(&lines));
	assert_int_equal(address_lines_next(&lines, &line, &size), 0);
	assert_int_equal(address_lines_next(&lines, &line, &size), 0);
}

static void buffered_lines_are_announced(void **state)
{
	assert_false(address_lines_has_next(&lines));
	put("one\n\ntwo\nthr", 12);
	check_next("one");
	assert_true(address_lines_has_next(&lines));
	check_next("");
	assert_true(address_lines_has_next(&lines));
	check_next("two");
	assert_false(address_lines_has_next(&lines));
	put("ee\n", 3);
	check_next("three");
	assert_int_equal(lines.count, 4);
	end_input();
	check_end();
}

static void the_last_line_needs_no_newline(void **state)
{
	put("one\ntwo", 7);
	end_input();
	check_next("one");
	check_next("two");
	check_end();
}

static void empty_input_has_no_line(void **state)
{
	end_input();
	check_end();
	assert_int_equal(lines.count, 0);
}

/* With room for one more. */
static char *make_long(size_t size)
{
	char *text = malloc(size + 2);

	assert_non_null(text);
	memset(text, 'x', size);
	text[size] = '\0';
	return text;
}

/* Lines of each length around the bounds, written at once and in two parts, before another line. */
static void long_lines_are_cut(void **state)
{
	static const size_t sizes[] = { ADDRESS_LINE_BYTES_MAX - 1, ADDRESS_LINE_BYTES_MAX,
		ADDRESS_LINE_BYTES_MAX + 1, ADDRESS_LINES_BUFFER_BYTES - 1,
		ADDRESS_LINES_BUFFER_BYTES, ADDRESS_LINES_BUFFER_BYTES + 1,
		2 * ADDRESS_LINES_BUFFER_BYTES };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t kept = sizes[i] < ADDRESS_LINE_BYTES_MAX ? sizes[i] : ADDRESS_LINE_BYTES_MAX;
		char *text = make_long(sizes[i]), *cut = make_long(kept);

		put(text, sizes[i]);
		put("\nnext\n", 6);
		check_next(cut);
		check_next("next");
		assert_false(address_lines_has_next(&lines));
		put(text, sizes[i]);
		if (kept == ADDRESS_LINE_BYTES_MAX)
			check_next(cut);
		assert_false(address_lines_has_next(&lines));
		put("y\nafter\n", 8);
		if (kept < ADDRESS_LINE_BYTES_MAX) {
			cut[kept] = 'y';
			cut[kept + 1] = '\0';
			check_next(cut);
		}
		check_next("after");
		free(text);
		free(cut);
	}
	end_input();
	check_end();
}

static void a_long_line_may_be_the_last(void **state)
{
	char *text = make_long(3 * ADDRESS_LINE_BYTES_MAX),
	     *cut = make_long(ADDRESS_LINE_BYTES_MAX);

	put(text, 3 * ADDRESS_LINE_BYTES_MAX);
	end_input();
	check_next(cut);
	check_end();
	free(text);
	free(cut);
}

static void many_lines_cross_the_buffer(void **state)
{
	char text[16];

	for (int i = 0; i < 20000; i++)
		put(text, (size_t)snprintf(text, sizeof(text), "%d\n", i));
	end_input();
	for (int i = 0; i < 20000; i++) {
		(void)snprintf(text, sizeof(text), "%d", i);
		check_next(text);
	}
	check_end();
}

static void errors_of_reading_are_reported(void **state)
{
	const char *line;
	size_t size;

	address_lines_init(&lines, ends[1]);
	assert_int_equal(address_lines_next(&lines, &line, &size), -EBADF);
}

#define PIPE_TEST(function) cmocka_unit_test_setup_teardown(function, open_pipe, close_pipe)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PIPE_TEST(buffered_lines_are_announced),
		PIPE_TEST(the_last_line_needs_no_newline),
		PIPE_TEST(empty_input_has_no_line),
		PIPE_TEST(long_lines_are_cut),
		PIPE_TEST(a_long_line_may_be_the_last),
		PIPE_TEST(many_lines_cross_the_buffer),
		PIPE_TEST(errors_of_reading_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
