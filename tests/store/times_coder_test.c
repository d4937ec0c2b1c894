/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rows of many shapes are written and read by times_blob.h. */
#include "base/array.h"
#include "store/times_blob.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { ROWS_MAX = 64 };

/* The kept blobs: of draw_rows(KEPT_SEED). */
static const char *const kept[] = { "tests/data/store/times_2.blob",
	"tests/data/store/times_3.blob" };
enum { KEPT_SEED = 60 };

struct rows {
	struct window_row items[ROWS_MAX];
	struct row_times times[ROWS_MAX];
	size_t count;
};

static void rows_done(struct rows *rows)
{
	for (size_t i = 0; i < rows->count; i++)
		free(rows->times[i].items);
}

static uint64_t draw(uint64_t *random, uint64_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (*random >> 11) % below;
}

/* Few or many threads, slices and counts, with counts that have no time or without. */
static void draw_rows(uint64_t seed, struct rows *ret_rows)
{
	uint64_t random = seed * 0x9e3779b97f4a7c15U + 1;
	const uint64_t slices = 1 + draw(&random, seed % 9 == 0 ? TIMES_SLICE_MAX : 200);
	const uint64_t slice_counts = seed % 4 == 0 ? 1ULL << draw(&random, 26) : 1 + seed % 3;
	const uint64_t row_times = 1 + draw(&random, seed % 5 == 0 ? 400 : 6);
	const uint64_t alike = 1 + draw(&random, 8); /* rows of a thread, on average */
	struct rows rows = { .count = 1 + draw(&random, ROWS_MAX) };
	uint32_t thread = 0;

	for (size_t i = 0; i < rows.count; i++) {
		struct window_row *row = &rows.items[i];

		thread += draw(&random, alike) == 0 ? 1 + (uint32_t)draw(&random, 3) : 0;
		*row = (struct window_row){ .thread = thread, .node = (uint32_t)i };
		for (uint64_t j = draw(&random, row_times + 1); j > 0; j--) {
			const uint64_t count = 1 + draw(&random, slice_counts);
			const uint32_t slice = (uint32_t)draw(&random, slices);

			assert_int_equal(row_times_add(&rows.times[i], slice, count), 0);
			row->count += count;
		}
		row_times_join(&rows.times[i]);
		if (row->count == 0 || (seed % 3 == 0 && draw(&random, 4) == 0))
			row->count += 1 + draw(&random, 100);
	}
	*ret_rows = rows;
}

static int write_rows(struct rows *rows, uint8_t **ret_blob, size_t *ret_size)
{
	struct times_writer writer;
	int r;

	times_writer_init(&writer, 10000000);
	for (size_t i = 0; i < rows->count; i++)
		times_writer_add(&writer, &rows->items[i], &rows->times[i]);
	r = times_writer_finish(&writer, 1, ret_blob, ret_size);
	times_writer_done(&writer);
	return r;
}

static void expect_row(const struct row_times *read, const struct row_times *written)
{
	assert_int_equal(read->count, written->count);
	for (size_t i = 0; i < read->count; i++) {
		assert_int_equal(read->items[i].slice, written->items[i].slice);
		assert_int_equal(read->items[i].count, written->items[i].count);
	}
}

/* `is_damaged`: what is read need not be what was written. */
static int read_rows(const uint8_t *blob, size_t size, const struct rows *rows, bool is_damaged)
{
	struct row_times times = { 0 };
	struct times_reader reader;
	int r = times_reader_init(&reader, blob, size);

	if (r < 0)
		return r;
	for (size_t i = 0; r == 0 && i < rows->count; i++) {
		uint64_t counts = 0, timed = 0;

		for (size_t j = i;
			j < rows->count && rows->items[j].thread == rows->items[i].thread; j++)
			counts += rows->items[j].count;
		if (i == 0 || rows->items[i].thread != rows->items[i - 1].thread)
			r = times_reader_begin_thread(&reader, counts);
		if (r == 0)
			r = times_reader_next(&reader, &rows->items[i], &times);
		for (size_t j = 0; r == 0 && j < times.count; j++) {
			timed += times.items[j].count;
			assert_true(times.items[j].slice < TIMES_SLICE_MAX);
		}
		if (r == 0)
			assert_true(timed <= rows->items[i].count);
		if (r == 0 && !is_damaged)
			expect_row(&times, &rows->times[i]);
	}
	if (r == 0)
		r = times_reader_finish(&reader);
	times_reader_done(&reader);
	free(times.items);
	return r;
}

