/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_segments.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void segments_are_sorted_without_the_empty_ones(void **state)
{
	const struct symbol_builder_code code = {
		.segments = { { .vaddr = 0x3000, .memory_bytes = 0x10, .offset = 3 },
			{ .vaddr = 0x100, .memory_bytes = 0 },
			{ .vaddr = 0x1000, .memory_bytes = 0x100, .offset = 1 },
			{ .vaddr = 0x2000, .memory_bytes = 1, .offset = 2 } },
		.segment_count = 4,
	};
	struct code_segments segments;

	assert_int_equal(code_segments_init(&segments, &code), 0);
	assert_int_equal(segments.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(segments.segments[i].offset, i + 1);
	assert_int_equal(segments.base, 0x1000);
	assert_int_equal(segments.span, 0x2010);
}

static void a_vaddr_is_in_one_segment_or_none(void **state)
{
	const struct symbol_builder_code code = {
		.segments = { { .vaddr = 0x1000, .memory_bytes = 0x100 },
			{ .vaddr = 0x1100, .memory_bytes = 0x100 },
			{ .vaddr = 0x3000, .memory_bytes = 0x10 } },
		.segment_count = 3,
	};
	struct code_segments segments;

	assert_int_equal(code_segments_init(&segments, &code), 0);
	assert_int_equal(code_segments_end(&segments, 0xfff), 0);
	assert_int_equal(code_segments_end(&segments, 0x1000), 0x1100);
	assert_int_equal(code_segments_end(&segments, 0x1100), 0x1200);
	assert_int_equal(code_segments_end(&segments, 0x1200), 0);
	assert_int_equal(code_segments_end(&segments, 0x300f), 0x3010);
	assert_int_equal(code_segments_end(&segments, UINT64_MAX), 0);
	assert_true(code_segments_hold(&segments, 0x1000, 0x1100));
	assert_false(code_segments_hold(&segments, 0x1000, 0x1101));
	assert_false(code_segments_hold(&segments, 0x1000, 0x1000));
	assert_false(code_segments_hold(&segments, 0x1001, 0x1000));
	assert_false(code_segments_hold(&segments, 0, 0x1001));
	assert_false(code_segments_hold(&segments, 0x3000, UINT64_MAX));
}

static int init_two(uint64_t first_vaddr, uint64_t vaddr, uint64_t bytes)
{
	const struct symbol_builder_code code = {
		.segments = { { .vaddr = first_vaddr, .memory_bytes = 1 },
			{ .vaddr = vaddr, .memory_bytes = bytes } },
		.segment_count = 2,
	};
	struct code_segments segments;

	return code_segments_init(&segments, &code);
}

static void unreachable_offsets_are_refused(void **state)
{
	const struct symbol_builder_code nothing = { .segments = { { .vaddr = 1 } },
		.segment_count = 1 };
	struct code_segments segments;

	assert_int_equal(code_segments_init(&segments, &nothing), -ENODATA);
	assert_int_equal(init_two(0x1000, 0x1000, UINT32_MAX), 0);
	assert_int_equal(init_two(0x1000, 0x1000, 1ULL << 32), -EFBIG);
	assert_int_equal(init_two(0x1000, 0xfff, 1ULL << 32), -EFBIG);
	assert_int_equal(init_two(0, UINT32_MAX, 1), -EFBIG);
	assert_int_equal(init_two(UINT64_MAX - 9, UINT64_MAX - 8, 8), 0);
	assert_int_equal(init_two(UINT64_MAX - 9, UINT64_MAX - 8, 10), -EFBIG);
	assert_int_equal(init_two(1, 2, UINT64_MAX), -EFBIG);
}

static void discarded_code_is_known_by_its_addresses(void **state)
{
	static const uint64_t discarded[] = { 0, 1, 0x400, UINT32_MAX, UINT32_MAX - 1, UINT64_MAX,
		UINT64_MAX - 1, UINT64_MAX - 0x400 };
	/* The code of what is loaded anywhere begins with the second page. */
	static const uint64_t other[] = { 0x1000, 0x1800, 0xffff, 0x401000, 0x100000,
		UINT32_MAX - 0x100000, UINT32_MAX + 1ULL, UINT64_MAX - 0x100000 };
	struct code_segments segments = { .base = 0x1000 };

	for (size_t i = 0; i < sizeof(discarded) / sizeof(discarded[0]); i++)
		assert_true(code_segments_is_tombstone(&segments, discarded[i]));
	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		assert_false(code_segments_is_tombstone(&segments, other[i]));
	segments.base = 0x400000;
	assert_true(code_segments_is_tombstone(&segments, 0xffff));
	assert_false(code_segments_is_tombstone(&segments, 0x10000));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(segments_are_sorted_without_the_empty_ones),
		cmocka_unit_test(a_vaddr_is_in_one_segment_or_none),
		cmocka_unit_test(unreachable_offsets_are_refused),
		cmocka_unit_test(discarded_code_is_known_by_its_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
