/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/bucket_index.h"
#include "tests/base/scratch_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

struct test_entry {
	uint32_t offset;
	uint32_t others[2];
};

struct fixture {
	struct scratch_fixture scratch;
	struct scratch_array entries, index;
};

static void init(struct fixture *fixture)
{
	assert_true(scratch_fixture_init(&fixture->scratch, 1 << 24));
	assert_int_equal(scratch_array_init(&fixture->entries, &fixture->scratch.scratch,
				 sizeof(struct test_entry), UINT32_MAX),
		0);
	assert_int_equal(scratch_array_init(&fixture->index, &fixture->scratch.scratch,
				 sizeof(uint32_t), UINT32_MAX),
		0);
}

static void done(struct fixture *fixture)
{
	scratch_array_done(&fixture->entries);
	scratch_array_done(&fixture->index);
	scratch_fixture_done(&fixture->scratch);
}

static void add(struct fixture *fixture, uint32_t offset)
{
	assert_int_equal(scratch_array_grow(&fixture->entries), 0);
	((struct test_entry *)fixture->entries.items)[fixture->entries.count++].offset = offset;
}

static void check(const struct fixture *fixture, uint32_t span, uint8_t shift)
{
	const struct test_entry *entries = fixture->entries.items;
	const uint32_t *index = fixture->index.items;
	size_t stretches = (size_t)(span >> shift) + 1, before = 0;

	assert_int_equal(fixture->index.count, stretches + 1);
	for (size_t i = 0; i < stretches; i++) {
		while (before < fixture->entries.count && entries[before].offset < (uint64_t)i
											   << shift)
			before++;
		assert_int_equal(index[i], before);
	}
	assert_int_equal(index[stretches], fixture->entries.count);
	if (fixture->entries.count >= 8) {
		assert_true(stretches * 4 <= fixture->entries.count);
		assert_true(shift == 0 || stretches * 8 + 8 >= fixture->entries.count);
	}
}

static void each_stretch_begins_where_it_should(void **state)
{
	srandom(1);
	for (int round = 0; round < 300; round++) {
		uint32_t gap_max = 1U << (random() % 12), offset = 0, span;
		size_t count = 1 + (size_t)random() % 500;
		struct fixture fixture;
		uint8_t shift = 77;

		init(&fixture);
		for (size_t i = 0; i < count; i++) {
			offset += (i > 0) + (uint32_t)random() % gap_max;
			add(&fixture, offset);
		}
		span = offset + (uint32_t)random() % gap_max;
		assert_int_equal(
			bucket_index_build(&fixture.entries, span, &fixture.index, &shift), 0);
		check(&fixture, span, shift);
		done(&fixture);
	}
}

static void the_greatest_span_is_no_special_case(void **state)
{
	struct fixture fixture;
	uint8_t shift;

	init(&fixture);
	add(&fixture, 0);
	add(&fixture, UINT32_MAX);
	assert_int_equal(
		bucket_index_build(&fixture.entries, UINT32_MAX, &fixture.index, &shift), 0);
	assert_int_equal(shift, 31);
	check(&fixture, UINT32_MAX, shift);
	done(&fixture);
}

static void no_entries_have_no_index(void **state)
{
	struct fixture fixture;
	uint8_t shift = 77;

	init(&fixture);
	assert_int_equal(bucket_index_build(&fixture.entries, 1000, &fixture.index, &shift), 0);
	assert_int_equal(fixture.index.count, 0);
	assert_int_equal(shift, 0);
	done(&fixture);
}

static void a_full_scratch_is_an_error(void **state)
{
	struct fixture fixture;
	uint8_t shift = 77;

	init(&fixture);
	add(&fixture, 0);
	fixture.scratch.scratch.limit_bytes = fixture.scratch.scratch.used_bytes;
	assert_int_equal(
		bucket_index_build(&fixture.entries, 1000, &fixture.index, &shift), -EFBIG);
	assert_int_equal(shift, 77);
	done(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_stretch_begins_where_it_should),
		cmocka_unit_test(the_greatest_span_is_no_special_case),
		cmocka_unit_test(no_entries_have_no_index),
		cmocka_unit_test(a_full_scratch_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
