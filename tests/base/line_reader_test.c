/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/line_reader.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static int file_with(const char *text, size_t size)
{
	int fd = memfd_create("lines", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

/* All lines of `text`, each with a '|' behind it. */
static int read_lines(
	const char *text, size_t line_bytes_max, size_t limit_bytes, char *joined, size_t room)
{
	struct line_reader reader;
	int fd = file_with(text, strlen(text));
	const char *line;
	size_t size, used = 0;
	int r;

	assert_int_equal(line_reader_init(&reader, fd, line_bytes_max, limit_bytes), 0);
	while ((r = line_reader_next(&reader, &line, &size)) > 0) {
		assert_true(used + size + 2 < room);
		memcpy(joined + used, line, size);
		used += size;
		joined[used++] = '|';
	}
	joined[used] = '\0';
	line_reader_done(&reader);
	assert_int_equal(close(fd), 0);
	return r;
}

static void lines_come_in_order(void **state)
{
	static const struct {
		const char *text, *joined;
	} cases[] = {
		{ "", "" },
		{ "\n", "|" },
		{ "one", "one|" },
		{ "one\n", "one|" },
		{ "one\n\ntwo\nthree", "one||two|three|" },
		{ "12345678\n1\n12345678\n", "12345678|1|12345678|" },
	};
	char joined[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(read_lines(cases[i].text, 8, 1000, joined, sizeof(joined)), 0);
		assert_string_equal(joined, cases[i].joined);
	}
}

static void long_lines_are_skipped(void **state)
{
	static const struct {
		const char *text, *joined;
	} cases[] = {
		{ "123456789\nnext\n", "next|" },
		{ "a\n123456789012345678901234567890\nb\n", "a|b|" },
		{ "123456789012345678901234567890\n123456789\nb", "b|" },
		{ "a\n123456789012345678901234567890", "a|" },
		{ "12345678901234567\n1234567890123456\n123456789012345\nend\n", "end|" },
	};
	char joined[128];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(read_lines(cases[i].text, 8, 1000, joined, sizeof(joined)), 0);
		assert_string_equal(joined, cases[i].joined);
	}
}

/* Every line length around every buffer size, against the obvious answer. */
static void lines_of_any_length_cross_the_buffer(void **state)
{
	for (size_t room = 1; room <= 12; room++)
		for (size_t length = 0; length <= 40; length++) {
			char text[128], wanted[128], joined[128];

			(void)snprintf(text, sizeof(text), "x\n%.*s\ny\n", (int)length,
				"abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz");
			(void)snprintf(wanted, sizeof(wanted), "x|%.*s%sy|",
				length > room ? 0 : (int)length, "abcdefghijklmnopqrstuvwxyz",
				length > room ? "" : "|");
			assert_int_equal(read_lines(text, room, 1000, joined, sizeof(joined)), 0);
			assert_string_equal(joined, wanted);
		}
}

static void the_limit_holds(void **state)
{
	char joined[128];

	assert_int_equal(read_lines("1\n2\n3\n", 8, 6, joined, sizeof(joined)), 0);
	assert_int_equal(read_lines("1\n2\n3\n", 8, 5, joined, sizeof(joined)), -E2BIG);
}

static void a_failing_read_is_reported(void **state)
{
	struct line_reader reader;
	const char *line;
	size_t size;

	assert_int_equal(line_reader_init(&reader, -1, 8, 100), 0);
	assert_int_equal(line_reader_next(&reader, &line, &size), -EBADF);
	line_reader_done(&reader);
	assert_int_equal(line_reader_next(&reader, &line, &size), 0);
	fail_allocation(0);
	assert_int_equal(line_reader_init(&reader, -1, 8, 100), -ENOMEM);
	assert_true(allocation_failed());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_in_order),
		cmocka_unit_test(long_lines_are_skipped),
		cmocka_unit_test(lines_of_any_length_cross_the_buffer),
		cmocka_unit_test(the_limit_holds),
		cmocka_unit_test(a_failing_read_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
