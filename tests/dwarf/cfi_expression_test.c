/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/cfi_expression.h"
#include "tests/dwarf/cfi_fixture.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static struct cfi_value read_bytes(const uint8_t *bytes, size_t size)
{
	const struct cfi_expression expression = { .bytes = bytes, .size = size };

	return cfi_expression_read(&expression);
}

#define READ(...) \
	read_bytes((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

#define assert_value(value, meaning_, register_, offset_, addend_)  \
	do {                                                        \
		struct cfi_value read_ = (value);                   \
		assert_int_equal(read_.meaning, meaning_);          \
		assert_int_equal(read_.register_number, register_); \
		assert_int_equal(read_.offset, offset_);            \
		assert_int_equal(read_.addend, addend_);            \
	} while (0)

#define assert_unknown(...) assert_int_equal(READ(__VA_ARGS__).meaning, CFI_MEANING_UNKNOWN)

static void registers_have_offsets(void **state)
{
	assert_value(READ(0x76, 0x78), CFI_MEANING_REGISTER, RBP, -8, 0);
	assert_value(READ(0x92, 0x21, 5), CFI_MEANING_REGISTER, 33, 5, 0);
	assert_value(READ(0x77, 8, 0x23, 0x80, 1), CFI_MEANING_REGISTER, RSP, 136, 0);
	assert_value(READ(0x77, 8, 0x38, 0x1c), CFI_MEANING_REGISTER, RSP, 0, 0);
}

static void memory_is_read_once(void **state)
{
	assert_value(READ(0x76, 0x78, 6), CFI_MEANING_MEMORY, RBP, -8, 0);
	assert_value(READ(0x77, 0xa8, 4, 6, 0x23, 8), CFI_MEANING_MEMORY, RSP, 552, 8);
	assert_value(READ(0x77, 8, 6, 0x38, 0x22), CFI_MEANING_MEMORY, RSP, 8, 8);
	assert_value(READ(0x77, 8, 6, 0x08, 200, 0x22), CFI_MEANING_MEMORY, RSP, 8, 200);
	assert_value(READ(0x77, 8, 6, 0x09, 0xff, 0x22), CFI_MEANING_MEMORY, RSP, 8, -1);
	assert_value(READ(0x77, 8, 6, 0x0a, 0, 1, 0x22), CFI_MEANING_MEMORY, RSP, 8, 256);
	assert_value(READ(0x77, 8, 6, 0x0b, 0xfe, 0xff, 0x22), CFI_MEANING_MEMORY, RSP, 8, -2);
	assert_value(READ(0x77, 8, 6, 0x0c, 0, 0, 1, 0, 0x22), CFI_MEANING_MEMORY, RSP, 8, 65536);
	assert_value(READ(0x77, 8, 6, 0x0d, 0xfd, 0xff, 0xff, 0xff, 0x22), CFI_MEANING_MEMORY, RSP,
		8, -3);
	assert_value(READ(0x77, 8, 6, 0x10, 16, 0x1c), CFI_MEANING_MEMORY, RSP, 8, -16);
	assert_value(READ(0x77, 8, 6, 0x11, 0x7c, 0x22), CFI_MEANING_MEMORY, RSP, 8, -4);
	assert_unknown(0x77, 8, 6, 6);
}

#define STUB(limit) 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x30 + (limit), 0x2a, 0x33, 0x24, 0x22

static void stubs_are_known(void **state)
{
	assert_value(READ(STUB(11)), CFI_MEANING_STUB, 0, 11, 0);
	assert_value(READ(STUB(5)), CFI_MEANING_STUB, 0, 5, 0);
	assert_unknown(STUB(16));
	assert_unknown(STUB(11), 0x96);
	assert_unknown(0x77, 16, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22);
	assert_unknown(0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x34, 0x24, 0x22);
}

static void other_forms_are_refused(void **state)
{
	static const uint8_t long_one[80] = { 0x77, 8 };

	assert_unknown(0x30);			/* a constant */
	assert_unknown(0x77, 8, 0x79, 0, 0x22); /* two registers */
	assert_unknown(0x77, 8, 0x38, 0x1e);	/* a product */
	assert_unknown(0x77, 8, 0x38);		/* something left */
	assert_unknown(0x77, 0x80);		/* cut off */
	assert_unknown(0x77, 8, 0x23, 0x80);
	assert_unknown(0x77, 8, 0x0c, 1, 2);
	assert_unknown(0x92, 0x80);
	assert_int_equal(read_bytes(long_one, sizeof(long_one)).meaning, CFI_MEANING_UNKNOWN);
	assert_int_equal(read_bytes(long_one, 0).meaning, CFI_MEANING_UNKNOWN);
	assert_int_equal(read_bytes(NULL, 0).meaning, CFI_MEANING_UNKNOWN);
}

/* As of a machine, sums wrap. */
static void sums_wrap(void **state)
{
	assert_value(READ(0x77, 1, 0x23, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1),
		CFI_MEANING_REGISTER, RSP, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(registers_have_offsets),
		cmocka_unit_test(memory_is_read_once),
		cmocka_unit_test(stubs_are_known),
		cmocka_unit_test(other_forms_are_refused),
		cmocka_unit_test(sums_wrap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