/* Thread by thread, without rows. */
static void read_by_thread(const uint8_t *blob, size_t size, const struct rows *rows)
{
	struct row_times times = { 0 }, sum = { 0 };
	struct times_reader reader;

	assert_int_equal(times_reader_init(&reader, blob, size), 0);
	assert_true(reader.has_threads);
	for (size_t i = 0, next; i < rows->count; i = next) {
		uint64_t counts = 0;

		sum.count = 0;
		for (next = i;
			next < rows->count && rows->items[next].thread == rows->items[i].thread;
			next++) {
			counts += rows->items[next].count;
			for (size_t j = 0; j < rows->times[next].count; j++)
				assert_int_equal(
					row_times_add(&sum, rows->times[next].items[j].slice,
						rows->times[next].items[j].count),
					0);
		}
		row_times_join(&sum);
		assert_int_equal(times_reader_next_thread(&reader, counts, &times), 0);
		expect_row(&times, &sum);
	}
	assert_int_equal(times_reader_finish_threads(&reader), 0);
	times_reader_done(&reader);
	free(times.items);
	free(sum.items);
}

static void all_rows_come_back(void **state)
{
	for (uint64_t seed = 0; seed < 2000; seed++) {
		struct rows rows;
		uint8_t *blob;
		size_t size;

		draw_rows(seed, &rows);
		assert_int_equal(write_rows(&rows, &blob, &size), 0);
		if (blob) {
			assert_int_equal(read_rows(blob, size, &rows, false), 0);
			read_by_thread(blob, size, &rows);
		}
		free(blob);
		rows_done(&rows);
	}
}

/* The bytes that are coded, not the container: a sum would find most damage to that. */
static void damage_is_survived(void **state)
{
	uint64_t random = 1;

	for (uint64_t seed = 0; seed < 500; seed++) {
		struct column_writer writer;
		uint8_t bytes[200], *blob;
		struct rows rows;
		size_t size;
		int r;

		for (size_t i = 0; i < sizeof(bytes); i++)
			bytes[i] = (uint8_t)draw(&random, seed % 2 == 0 ? 256 : 2);
		column_writer_init(&writer, 2 + seed % 3 % 2);
		column_put(&writer, 0, 1000);
		column_put(&writer, 0, writer.count);
		for (unsigned int i = 1; i < writer.count; i++)
			column_put_bytes(&writer, i, bytes, draw(&random, sizeof(bytes) + 1));
		assert_int_equal(column_writer_finish(&writer, 1, &blob, &size), 0);
		column_writer_done(&writer);
		draw_rows(seed, &rows);
		r = read_rows(blob, size, &rows, true);
		assert_true(r == 0 || r == -EBADMSG);
		free(blob);
		rows_done(&rows);
	}
}

/* Rows of one thread and one slice, of so many counts in total. */
static void add_counts(
	struct times_writer *writer, struct row_times *times, uint32_t slice, uint64_t counts)
{
	while (counts > 0) {
		const uint64_t count = counts < TIMES_COUNT_MAX ? counts : TIMES_COUNT_MAX;
		const struct window_row row = { .count = count };

		times->count = 0;
		assert_int_equal(row_times_add(times, slice, count), 0);
		times_writer_add(writer, &row, times);
		counts -= count;
	}
}

/* Rows of version 1, each within its bounds, have more times than a slice of their thread counts.
 * The last row would take more slices than are left. */
static void a_slice_does_not_wrap(void **state)
{
	const struct window_row last = { .count = 1600 };
	struct row_times times = { 0 };
	struct times_writer writer;
	uint8_t *blob = NULL;
	size_t size;

	times_writer_init(&writer, 10000000);
	add_counts(&writer, &times, 0, 1ULL << 38);
	for (uint32_t i = 0; i < 100; i++)
		add_counts(&writer, &times, i,
			(1ULL << 48) + (i < 16 ? -50 : 50) - (i == 0 ? 1ULL << 38 : 0));
	add_counts(&writer, &times, 100, 1ULL << 39);
	times.count = 0;
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(row_times_add(&times, i, 100), 0);
	times_writer_add(&writer, &last, &times);
	assert_int_equal(times_writer_finish(&writer, 1, &blob, &size), -E2BIG);
	times_writer_done(&writer);
	free(times.items);
	assert_null(blob);
}

/* Nor do its counts, with those that have no time. */
static void counts_of_a_thread_do_not_wrap(void **state)
{
	struct rows rows = { .count = 2, .items = { { .count = UINT64_MAX }, { .count = 2 } } };
	uint8_t *blob;
	size_t size;

	for (size_t i = 0; i < rows.count; i++)
		assert_int_equal(row_times_add(&rows.times[i], 0, 2), 0);
	assert_int_equal(write_rows(&rows, &blob, &size), -E2BIG);
	rows_done(&rows);
}

