/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/protobuf.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { LIMIT = 1 << 20 };

static void expect_bytes(const struct protobuf *message, const char *hex)
{
	char *found = malloc(2 * message->size + 1);

	assert_non_null(found);
	found[0] = '\0';
	for (size_t i = 0; i < message->size; i++)
		(void)snprintf(found + 2 * i, 3, "%02x", message->bytes[i]);
	assert_int_equal(message->error, 0);
	assert_string_equal(found, hex);
	free(found);
}

/* The examples of the format's own description, and the ends of the range. */
static void numbers_are_varints(void **state)
{
	struct protobuf message;

	protobuf_init(&message, LIMIT);
	protobuf_u64(&message, 1, 150);
	protobuf_u64(&message, 2, 0);
	protobuf_u64(&message, 16, 127);
	protobuf_u64(&message, 3, 128);
	expect_bytes(&message, "089601"
			       "80017f"
			       "188001");
	protobuf_clear(&message);
	protobuf_u64(&message, 1, UINT64_MAX);
	protobuf_u64(&message, (1 << 29) - 1, 1);
	expect_bytes(&message, "08ffffffffffffffffff01"
			       "f8ffffff0f01");
	protobuf_done(&message);
}

static void fixed_numbers_have_eight_bytes(void **state)
{
	struct protobuf message;

	protobuf_init(&message, LIMIT);
	protobuf_fixed64(&message, 3, 0x0102030405060708);
	protobuf_fixed64(&message, 3, 0);
	expect_bytes(&message, "190807060504030201");
	protobuf_done(&message);
}

static void strings_have_a_length(void **state)
{
	struct protobuf message;

	protobuf_init(&message, LIMIT);
	protobuf_bytes(&message, 2, "testing", 7);
	protobuf_bytes(&message, 6, "", 0);
	protobuf_bytes(&message, 6, NULL, 0);
	expect_bytes(&message, "120774657374696e67"
			       "3200"
			       "3200");
	protobuf_done(&message);
}

static void messages_nest(void **state)
{
	struct protobuf message;
	size_t outer, inner;

	protobuf_init(&message, LIMIT);
	outer = protobuf_begin(&message, 4);
	protobuf_u64(&message, 1, 1);
	inner = protobuf_begin(&message, 4);
	protobuf_varint(&message, 0);
	protobuf_varint(&message, 300);
	protobuf_end(&message, inner);
	inner = protobuf_begin(&message, 5);
	protobuf_end(&message, inner);
	protobuf_end(&message, outer);
	expect_bytes(&message, "2209"
			       "0801"
			       "2203"
			       "00ac02"
			       "2a00");
	protobuf_done(&message);
}

/* Contents that need one, two and three bytes for their length, one within the other. */
static void long_messages_move_over(void **state)
{
	static const size_t sizes[] = { 0, 1, 126, 127, 128, 129, 16382, 16383, 16384, 20000 };
	static char text[20000];

	memset(text, 'x', sizeof(text));
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t prefix = sizes[i] < 128 ? 1 : sizes[i] < 16384 ? 2 : 3;
		struct protobuf message, flat;
		size_t outer, inner;

		protobuf_init(&message, LIMIT);
		outer = protobuf_begin(&message, 1);
		inner = protobuf_begin(&message, 2);
		for (size_t j = 0; j < sizes[i]; j++)
			protobuf_varint(&message, 'x');
		protobuf_end(&message, inner);
		protobuf_end(&message, outer);

		protobuf_init(&flat, LIMIT);
		protobuf_bytes(&flat, 2, text, sizes[i]);
		assert_int_equal(flat.size, 1 + prefix + sizes[i]);
		assert_true(message.size > flat.size);
		assert_memory_equal(
			message.bytes + message.size - flat.size, flat.bytes, flat.size);
		protobuf_clear(&flat);
		protobuf_varint(&flat, 1 + prefix + sizes[i]);
		assert_int_equal(message.bytes[0], 0x0a);
		assert_memory_equal(message.bytes + 1, flat.bytes, flat.size);
		protobuf_done(&message);
		protobuf_done(&flat);
	}
}

static void limit_is_kept(void **state)
{
	struct protobuf message;
	size_t begin;

	protobuf_init(&message, 8);
	protobuf_bytes(&message, 1, "123456", 6);
	expect_bytes(&message, "0a06313233343536");
	protobuf_u64(&message, 1, 1);
	assert_int_equal(message.error, -E2BIG);
	assert_int_equal(message.size, 8);
	protobuf_done(&message);

	protobuf_init(&message, 100);
	protobuf_bytes(&message, 1, "1", SIZE_MAX);
	assert_int_equal(message.error, -E2BIG);
	protobuf_done(&message);

	/* It has room for the content, but not for its length. */
	protobuf_init(&message, 2 + 128);
	begin = protobuf_begin(&message, 1);
	for (int i = 0; i < 128; i++)
		protobuf_varint(&message, 1);
	assert_int_equal(message.error, 0);
	protobuf_end(&message, begin);
	assert_int_equal(message.error, -E2BIG);
	protobuf_done(&message);
}

static void errors_stick(void **state)
{
	struct protobuf message;
	size_t begin;

	protobuf_init(&message, 3);
	protobuf_bytes(&message, 1, "123456", 6);
	assert_int_equal(message.error, -E2BIG);
	protobuf_clear(&message);
	begin = protobuf_begin(&message, 1);
	protobuf_varint(&message, 1);
	protobuf_end(&message, begin);
	assert_int_equal(message.error, -E2BIG);
	assert_int_equal(message.size, 0);
	protobuf_done(&message);
}

static void write_some(struct protobuf *message)
{
	size_t begin = protobuf_begin(message, 1);

	for (uint64_t i = 0; i < 1000; i++)
		protobuf_u64(message, 2, i);
	protobuf_end(message, begin);
}

static void failing_allocations_are_reported(void **state)
{
	struct protobuf message;
	size_t n;

	for (n = 0;; n++) {
		protobuf_init(&message, LIMIT);
		fail_allocation(n);
		write_some(&message);
		if (!allocation_failed())
			break;
		assert_int_equal(message.error, -ENOMEM);
		protobuf_done(&message);
	}
	assert_int_equal(message.error, 0);
	assert_true(n >= 5);
	protobuf_done(&message);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_varints),
		cmocka_unit_test(fixed_numbers_have_eight_bytes),
		cmocka_unit_test(strings_have_a_length),
		cmocka_unit_test(messages_nest),
		cmocka_unit_test(long_messages_move_over),
		cmocka_unit_test(limit_is_kept),
		cmocka_unit_test(errors_stick),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
