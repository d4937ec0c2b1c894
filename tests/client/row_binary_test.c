/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "client/row_binary.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static struct row_reader reader_of(const void *bytes, size_t size)
{
	return (struct row_reader){ .at = bytes, .end = (const uint8_t *)bytes + size };
}

/* As `SELECT toUInt8(7), toUInt32(258), 0x0102030405060708, 1.5, 'abc', [toUInt32(9)] FORMAT
 * RowBinary` answers. */
static const uint8_t row[] = "\x07\x02\x01\x00\x00\x08\x07\x06\x05\x04\x03\x02\x01"
			     "\x00\x00\x00\x00\x00\x00\xf8\x3f\x03"
			     "abc\x01\x09\x00\x00";

static void values_are_read(void **state)
{
	struct row_reader reader = reader_of(row, sizeof(row)); /* the NUL is the last byte */
	struct row_text text;

	assert_int_equal(row_u8(&reader), 7);
	assert_int_equal(row_u32(&reader), 258);
	assert_int_equal(row_u64(&reader), 0x0102030405060708);
	assert_true(row_f64(&reader) == 1.5);
	text = row_text(&reader);
	assert_int_equal(text.size, 3);
	assert_memory_equal(text.bytes, "abc", 3);
	assert_true(row_reader_has_more(&reader));
	assert_int_equal(row_array(&reader, 4), 1);
	assert_int_equal(row_u32(&reader), 9);
	assert_false(row_reader_has_more(&reader));
	assert_false(reader.is_broken);
}

static void what_is_cut_is_broken(void **state)
{
	for (size_t size = 0; size < sizeof(row); size++) {
		struct row_reader reader = reader_of(row, size);

		(void)row_u8(&reader);
		(void)row_u32(&reader);
		(void)row_u64(&reader);
		(void)row_f64(&reader);
		(void)row_text(&reader);
		for (size_t i = row_array(&reader, 4); i > 0; i--)
			(void)row_u32(&reader);
		assert_true(reader.is_broken);
		assert_false(row_reader_has_more(&reader));
		assert_int_equal(row_u64(&reader), 0);
		assert_int_equal(row_text(&reader).size, 0);
	}
}

static void lengths_that_cannot_be_are_broken(void **state)
{
	static const uint8_t long_text[] = "\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
	static const uint8_t endless[] = "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01";
	static const uint8_t array[] = "\x03\x00\x00\x00\x00\x00\x00\x00\x00";
	struct row_reader reader = reader_of(long_text, sizeof(long_text));

	assert_int_equal(row_text(&reader).size, 0);
	assert_true(reader.is_broken);
	reader = reader_of(endless, sizeof(endless));
	assert_int_equal(row_text(&reader).size, 0);
	assert_true(reader.is_broken);
	reader = reader_of(array, sizeof(array));
	assert_int_equal(row_array(&reader, 8), 0);
	assert_true(reader.is_broken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(values_are_read),
		cmocka_unit_test(what_is_cut_is_broken),
		cmocka_unit_test(lengths_that_cannot_be_are_broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
