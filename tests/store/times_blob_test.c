/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "store/times_blob.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { TIMES_MAX = 4 };

/* Rows with their times, sorted. */
static const struct known_row {
	struct window_row row;
	struct row_time times[TIMES_MAX];
	size_t count;
} some[] = {
	{ { .thread = 1, .node = 5, .count = 3 }, { { 1, 0 }, { 1, 1 }, { 1, 999 } }, 3 },
	{ { .thread = 1, .node = 6, .count = 300 }, { { 2, 998 } }, 1 },
	{ { .thread = 2, .node = 1, .count = 7 }, { { 0 } }, 0 },
	{ { .thread = 2, .node = 2, .count = 1 }, { { 1, TIMES_SLICE_MAX - 1 } }, 1 },
	{ { .thread = 9, .node = 2, .count = 2 }, { { 1, 0 }, { 1, TIMES_SLICE_MAX - 1 } }, 2 },
};
/* Waits: a time of several counts. */
static const struct known_row waits[] = {
	{ { .thread = 1, .node = 5, .count = 60 }, { { 53, 17 }, { 1, 18 } }, 2 },
	{ { .thread = 4, .node = 1, .count = 65535 }, { { 65535, 3 } }, 1 },
};

static int write_rows(const struct known_row *rows, size_t count, uint8_t **blob, size_t *size)
{
	struct row_times times = { 0 };
	struct times_writer writer;
	int r = 0;

	times_writer_init(&writer, 10000000);
	for (size_t i = 0; r == 0 && i < count; i++) {
		times.count = 0;
		/* The order in which they come does not matter. */
		for (size_t j = rows[i].count; r == 0 && j-- > 0;)
			r = row_times_add(&times, rows[i].times[j].slice, rows[i].times[j].count);
		if (r == 0)
			times_writer_add(&writer, &rows[i].row, &times);
	}
	if (r == 0)
		r = times_writer_finish(&writer, 3, blob, size);
	times_writer_done(&writer);
	free(times.items);
	return r;
}

static uint64_t thread_counts(const struct known_row *rows, size_t count, size_t first)
{
	uint64_t counts = 0;

	for (size_t i = first; i < count && rows[i].row.thread == rows[first].row.thread; i++)
		counts += rows[i].row.count;
	return counts;
}

static int read_rows(const uint8_t *blob, size_t size, const struct known_row *rows, size_t count,
	bool is_compared)
{
	struct row_times times = { 0 };
	struct times_reader reader;
	int r = times_reader_init(&reader, blob, size);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < count; i++) {
		uint64_t sum = 0;

		if (i == 0 || rows[i].row.thread != rows[i - 1].row.thread)
			r = times_reader_begin_thread(&reader, thread_counts(rows, count, i));
		if (r == 0)
			r = times_reader_next(&reader, &rows[i].row, &times);
		for (size_t j = 0; r == 0 && j < times.count; j++)
			sum += times.items[j].count;
		if (r == 0)
			assert_true(sum <= rows[i].row.count);
		if (r < 0 || !is_compared)
			continue;
		assert_int_equal(times.count, rows[i].count);
		for (size_t j = 0; j < times.count; j++)
			assert_int_equal(times.items[j].slice, rows[i].times[j].slice);
	}
	if (r == 0)
		r = times_reader_finish(&reader);
	times_reader_done(&reader);
	free(times.items);
	return r;
}

static void times_come_back(void **state)
{
	uint8_t *blob;
	size_t size;

	assert_int_equal(write_rows(some, ARRAY_SIZE(some), &blob, &size), 0);
	assert_int_equal(read_rows(blob, size, some, ARRAY_SIZE(some), true), 0);
	/* Other rows than those that it was written with. */
	assert_int_equal(read_rows(blob, size, some, ARRAY_SIZE(some) - 1, false), -EBADMSG);
	assert_int_equal(read_rows(blob, size, waits, ARRAY_SIZE(waits), false), -EBADMSG);
	free(blob);
	assert_int_equal(write_rows(waits, ARRAY_SIZE(waits), &blob, &size), 0);
	assert_int_equal(read_rows(blob, size, waits, ARRAY_SIZE(waits), true), 0);
	free(blob);
}