enum { SLICES = 6000, THREADS = 174, THREADS_READ = 200 }; /* of WORK_MAX, 2 * SLICES each */

/* Two rows a thread: the first takes all slices but the last. */
static int write_threads(uint32_t threads, uint8_t **ret_blob, size_t *ret_size)
{
	struct row_times times = { 0 };
	struct times_writer writer;
	int r;

	times_writer_init(&writer, 10000000);
	for (uint32_t i = 0; i < 2 * threads; i++) {
		const uint32_t first = i % 2 == 0 ? 0 : SLICES - 1;
		const uint32_t end = i % 2 == 0 ? SLICES - 1 : SLICES;
		const struct window_row row = { .thread = i / 2, .count = end - first };

		times.count = 0;
		for (uint32_t slice = first; slice < end; slice++)
			assert_int_equal(row_times_add(&times, slice, 1), 0);
		times_writer_add(&writer, &row, &times);
	}
	r = times_writer_finish(&writer, 1, ret_blob, ret_size);
	times_writer_done(&writer);
	free(times.items);
	return r;
}

/* Returns how many threads it has read. */
static uint32_t read_threads(const uint8_t *blob, size_t size)
{
	struct row_times times = { 0 };
	struct times_reader reader;
	uint32_t i;
	int r = times_reader_init(&reader, blob, size);

	assert_int_equal(r, 0);
	for (i = 0; r == 0 && i < 2 * THREADS_READ; i++) {
		const struct window_row row = { .count = i % 2 == 0 ? SLICES - 1 : 1 };

		if (i % 2 == 0)
			r = times_reader_begin_thread(&reader, SLICES);
		if (r == 0)
			r = times_reader_next(&reader, &row, &times);
	}
	assert_true(r == 0 || r == -EBADMSG);
	times_reader_done(&reader);
	free(times.items);
	return r == 0 ? THREADS_READ : (i - 1) / 2;
}

/* Bytes hardly bound it: a number that is 0 takes a thousandth of a bit once its chances have
 * adapted. */
static void work_is_bounded(void **state)
{
	const uint32_t top = SLICES * 65535 - 1; /* so many slices, of all that the rest are 0 */
	struct column_writer writer;
	uint8_t bytes[400], *blob = NULL;
	size_t size;

	assert_int_equal(write_threads(THREADS, &blob, &size), 0);
	free(blob);
	assert_int_equal(write_threads(THREADS + 1, &blob, &size), -E2BIG);
	memset(bytes, 0xff, sizeof(bytes));
	for (size_t i = 0; i < sizeof(top); i++)
		bytes[i] = (uint8_t)(top >> (24 - 8 * i));
	column_writer_init(&writer, 2);
	column_put(&writer, 0, 1000);
	column_put(&writer, 0, 2);
	column_put_bytes(&writer, 1, bytes, sizeof(bytes));
	assert_int_equal(column_writer_finish(&writer, 1, &blob, &size), 0);
	column_writer_done(&writer);
	assert_int_equal(read_threads(blob, size), THREADS);
	free(blob);
}

/* I9: what was written once is read for ever. */
static void earlier_versions_are_read(void **state)
{
	struct rows rows;

	draw_rows(KEPT_SEED, &rows);
	for (size_t i = 0; i < ARRAY_SIZE(kept); i++) {
		FILE *file = fopen(kept[i], "re");
		uint8_t blob[4096];
		size_t size;

		assert_non_null(file);
		size = fread(blob, 1, sizeof(blob), file);
		assert_int_equal(fclose(file), 0);
		assert_int_equal(read_rows(blob, size, &rows, false), 0);
	}
	rows_done(&rows);
}

static void failing_allocations(void **state)
{
	uint8_t *blob = NULL;
	struct rows rows;
	size_t size;

	draw_rows(KEPT_SEED, &rows);
	assert_true(FAIL_EACH_ALLOCATION(write_rows(&rows, &blob, &size), -ENOMEM, !blob, 0) > 8);
	assert_true(
		FAIL_EACH_ALLOCATION(read_rows(blob, size, &rows, false), -ENOMEM, true, 0) > 5);
	free(blob);
	rows_done(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_rows_come_back),
		cmocka_unit_test(damage_is_survived),
		cmocka_unit_test(a_slice_does_not_wrap),
		cmocka_unit_test(counts_of_a_thread_do_not_wrap),
		cmocka_unit_test(work_is_bounded),
		cmocka_unit_test(earlier_versions_are_read),
		cmocka_unit_test(failing_allocations),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
