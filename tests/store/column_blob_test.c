/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/column_blob.h"
#include "store/varint.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include <cmocka.h>

static const uint64_t numbers[] = { 0, 1, 127, 128, 300, 1ULL << 32, INT64_MAX, UINT64_MAX };
enum { NUMBERS = sizeof(numbers) / sizeof(*numbers) };

static void varints_come_back(void **state)
{
	uint8_t bytes[VARINT_BYTES_MAX];

	for (size_t i = 0; i < NUMBERS; i++) {
		size_t size = varint_put(bytes, numbers[i]);
		const uint8_t *next = bytes;
		uint64_t value = 77;

		assert_true(varint_get(&next, bytes + size, &value));
		assert_int_equal(value, numbers[i]);
		assert_ptr_equal(next, bytes + size);
		for (size_t cut = 0; cut < size; cut++) {
			next = bytes;
			value = 77;
			assert_false(varint_get(&next, bytes + cut, &value));
			assert_int_equal(value, 77);
		}
	}
}

static void varints_that_are_too_long(void **state)
{
	static const uint8_t above[] = { 255, 255, 255, 255, 255, 255, 255, 255, 255, 2 };
	static const uint8_t longer[] = { 128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 0 };
	const uint8_t *next = above;
	uint64_t value;

	assert_false(varint_get(&next, above + sizeof(above), &value));
	next = longer;
	assert_false(varint_get(&next, longer + sizeof(longer), &value));
}

static void columns_come_back(void **state)
{
	struct column_writer writer;
	struct column_reader reader;
	uint8_t *blob;
	size_t size, bytes, plain_size;

	column_writer_init(&writer, 3);
	for (size_t i = 0; i < NUMBERS; i++) {
		column_put(&writer, 0, numbers[i]);
		column_put_difference(&writer, 2, numbers[NUMBERS - 1 - i], numbers[i]);
	}
	column_put_bytes(&writer, 1, "text", 4);
	column_put_bytes(&writer, 1, NULL, 0);
	bytes = column_writer_bytes(&writer);
	assert_int_equal(column_writer_finish(&writer, 5, &blob, &size), 0);
	column_writer_done(&writer);
	assert_int_equal(blob[0], COLUMN_BLOB_VERSION);

	assert_int_equal(column_blob_measure(blob, size, &plain_size), 0);
	assert_int_equal(plain_size, 4 + bytes);
	assert_int_equal(column_reader_init(&reader, 2, blob, size), -EBADMSG);
	assert_int_equal(column_reader_init_range(&reader, 1, 2, blob, size), -EBADMSG);
	assert_int_equal(column_reader_init_range(&reader, 4, 5, blob, size), -EBADMSG);
	assert_int_equal(column_reader_init_range(&reader, 2, 4, blob, size), 0);
	assert_int_equal(reader.count, 3);
	assert_int_equal(column_left(&reader, 3), 0);
	column_reader_done(&reader);
	assert_int_equal(column_reader_init(&reader, 3, blob, size), 0);
	assert_int_equal(reader.count, 3);
	for (size_t i = 0; i < NUMBERS; i++) {
		assert_int_equal(column_get(&reader, 0), numbers[i]);
		assert_int_equal(
			column_get_difference(&reader, 2, numbers[NUMBERS - 1 - i]), numbers[i]);
	}
	assert_false(column_reader_is_whole(&reader));
	assert_int_equal(column_left(&reader, 1), 4);
	assert_memory_equal(column_get_bytes(&reader, 1, 4), "text", 4);
	assert_true(column_reader_is_whole(&reader));
	assert_int_equal(column_get(&reader, 0), 0);
	assert_true(reader.is_damaged);
	assert_false(column_reader_is_whole(&reader));
	column_reader_done(&reader);
	free(blob);
}

static void reading_beyond_a_column_reports_damage(void **state)
{
	struct column_writer writer;
	struct column_reader reader;
	uint8_t *blob;
	size_t size, plain_size;

	column_writer_init(&writer, 1);
	column_put(&writer, 0, 10);
	column_put(&writer, 0, 11);
	assert_int_equal(column_writer_finish(&writer, 5, &blob, &size), 0);
	column_writer_done(&writer);
	assert_int_equal(column_reader_init(&reader, 1, blob, size), 0);
	assert_int_equal(column_get_below(&reader, 0, 11), 10);
	assert_false(reader.is_damaged);
	assert_int_equal(column_get_below(&reader, 0, 11), 0);
	assert_true(reader.is_damaged);
	column_reader_done(&reader);
	assert_int_equal(column_reader_init(&reader, 1, blob, size), 0);
	assert_null(column_get_bytes(&reader, 0, 3));
	assert_true(reader.is_damaged);
	column_reader_done(&reader);
	assert_int_equal(column_reader_init(&reader, 1, blob, 0), -EBADMSG);
	assert_int_equal(column_blob_measure(blob, 0, &plain_size), -EBADMSG);
	blob[0]++;
	assert_int_equal(column_reader_init(&reader, 1, blob, size), -EPROTONOSUPPORT);
	assert_int_equal(column_blob_measure(blob, size, &plain_size), -EPROTONOSUPPORT);
	free(blob);
}

/* Heads that tell of more, or less, than there is. */
static void heads_that_lie(void **state)
{
	static const uint8_t plains[][4] = { { 1, 2, 9, 9 }, { 1, 1, 9, 9 }, { 1, 3, 9, 9 },
		{ 2, 1, 9, 9 }, { 1, 0xff, 0xff, 0xff }, { 0, 0, 0, 0 } };
	uint8_t blob[64];
	struct column_reader reader;

	for (size_t i = 0; i < sizeof(plains) / sizeof(*plains); i++) {
		size_t size = ZSTD_compress(blob + 1, sizeof(blob) - 1, plains[i], 4, 1);

		assert_false(ZSTD_isError(size));
		blob[0] = COLUMN_BLOB_VERSION;
		assert_int_equal(
			column_reader_init(&reader, 1, blob, size + 1), i == 0 ? 0 : -EBADMSG);
		if (i == 0)
			column_reader_done(&reader);
	}
}

/* Zeros, so that little tells of much. */
static void a_blob_of_more_than_the_bound(void **state)
{
	size_t plain_size = COLUMN_BLOB_PLAIN_MAX + 1, bound = ZSTD_compressBound(plain_size), size;
	uint8_t *plain = calloc(1, plain_size), *blob = malloc(bound + 1), *none = NULL;
	struct column_writer writer;
	struct column_reader reader;

	assert_true(plain && blob);
	size = ZSTD_compress(blob + 1, bound, plain, plain_size, 1);
	blob[0] = COLUMN_BLOB_VERSION;
	assert_int_equal(column_reader_init(&reader, 1, blob, size + 1), -EBADMSG);
	assert_int_equal(column_blob_measure(blob, size + 1, &size), -EBADMSG);
	column_writer_init(&writer, 2);
	column_put_bytes(&writer, 0, plain, COLUMN_BLOB_PLAIN_MAX);
	assert_int_equal(column_writer_finish(&writer, 1, &none, &size), -E2BIG);
	column_put_bytes(&writer, 0, plain, 1);
	assert_int_equal(column_writer_finish(&writer, 1, &none, &size), -E2BIG);
	assert_null(none);
	column_writer_done(&writer);
	free(plain);
	free(blob);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints_come_back),
		cmocka_unit_test(varints_that_are_too_long),
		cmocka_unit_test(columns_come_back),
		cmocka_unit_test(reading_beyond_a_column_reports_damage),
		cmocka_unit_test(heads_that_lie),
		cmocka_unit_test(a_blob_of_more_than_the_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
