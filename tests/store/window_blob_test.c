/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/window_blob.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const struct window_row some[] = {
	{ .thread = 0, .node = 5, .count = 1 },
	{ .thread = 0, .node = 6, .count = 300 },
	{ .thread = 7, .node = 2, .count = 1 },
	{ .thread = 4000000, .node = 1000000, .count = UINT64_MAX },
};

static int write_rows(const struct window_row *rows, size_t count, uint8_t **blob, size_t *size)
{
	struct window_writer writer;
	int r;

	window_writer_init(&writer);
	for (size_t i = 0; i < count; i++)
		window_writer_add(&writer, &rows[i]);
	r = window_writer_finish(&writer, 3, blob, size);
	window_writer_done(&writer);
	return r;
}

static int read_all(
	const void *blob, size_t size, uint32_t threads, uint32_t nodes, struct window_rows *rows)
{
	struct window_reader reader;
	int r = window_reader_init(&reader, blob, size, threads, nodes);

	if (r < 0)
		return r;
	r = window_rows_read(rows, &reader);
	window_reader_done(&reader);
	return r;
}

static void rows_come_back(void **state)
{
	struct window_rows rows = { 0 };
	uint8_t *blob;
	size_t size;

	assert_int_equal(write_rows(some, 4, &blob, &size), 0);
	assert_int_equal(read_all(blob, size, UINT32_MAX, UINT32_MAX, &rows), 0);
	assert_int_equal(rows.count, 4);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(rows.items[i].thread, some[i].thread);
		assert_int_equal(rows.items[i].node, some[i].node);
		assert_int_equal(rows.items[i].count, some[i].count);
	}
	free(blob);
	assert_int_equal(write_rows(NULL, 0, &blob, &size), 0);
	assert_int_equal(read_all(blob, size, 0, 0, &rows), 0);
	assert_int_equal(rows.count, 0);
	free(blob);
	free(rows.items);
}

static void ids_beyond_the_limits_are_damage(void **state)
{
	struct window_rows rows = { 0 };
	uint8_t *blob;
	size_t size;

	assert_int_equal(write_rows(some, 4, &blob, &size), 0);
	assert_int_equal(read_all(blob, size, 4000001, 1000001, &rows), 0);
	assert_int_equal(read_all(blob, size, 4000000, 1000001, &rows), -EBADMSG);
	assert_int_equal(read_all(blob, size, 4000001, 1000000, &rows), -EBADMSG);
	assert_int_equal(read_all(blob, size, 0, 0, &rows), -EBADMSG);
	free(blob);
	free(rows.items);
}

static void every_cut_and_every_flip_is_survived(void **state)
{
	struct window_rows rows = { 0 };
	uint8_t *blob, *copy;
	size_t size, refused = 0;

	assert_int_equal(write_rows(some, 4, &blob, &size), 0);
	for (size_t cut = 0; cut < size; cut++) {
		copy = malloc(cut + 1);
		assert_non_null(copy);
		memcpy(copy, blob, cut);
		assert_int_equal(read_all(copy, cut, UINT32_MAX, UINT32_MAX, &rows), -EBADMSG);
		free(copy);
	}
	for (size_t bit = 0; bit < size * 8; bit++) {
		int r;

		blob[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = read_all(blob, size, UINT32_MAX, UINT32_MAX, &rows);
		assert_true(r == 0 || r == -EBADMSG || r == -EPROTONOSUPPORT);
		if (bit < 8)
			assert_int_equal(r, -EPROTONOSUPPORT);
		refused += r < 0;
		blob[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	assert_true(refused > size);
	free(blob);
	free(rows.items);
}

/* Columns that are whole each, but do not agree. */
static void columns_must_agree(void **state)
{
	/* rows, runs; then thread, more rows of the run, two nodes, two counts. */
	static const uint64_t heads[][2] = { { 2, 1 }, { 3, 1 }, { 1, 1 }, { 2, 2 }, { 2, 3 },
		{ 2, 0 }, { UINT64_MAX, 1 }, { WINDOW_ROWS_MAX + 1, 1 } };
	struct window_rows rows = { 0 };

	for (size_t i = 0; i < sizeof(heads) / sizeof(*heads); i++) {
		struct column_writer writer;
		uint8_t *blob;
		size_t size;

		column_writer_init(&writer, 5);
		column_put(&writer, 0, heads[i][0]);
		column_put(&writer, 0, heads[i][1]);
		column_put(&writer, 1, 3);
		column_put(&writer, 2, 1);
		column_put_difference(&writer, 3, 0, 9);
		column_put(&writer, 3, 0);
		column_put(&writer, 4, 0);
		column_put(&writer, 4, 0);
		assert_int_equal(column_writer_finish(&writer, 1, &blob, &size), 0);
		column_writer_done(&writer);
		assert_int_equal(read_all(blob, size, 100, 100, &rows), i == 0 ? 0 : -EBADMSG);
		free(blob);
	}
	free(rows.items);
}

static void more_rows_than_there_may_be(void **state)
{
	struct window_writer writer;
	uint8_t *blob = NULL;
	size_t size;

	window_writer_init(&writer);
	for (uint32_t i = 0; i <= WINDOW_ROWS_MAX; i++)
		window_writer_add(
			&writer, &(struct window_row){ .thread = 1, .node = i, .count = 1 });
	assert_int_equal(window_writer_finish(&writer, 1, &blob, &size), -E2BIG);
	assert_null(blob);
	window_writer_done(&writer);
}

static void failing_allocations(void **state)
{
	struct window_rows rows = { 0 };
	uint8_t *blob = NULL;
	size_t size, n;
	int r;

	for (n = 0;; n++) {
		free(blob);
		blob = NULL;
		free(rows.items);
		rows = (struct window_rows){ 0 };
		fail_allocation(n);
		r = write_rows(some, 4, &blob, &size);
		if (r == 0)
			r = read_all(blob, size, UINT32_MAX, UINT32_MAX, &rows);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 8);
	free(blob);
	free(rows.items);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_come_back),
		cmocka_unit_test(ids_beyond_the_limits_are_damage),
		cmocka_unit_test(every_cut_and_every_flip_is_survived),
		cmocka_unit_test(columns_must_agree),
		cmocka_unit_test(more_rows_than_there_may_be),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
