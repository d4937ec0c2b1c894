/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/build_id.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t bytes[BUILD_ID_BYTES + 1] = { 0x00, 0x01, 0x9a, 0xbc, 0xde, 0xff, 7, 8, 9, 10,
	11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21 };

static void sizes_are_checked(void **state)
{
	struct build_id id, before;

	memset(&id, 0x55, sizeof(id));
	before = id;
	assert_int_equal(build_id_set(&id, bytes, 0), -EINVAL);
	assert_int_equal(build_id_set(&id, bytes, BUILD_ID_BYTES + 1), -EINVAL);
	assert_memory_equal(&id, &before, sizeof(id));
	for (size_t size = 1; size <= BUILD_ID_BYTES; size++) {
		assert_int_equal(build_id_set(&id, bytes, size), 0);
		assert_int_equal(id.size, size);
		assert_memory_equal(id.bytes, bytes, size);
		for (size_t i = size; i < BUILD_ID_BYTES; i++)
			assert_int_equal(id.bytes[i], 0);
	}
}

static void padded_ids_equal_short_ones(void **state)
{
	uint8_t padded[BUILD_ID_BYTES] = { 0 };
	struct build_id short_id, padded_id, other_id;

	memcpy(padded, bytes, 8);
	build_id_set_padded(&padded_id, padded);
	assert_int_equal(padded_id.size, 8);
	assert_int_equal(build_id_set(&short_id, bytes, 8), 0);
	assert_true(build_id_equal(&short_id, &padded_id));
	/* An id may end in zeros; its padded form cannot tell. */
	assert_int_equal(build_id_set(&short_id, padded, 10), 0);
	assert_true(build_id_equal(&short_id, &padded_id));
	assert_int_equal(build_id_set(&other_id, bytes, 9), 0);
	assert_false(build_id_equal(&other_id, &padded_id));
	assert_int_equal(build_id_set(&other_id, bytes + 1, 8), 0);
	assert_false(build_id_equal(&other_id, &padded_id));
}

static void an_empty_id_equals_only_an_empty_id(void **state)
{
	const uint8_t zeros[BUILD_ID_BYTES] = { 0 };
	struct build_id none, zero_id;

	build_id_set_padded(&none, zeros);
	assert_int_equal(none.size, 0);
	assert_true(build_id_equal(&none, &(struct build_id){ 0 }));
	assert_int_equal(build_id_set(&zero_id, zeros, 4), 0);
	assert_false(build_id_equal(&none, &zero_id));
}

static void hex_is_lower_case(void **state)
{
	char hex[BUILD_ID_HEX_BYTES];
	struct build_id id = { 0 };

	memset(hex, 'x', sizeof(hex));
	assert_string_equal(build_id_format(&id, hex), "");
	assert_int_equal(build_id_set(&id, bytes, 6), 0);
	assert_ptr_equal(build_id_format(&id, hex), hex);
	assert_string_equal(hex, "00019abcdeff");
	assert_int_equal(build_id_set(&id, bytes, BUILD_ID_BYTES), 0);
	assert_string_equal(build_id_format(&id, hex), "00019abcdeff0708090a0b0c0d0e0f1011121314");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_checked),
		cmocka_unit_test(padded_ids_equal_short_ones),
		cmocka_unit_test(an_empty_id_equals_only_an_empty_id),
		cmocka_unit_test(hex_is_lower_case),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