/* However many counts they have, they take no more room than slices need. */
static void equal_slices_are_one(void **state)
{
	const struct window_row row = { .thread = 1, .node = 1, .count = 1 << 20 };
	struct row_times times = { 0 };
	struct times_writer writer;
	uint32_t slice = 0;

	times_writer_init(&writer, 10000000);
	for (uint32_t i = 0; i < 200000; i++)
		assert_int_equal(row_times_add(&times, i * 7919 % 6001, 1), 0);
	assert_true(times.capacity <= ROW_TIMES_MAX);
	times_writer_add(&writer, &row, &times);
	assert_int_equal(times.count, 6001);
	for (size_t i = 0; i < times.count; i++, slice++) {
		assert_int_equal(times.items[i].slice, slice);
		assert_in_range(times.items[i].count, 33, 34);
	}
	times_writer_done(&writer);
	/* There is a bound. */
	while (row_times_add(&times, slice, 1) == 0)
		slice++;
	assert_int_equal(row_times_add(&times, slice, 1), -E2BIG);
	assert_int_equal(times.capacity, ROW_TIMES_MAX);
	free(times.items);
}

static void without_a_time_there_is_no_blob(void **state)
{
	uint8_t *blob = (uint8_t *)1;
	size_t size = 1;

	assert_int_equal(write_rows(&some[2], 1, &blob, &size), 0);
	assert_null(blob);
	assert_int_equal(size, 0);
}

