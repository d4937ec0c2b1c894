/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/text_table.h"
#include "tests/base/scratch_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int add(struct text_table *table, const char *text, size_t length, uint32_t number)
{
	return text_table_add(table, hash_bytes(text, length), text, length, number);
}

static bool find(const struct text_table *table, const char *text, size_t length, uint32_t *number)
{
	return text_table_find(table, hash_bytes(text, length), text, length, number);
}

static void texts_are_found_by_all_their_bytes(void **state)
{
	struct scratch_fixture fixture;
	struct text_table table;
	uint32_t number = 77;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 1 << 20));
	assert_int_equal(text_table_init(&table, &fixture.scratch), 0);
	assert_false(find(&table, "main", 4, &number));
	assert_int_equal(number, 77);
	assert_int_equal(add(&table, "main", 4, 5), 0);
	assert_int_equal(add(&table, "ma\0n", 4, 6), 0);
	assert_int_equal(add(&table, "mainly", 6, UINT32_MAX), 0);
	assert_true(find(&table, "mainly", 4, &number));
	assert_int_equal(number, 5);
	assert_true(find(&table, "ma\0n", 4, &number));
	assert_int_equal(number, 6);
	assert_true(find(&table, "mainly", 6, &number));
	assert_int_equal(number, UINT32_MAX);
	assert_false(find(&table, "mainl", 5, &number));
	text_table_done(&table);
	scratch_fixture_done(&fixture);
}

static void equal_hashes_are_not_equal_texts(void **state)
{
	struct scratch_fixture fixture;
	struct text_table table;
	uint32_t number = 0;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 1 << 20));
	assert_int_equal(text_table_init(&table, &fixture.scratch), 0);
	assert_int_equal(text_table_add(&table, 1, "one", 3, 1), 0);
	assert_int_equal(text_table_add(&table, 1, "two", 3, 2), 0);
	assert_int_equal(text_table_add(&table, 1, "twos", 4, 3), 0);
	assert_true(text_table_find(&table, 1, "two", 3, &number));
	assert_int_equal(number, 2);
	assert_false(text_table_find(&table, 1, "six", 3, &number));
	assert_false(text_table_find(&table, 1, "tw", 2, &number));
	text_table_done(&table);
	scratch_fixture_done(&fixture);
}

static void many_texts_survive_growth(void **state)
{
	struct scratch_fixture fixture;
	struct text_table table;
	char text[32];
	uint32_t number = 0;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 1 << 24));
	assert_int_equal(text_table_init(&table, &fixture.scratch), 0);
	for (uint32_t i = 0; i < 20000; i++) {
		int length = snprintf(text, sizeof(text), "text %u", i);

		assert_int_equal(add(&table, text, (size_t)length, i), 0);
	}
	for (uint32_t i = 0; i < 20000; i++) {
		int length = snprintf(text, sizeof(text), "text %u", i);

		assert_true(find(&table, text, (size_t)length, &number));
		assert_int_equal(number, i);
	}
	text_table_done(&table);
	scratch_fixture_done(&fixture);
}

static void a_full_table_refuses(void **state)
{
	struct scratch_fixture fixture;
	struct text_table table;
	uint32_t number = 0;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 1 << 30));
	assert_int_equal(text_table_init(&table, &fixture.scratch), 0);
	for (uint32_t i = 0; i < TEXT_TABLE_MAX; i++)
		assert_int_equal(add(&table, (const char *)&i, sizeof(i), i), 0);
	assert_int_equal(add(&table, "more", 5, 0), -E2BIG);
	assert_false(find(&table, "more", 5, &number));
	assert_int_equal(hash_index_bytes(&table.index), 32 << 20);
	text_table_done(&table);
	scratch_fixture_done(&fixture);
}

static void a_full_scratch_refuses(void **state)
{
	struct scratch_fixture fixture;
	struct text_table table;
	uint32_t number = 0;
	char text[1024] = { 0 };
	int r = 0;

	(void)state;
	assert_true(scratch_fixture_init(&fixture, 1 << 17));
	assert_int_equal(text_table_init(&table, &fixture.scratch), 0);
	for (uint32_t i = 0; r == 0 && i < 200; i++) {
		(void)memcpy(text, &i, sizeof(i));
		r = add(&table, text, sizeof(text), i);
	}
	assert_int_equal(r, -EFBIG);
	assert_false(find(&table, text, sizeof(text), &number));
	(void)memset(text, 0, sizeof(text));
	assert_true(find(&table, text, sizeof(text), &number));
	text_table_done(&table);
	scratch_fixture_done(&fixture);
}

static void failing_allocations_leave_the_table_whole(void **state)
{
	size_t n;
	int r;

	(void)state;
	for (n = 0;; n++) {
		struct scratch_fixture fixture;
		struct text_table table;
		uint32_t number;

		assert_true(scratch_fixture_init(&fixture, 1 << 20));
		assert_int_equal(text_table_init(&table, &fixture.scratch), 0);
		fail_allocation(n);
		r = add(&table, "main", 4, 1);
		assert_true(find(&table, "main", 4, &number) == (r == 0));
		text_table_done(&table);
		scratch_fixture_done(&fixture);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_int_equal(n, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(texts_are_found_by_all_their_bytes),
		cmocka_unit_test(equal_hashes_are_not_equal_texts),
		cmocka_unit_test(many_texts_survive_growth),
		cmocka_unit_test(a_full_table_refuses),
		cmocka_unit_test(a_full_scratch_refuses),
		cmocka_unit_test(failing_allocations_leave_the_table_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
