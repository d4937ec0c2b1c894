/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_bytes.h"
#include "dwarf/dwarf_sections.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct dwarf_bytes of(const void *bytes, size_t size)
{
	return (struct dwarf_bytes){
		.position = bytes,
		.end = (const uint8_t *)bytes + size,
	};
}

static void integers_have_either_order(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static const uint64_t ascending[] = { 0x01, 0x0102, 0x01020304, 0x0102030405060708 };
	static const uint64_t descending[] = { 0x01, 0x0201, 0x04030201, 0x0807060504030201 };

	for (size_t i = 0; i < 4; i++) {
		struct dwarf_bytes straight = of(bytes, sizeof(bytes)), swapped = straight;
		uint64_t a, b;

		swapped.is_swapped = true;
		a = dwarf_bytes_integer(&straight, (size_t)1 << i);
		b = dwarf_bytes_integer(&swapped, (size_t)1 << i);
		assert_true((a == ascending[i] && b == descending[i]) ||
			    (a == descending[i] && b == ascending[i]));
		assert_ptr_equal(straight.position, bytes + ((size_t)1 << i));
		assert_false(straight.is_short);
	}
}

static void other_sizes_are_no_integers(void **state)
{
	static const uint8_t byte[8] = { 1, 2, 3 };
	struct dwarf_bytes bytes = of(byte, sizeof(byte));

	assert_int_equal(dwarf_bytes_integer(&bytes, 3), 0x030201);
	assert_false(bytes.is_short);
	bytes.is_swapped = true;
	bytes.position = byte;
	assert_int_equal(dwarf_bytes_integer(&bytes, 3), 0x010203);
	assert_int_equal(dwarf_bytes_integer(&bytes, 5), 0);
	assert_true(bytes.is_short);
}

static void missing_attributes_are_zero(void **state)
{
	static const uint8_t data[] = { 1, 2, 3 };
	struct dwarf_bytes bytes = of(data, sizeof(data)), none = { 0 };

	assert_int_equal(dwarf_bytes_u32(&bytes), 0);
	assert_true(bytes.is_short);
	assert_int_equal(dwarf_bytes_left(&bytes), 0);
	bytes = of(data, sizeof(data));
	assert_null(dwarf_bytes_take(&bytes, UINT64_MAX));
	assert_true(bytes.is_short);
	assert_null(dwarf_bytes_take(&none, 0));
	assert_null(dwarf_bytes_string(&none));
	assert_int_equal(dwarf_bytes_uleb(&none), 0);
	assert_int_equal(dwarf_bytes_sleb(&none), 0);
	assert_true(none.is_short);
}

/* The examples of DWARF 5, tables 7.7 and 7.8, and what lies beyond 64 bits. */
static void leb128_is_read(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t size;
		uint64_t plain;
		int64_t with_sign;
	} examples[] = {
		{ { 2 }, 1, 2, 2 },
		{ { 0x7e }, 1, 0x7e, -2 },
		{ {
			  0x7f,
		  },
			1, 127, -1 },
		{ { 0xff, 0x00 }, 2, 127, 127 },
		{ { 0x81, 0x7f }, 2, 0x3f81, -127 },
		{ { 0x80, 0x01 }, 2, 128, 128 },
		{ { 0x80, 0x7f }, 2, 0x3f80, -128 },
		{ { 0x81, 0x01 }, 2, 129, 129 },
		{ { 0xff, 0x7e }, 2, 0x3f7f, -129 },
		{ { 0x80, 0x80, 0x80, 0x00 }, 4, 0, 0 },
		{ { 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01 }, 10, UINT64_MAX,
			-1 },
		{ { 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f }, 10,
			UINT64_C(1) << 63, INT64_MIN },
		{ { 0x85, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x40 }, 12, 5,
			5 },
	};

	for (size_t i = 0; i < sizeof(examples) / sizeof(*examples); i++) {
		struct dwarf_bytes plain = of(examples[i].bytes, examples[i].size);
		struct dwarf_bytes with_sign = plain;

		assert_true(dwarf_bytes_uleb(&plain) == examples[i].plain);
		assert_true(dwarf_bytes_sleb(&with_sign) == examples[i].with_sign);
		assert_int_equal(dwarf_bytes_left(&plain), 0);
		assert_int_equal(dwarf_bytes_left(&with_sign), 0);
		assert_false(plain.is_short || with_sign.is_short);
	}
}