static void every_cut_and_every_flip_is_survived(void **state)
{
	uint8_t *blob, *copy;
	size_t size;

	assert_int_equal(write_rows(some, ARRAY_SIZE(some), &blob, &size), 0);
	for (size_t cut = 0; cut < size; cut++) {
		copy = malloc(cut + 1);
		assert_non_null(copy);
		memcpy(copy, blob, cut);
		assert_int_equal(read_rows(copy, cut, some, ARRAY_SIZE(some), false), -EBADMSG);
		free(copy);
	}
	for (size_t bit = 0; bit < size * 8; bit++) {
		int r;

		blob[bit / 8] ^= (uint8_t)(1 << bit % 8);
		r = read_rows(blob, size, some, ARRAY_SIZE(some), false);
		assert_true(r == 0 || r == -EBADMSG || r == -EPROTONOSUPPORT);
		if (bit < 8)
			assert_int_equal(r, -EPROTONOSUPPORT);
		blob[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	free(blob);
}

/* Of version 1, the columns of one row of four counts, two of them with a time. */
struct columns {
	uint64_t slice_ns, has_counts, untimed, low, high, next, count;
	int expected;
};

static void columns_must_agree(void **state)
{
	static const struct columns cases[] = {
		{ 1000, 0, 2, 6, 0, 4, UINT64_MAX, 0 },
		{ 1000, 1, 1, 6, 0, 4, 0, -EBADMSG },	    /* a third time is missing */
		{ 0, 0, 2, 6, 0, 4, UINT64_MAX, -EBADMSG }, /* slices without a width */
		{ 1ULL << 40, 0, 2, 6, 0, 4, UINT64_MAX, -EBADMSG },
		{ 1000, 2, 2, 6, 0, 4, UINT64_MAX, -EBADMSG }, /* of version 2 */
		{ 1000, 3, 2, 6, 0, 4, UINT64_MAX, -EBADMSG },
		{ 1000, 0, 5, 6, 0, 4, UINT64_MAX, -EBADMSG }, /* more than there are */
		{ 1000, 0, UINT64_MAX, 6, 0, 4, UINT64_MAX, -EBADMSG },
		{ 1000, 0, 2, 128, 0, 4, UINT64_MAX, -EBADMSG },
		{ 1000, 0, 2, 1, 0, 4, UINT64_MAX, -EBADMSG }, /* before slice 0 */
		{ 1000, 0, 2, 0, 1ULL << 60, 4, UINT64_MAX, -EBADMSG },
		{ 1000, 0, 2, 6, 0, TIMES_SLICE_MAX, UINT64_MAX, -EBADMSG },
		{ 1000, 0, 2, 6, 0, UINT64_MAX - 2, UINT64_MAX, -EBADMSG },
		{ 1000, 1, 0, 6, 0, 4, 1, 0 },
		{ 1000, 1, 2, 6, 0, 4, UINT64_MAX - 1, -EBADMSG },
	};
	const struct known_row row = { .row = { .thread = 1, .node = 1, .count = 4 } };

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct columns *from = &cases[i];
		struct column_writer writer;
		uint8_t *blob;
		size_t size;

		column_writer_init(&writer, 6);
		column_put(&writer, 0, from->slice_ns);
		column_put(&writer, 0, from->has_counts);
		column_put(&writer, 1, from->untimed);
		column_put(&writer, 2, from->low);
		column_put(&writer, 3, from->high);
		column_put(&writer, 4, from->next);
		for (int j = 0; from->count < UINT64_MAX && j < 2; j++)
			column_put(&writer, 5, from->count);
		assert_int_equal(column_writer_finish(&writer, 1, &blob, &size), 0);
		column_writer_done(&writer);
		if (read_rows(blob, size, &row, 1, false) != from->expected)
			fail_msg("case %zu", i);
		free(blob);
	}
}

static void failing_allocations(void **state)
{
	uint8_t *blob = NULL;
	size_t size, n;
	int r;

	for (n = 0;; n++) {
		free(blob);
		blob = NULL;
		fail_allocation(n);
		r = write_rows(some, ARRAY_SIZE(some), &blob, &size);
		if (r == 0)
			r = read_rows(blob, size, some, ARRAY_SIZE(some), false);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 8);
	free(blob);
}

enum { SPAN_ROWS = 3 };

static const struct window_row span_row = { .thread = 1, .node = 1, .count = 5 };

/* Rows of five counts, all with a time; the first two have spans. */
static int write_spans(uint8_t **blob, size_t *size)
{
	static const struct pilotlight_thread_context ids[] = { { { 1 }, { 2 } },
		{ { 3 }, { 4 } } };
	struct row_span first[] = { { 2, 1 }, { 3, 0 } }, second[] = { { 1, 1 } };
	const struct row_spans spans[SPAN_ROWS] = { { first, 2, 2 }, { second, 1, 1 }, { 0 } };
	struct times_writer writer;
	int r = 0;

	times_writer_init(&writer, 10000000);
	times_writer_set_spans(&writer, ids, 2);
	for (size_t i = 0; r == 0 && i < SPAN_ROWS; i++) {
		struct row_times times = { 0 };

		r = row_times_add(&times, 1, span_row.count);
		if (r == 0)
			times_writer_add(&writer, &span_row, &times);
		times_writer_add_spans(&writer, &spans[i]);
		free(times.items);
	}
	if (r == 0)
		r = times_writer_finish(&writer, 3, blob, size);
	times_writer_done(&writer);
	return r;
}

static int read_spans(const uint8_t *blob, size_t size, uint64_t counts[2])
{
	struct row_times times = { 0 };
	struct row_spans spans = { 0 };
	struct times_reader reader;
	int r = times_reader_init(&reader, blob, size);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < SPAN_ROWS; i++) {
		r = i == 0 ? times_reader_begin_thread(&reader, SPAN_ROWS * span_row.count) : 0;
		if (r == 0)
			r = times_reader_next(&reader, &span_row, &times);
		if (r == 0)
			r = times_reader_next_spans(&reader, &span_row, &spans);
		for (size_t j = 0; r == 0 && j < spans.count; j++) {
			assert_int_equal(reader.ids[spans.items[j].span].trace_id[0] + 1,
				reader.ids[spans.items[j].span].span_id[0]);
			counts[spans.items[j].span] += spans.items[j].count;
		}
	}
	if (r == 0)
		r = times_reader_finish(&reader);
	times_reader_done(&reader);
	free(times.items);
	free(spans.items);
	return r;
}

static void spans_are_read(void **state)
{
	uint64_t counts[2] = { 0 };
	uint8_t *blob = NULL;
	size_t size;

	assert_true(FAIL_EACH_ALLOCATION(write_spans(&blob, &size), -ENOMEM, !blob, 0) > 5);
	assert_int_equal(read_spans(blob, size, counts), 0);
	assert_int_equal(counts[0], 3);
	assert_int_equal(counts[1], 3);
	assert_true(FAIL_EACH_ALLOCATION(read_spans(blob, size, counts), -ENOMEM, true, 0) >= 2);
	free(blob);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_come_back),
		cmocka_unit_test(equal_slices_are_one),
		cmocka_unit_test(without_a_time_there_is_no_blob),
		cmocka_unit_test(every_cut_and_every_flip_is_survived),
		cmocka_unit_test(columns_must_agree),
		cmocka_unit_test(spans_are_read),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
