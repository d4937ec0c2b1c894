/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/top/folded_line.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void expect_frame(struct folded_line *line, const char *expected)
{
	const char *frame;
	size_t size;

	assert_true(folded_line_next(line, &frame, &size));
	assert_int_equal(size, strlen(expected));
	assert_memory_equal(frame, expected, size);
}

static void expect_end(struct folded_line *line)
{
	const char *frame;
	size_t size;

	assert_false(folded_line_next(line, &frame, &size));
	assert_false(folded_line_next(line, &frame, &size));
}

static void frames_come_root_first(void **state)
{
	static const char text[] = "a b;operator new(unsigned long) const;;c_[k] 42";
	struct folded_line line;

	assert_int_equal(folded_line_parse(text, strlen(text), &line), 0);
	assert_int_equal(line.count, 42);
	expect_frame(&line, "a b");
	expect_frame(&line, "operator new(unsigned long) const");
	expect_frame(&line, "");
	expect_frame(&line, "c_[k]");
	expect_end(&line);
	assert_int_equal(folded_line_parse("; 1", 3, &line), 0);
	expect_frame(&line, "");
	expect_frame(&line, "");
	expect_end(&line);
}

static void counts_are_numbers_that_fit(void **state)
{
	static const char *const wrong[] = { "", " ", "a", "a ", " 1", "a 0", "a -1", "a 1x",
		"a 1 ", "a 18446744073709551616", "a 99999999999999999999", "a\t1", "a +1" };
	static const char most[] = "a 18446744073709551615";
	struct folded_line line = { .count = 7 };

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_int_equal(folded_line_parse(wrong[i], strlen(wrong[i]), &line), -EINVAL);
		assert_int_equal(line.count, 7);
	}
	assert_int_equal(folded_line_parse(most, strlen(most), &line), 0);
	assert_true(line.count == UINT64_MAX);
}

static void suffixes_tell_the_kind(void **state)
{
	static const struct {
		const char *frame;
		enum folded_kind kind;
		size_t size;
	} cases[] = {
		{ "read_[k]", FOLDED_KERNEL, 4 },
		{ "f_[j]", FOLDED_JIT, 1 },
		{ "f_[i]", FOLDED_INLINED, 1 },
		{ "f_[x]", FOLDED_PROGRAM, 5 },
		{ "_[k]", FOLDED_PROGRAM, 4 },
		{ "f", FOLDED_PROGRAM, 1 },
		{ "", FOLDED_NAMELESS, 0 },
		{ "[libc.so.6+0x1]", FOLDED_NAMELESS, 15 },
		{ "[kernel+0x1]_[k]", FOLDED_KERNEL, 12 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t size = 99;

		assert_int_equal(folded_frame_kind(cases[i].frame, strlen(cases[i].frame), &size),
			cases[i].kind);
		assert_int_equal(size, cases[i].size);
	}
}

static void losses_are_known(void **state)
{
	assert_true(folded_frame_is_loss("[lost: ring full]", 17));
	assert_false(folded_frame_is_loss("[lost: ", 7));
	assert_false(folded_frame_is_loss("[lost] x", 8));
	assert_false(folded_frame_is_loss("", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_come_root_first),
		cmocka_unit_test(counts_are_numbers_that_fit),
		cmocka_unit_test(suffixes_tell_the_kind),
		cmocka_unit_test(losses_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