static void leb128_has_an_end(void **state)
{
	static const uint8_t data[] = { 0x80, 0x81, 0xff };
	struct dwarf_bytes bytes = of(data, sizeof(data)), again = bytes;

	assert_int_equal(dwarf_bytes_uleb(&bytes), 0);
	assert_true(bytes.is_short);
	assert_int_equal(dwarf_bytes_sleb(&again), 0);
	assert_true(again.is_short);
}

static void strings_have_an_end(void **state)
{
	struct dwarf_bytes bytes = of("one\0two", 7);

	assert_string_equal(dwarf_bytes_string(&bytes), "one");
	assert_null(dwarf_bytes_string(&bytes));
	assert_true(bytes.is_short);
}

static void strings_have_a_length(void **state)
{
	size_t size = DWARF_STRING_BYTES_MAX + 2;
	char *data = malloc(size);
	struct dwarf_bytes bytes;

	assert_non_null(data);
	memset(data, 'a', size - 1);
	data[size - 1] = '\0';
	bytes = of(data, size);
	assert_null(dwarf_bytes_string(&bytes));
	bytes = of(data + 2, size - 2);
	assert_ptr_equal(dwarf_bytes_string(&bytes), data + 2);
	free(data);
}

static void lengths_have_two_forms(void **state)
{
	static const uint8_t narrow[] = { 0x10, 0, 0, 0 };
	static const uint8_t wide[] = { 0xff, 0xff, 0xff, 0xff, 0x10, 0, 0, 0, 0, 0, 0, 0x20 };
	static const uint8_t reserved[] = { 0xf0, 0xff, 0xff, 0xff, 1, 0, 0, 0, 0, 0, 0, 0 };
	struct dwarf_bytes bytes = of(narrow, sizeof(narrow));
	bool is_swapped = dwarf_bytes_u32(&bytes) != 0x10;
	uint8_t offset_bytes;

	bytes = of(narrow, sizeof(narrow));
	bytes.is_swapped = is_swapped;
	assert_int_equal(dwarf_bytes_unit_length(&bytes, &offset_bytes), 0x10);
	assert_int_equal(offset_bytes, 4);
	bytes = of(wide, sizeof(wide));
	bytes.is_swapped = is_swapped;
	assert_true(dwarf_bytes_unit_length(&bytes, &offset_bytes) == 0x2000000000000010);
	assert_int_equal(offset_bytes, 8);
	assert_false(bytes.is_short);
	bytes = of(reserved, sizeof(reserved));
	bytes.is_swapped = is_swapped;
	(void)dwarf_bytes_unit_length(&bytes, &offset_bytes);
	assert_true(bytes.is_short);
}

static void strings_of_sections_are_found(void **state)
{
	const struct dwarf_bytes section = of("one\0two\0x", 9), none = { 0 };

	assert_string_equal(dwarf_sections_string(&section, 0), "one");
	assert_string_equal(dwarf_sections_string(&section, 5), "wo");
	assert_null(dwarf_sections_string(&section, 8));
	assert_null(dwarf_sections_string(&section, 9));
	assert_null(dwarf_sections_string(&section, UINT64_MAX));
	assert_null(dwarf_sections_string(&none, 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers_have_either_order),
		cmocka_unit_test(other_sizes_are_no_integers),
		cmocka_unit_test(missing_attributes_are_zero),
		cmocka_unit_test(leb128_is_read),
		cmocka_unit_test(leb128_has_an_end),
		cmocka_unit_test(strings_have_an_end),
		cmocka_unit_test(strings_have_a_length),
		cmocka_unit_test(lengths_have_two_forms),
		cmocka_unit_test(strings_of_sections_are_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
