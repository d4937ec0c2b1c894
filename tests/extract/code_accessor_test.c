/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_accessor.h"

#include "base/array.h"
#include "extract/code_instruction.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define CODE(bytes) bytes, sizeof(bytes) - 1
#define UNKNOWN                            \
	{                                  \
		.kind = CODE_VALUE_UNKNOWN \
	}

/* The code is at 0x1000. */
static const struct {
	const char *text, *code;
	size_t size;
	struct code_value result, argument;
} cases[] = {
	{ "passes on an address behind a pointer, unless it is zero (CPython 3.10, a library)",
		CODE("\x48\x8b\x05\xf9\x0f\x00\x00\x48\x83\xb8\x40\x02\x00\x00\x00\x74\x0f\x48\x8d"
		     "\xb8\x48\x02\x00\x00\xe9\x2b\xd5\xe6\xff\x0f\x1f\x00\x31\xc0\xc3"),
		UNKNOWN, { CODE_VALUE_WORD, 0x2000, 0x248 } },
	{ "the same, compiled the other way round",
		CODE("\x48\x8b\x05\xf9\x0f\x00\x00\x48\x83\xb8\x40\x02\x00\x00\x00\x75\x03\x31\xc0"
		     "\xc3\x48\x8d\xb8\x48\x02\x00\x00\xe9\x2b\xd5\xe6\xff"),
		UNKNOWN, { CODE_VALUE_WORD, 0x2000, 0x248 } },
	{ "passes on a number (CPython 3.11, a program)",
		CODE("\x48\x83\x3d\xf8\x0f\x00\x00\x00\x0f\x84\x1f\xc8\xf2\xff\x8b\x3d\xec\x1f\x00"
		     "\x00\xe9\xa7\x8a\xf2\xff"),
		UNKNOWN, { CODE_VALUE_NUMBER, 0x3000, 0 } },
	{ "passes on a number behind a pointer",
		CODE("\x48\x8b\x05\xf9\x0f\x00\x00\x8b\xb8\x54\x02\x00\x00\xe9\x00\x00\x00\x00"),
		UNKNOWN, { CODE_VALUE_NUMBER_BEHIND, 0x2000, 0x254 } },
	{ "passes on an address that it keeps over a call (CPython 3.12)",
		CODE("\x48\x8b\x05\xf9\x0f\x00\x00\x53\x48\x8d\x98\x08\x06\x00\x00\x48\x89\xdf\xe8"
		     "\x29\x20\xe3\xff\x85\xc0\x74\x0b\x48\x89\xdf\x5b\xe9\xec\x36\xe3\xff\x0f\x1f"
		     "\x40\x00\x31\xc0\x5b\xc3"),
		UNKNOWN, { CODE_VALUE_WORD, 0x2000, 0x608 } },
	{ "passes on a word to which it adds a distance (CPython 3.14, clang, musl)",
		CODE("\x53\xbb\x20\x09\x00\x00\x48\x03\x1d\xf3\x0f\x00\x00\x48\x89\xdf\xe8\x00\x00"
		     "\x00\x00\x85\xc0\x74\x09\x48\x89\xdf\x5b\xe9\x00\x00\x00\x00\x31\xc0\x5b"
		     "\xc3"),
		UNKNOWN, { CODE_VALUE_WORD, 0x2000, 0x920 } },
	{ "adds what is no word",
		CODE("\xbf\x20\x09\x00\x00\x48\x01\xf7\x48\x03\xf8\xe9\x00\x00\x00\x00"), UNKNOWN,
		UNKNOWN },
	{ "passes on an address (lea)", CODE("\x48\x8d\x3d\xf9\x0f\x00\x00\xe9\x00\x00\x00\x00"),
		UNKNOWN, { CODE_VALUE_ADDRESS, 0x2000, 0 } },
	{ "passes on an address (mov)", CODE("\xbf\x00\x20\x40\x00\xe9\x00\x00\x00\x00"), UNKNOWN,
		{ CODE_VALUE_ADDRESS, 0x402000, 0 } },
	{ "returns a variable of the thread, by __tls_get_addr() (CPython 3.12, a library)",
		CODE("\x48\x83\xec\x08\x66\x48\x8d\x3d\xf4\x0f\x00\x00\x66\x66\x48\xe8\x00\x00\x00"
		     "\x00\x48\x8b\x00\x48\x83\xc4\x08\xc3"),
		{ CODE_VALUE_RESULT_WORD, 0x2000, 0 }, { CODE_VALUE_ADDRESS, 0x2000, 0 } },
	{ "the same, 8 bytes behind the module's first (CPython 3.14)",
		CODE("\xf3\x0f\x1e\xfa\x48\x83\xec\x08\x48\x8d\x3d\xf1\x0f\x00\x00\xe8\x00\x00\x00"
		     "\x00\x48\x8b\x80\x08\x00\x00\x00\x48\x83\xc4\x08\xc3"),
		{ CODE_VALUE_RESULT_WORD, 0x2000, 8 }, { CODE_VALUE_ADDRESS, 0x2000, 0 } },
	{ "returns a variable of the thread, at a known place",
		CODE("\xf3\x0f\x1e\xfa\x64\x48\x8b\x04\x25\xe8\xff\xff\xff\xc3"),
		{ CODE_VALUE_THREAD_WORD, 0, -24 }, UNKNOWN },
	{ "the same, from the thread pointer (clang)",
		CODE("\x64\x48\x8b\x04\x25\x00\x00\x00\x00\x48\x8b\x80\xe8\xff\xff\xff\xc3"),
		{ CODE_VALUE_THREAD_WORD, 0, -24 }, UNKNOWN },
	{ "the same, in two steps",
		CODE("\x64\x48\x8b\x04\x25\x00\x00\x00\x00\x48\x8d\x80\xe0\xff\xff\xff\x48\x8b\x40"
		     "\x08\xc3"),
		{ CODE_VALUE_THREAD_WORD, 0, -24 }, UNKNOWN },
	{ "returns a variable of the thread, whose place is in a slot",
		CODE("\x48\x8b\x05\xf9\x0f\x00\x00\x64\x48\x8b\x00\xc3"),
		{ CODE_VALUE_SLOT_WORD, 0x2000, 0 }, UNKNOWN },
	{ "the same, in a register that needs a prefix",
		CODE("\x4c\x8b\x1d\xf9\x0f\x00\x00\x64\x49\x8b\x43\x10\xc3"),
		{ CODE_VALUE_SLOT_WORD, 0x2000, 16 }, UNKNOWN },
	{ "an index", CODE("\x64\x48\x8b\x04\xf8\xc3"), UNKNOWN, UNKNOWN },
	{ "half a number", CODE("\x66\x8b\x3d\xf9\x0f\x00\x00\xe9\x00\x00\x00\x00"), UNKNOWN,
		UNKNOWN },
	{ "an instruction that is not read forgets what was known",
		CODE("\x48\x8d\x3d\xf9\x0f\x00\x00\x48\x0f\xaf\xf8\xe9\x00\x00\x00\x00"), UNKNOWN,
		UNKNOWN },
	{ "a register that has been changed",
		CODE("\x48\x8d\x3d\xf9\x0f\x00\x00\x48\x83\xc7\x08\xe9\x00\x00\x00\x00"), UNKNOWN,
		UNKNOWN },
	{ "calls change registers",
		CODE("\x48\x8d\x05\xf9\x0f\x00\x00\xe8\x00\x00\x00\x00\x48\x89\xc7\xe9\x00\x00\x00"
		     "\x00"),
		UNKNOWN, UNKNOWN },
	{ "ends in the midst of an instruction", CODE("\x48\x8d\x3d\xf9\x0f"), UNKNOWN, UNKNOWN },
	{ "no instruction", CODE("\x06\x06\x06"), UNKNOWN, UNKNOWN },
	{ "nothing", CODE(""), UNKNOWN, UNKNOWN },
};

static bool is_equal(const struct code_value *a, const struct code_value *b)
{
	return a->kind == b->kind &&
	       (a->kind == CODE_VALUE_UNKNOWN || (a->place == b->place && a->offset == b->offset));
}

static void functions_tell_their_variables(void **state)
{
	assert_int_equal(code_instruction_load(NULL), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct code_accessor accessor;

		code_accessor_read(
			(const uint8_t *)cases[i].code, cases[i].size, 0x1000, &accessor);
		if (!is_equal(&accessor.result, &cases[i].result) ||
			!is_equal(&accessor.argument, &cases[i].argument))
			fail_msg("%s: result %d 0x%lx %ld, argument %d 0x%lx %ld", cases[i].text,
				accessor.result.kind, accessor.result.place, accessor.result.offset,
				accessor.argument.kind, accessor.argument.place,
				accessor.argument.offset);
	}
}

/* mov 16(%rdi),%rax; mov 80(%rax),%rax; ret: of the argument */
static void functions_tell_the_fields_that_they_return(void **state)
{
	static const char code[] = "\xf3\x0f\x1e\xfa\x48\x8b\x47\x10\x48\x8b\x40\x50\xc3";
	struct code_accessor accessor;

	code_accessor_read((const uint8_t *)code, sizeof(code) - 1, 0x1000, &accessor);
	assert_int_equal(accessor.result.kind, CODE_VALUE_PARAMETER_BEHIND);
	assert_int_equal(accessor.result.offset, 16);
	assert_int_equal(accessor.result.place, 80);
	assert_int_equal(accessor.variable.kind, CODE_VALUE_UNKNOWN);
	assert_int_equal(accessor.callee, 0);
}

/* rb_iseq_eval() of Ruby 3.3, in short: the variable is not what it returns, and what is behind its
 * end is not what it calls last. */
static void functions_tell_what_they_load_first_and_call_last(void **state)
{
	static const char code[] = "\x64\x48\x8b\x04\x25\xe8\xff\xff\xff\x48\x8b\x40\x30"
				   "\xe8\x00\x00\x00\x00\xe9\xe9\x0f\x00\x00\xe8\x00\x00\x00\x00";
	struct code_accessor accessor;

	code_accessor_read((const uint8_t *)code, sizeof(code) - 1, 0x1000, &accessor);
	assert_int_equal(accessor.variable.kind, CODE_VALUE_THREAD_WORD);
	assert_int_equal(accessor.variable.offset, -24);
	assert_int_equal(accessor.callee, 0x2000);
}

/* The first test: Zydis is not loaded yet. */
static void without_a_decoder_nothing_is_read(void **state)
{
	struct code_accessor accessor;

	assert_false(code_instruction_is_loaded());
	code_accessor_read((const uint8_t *)cases[0].code, cases[0].size, 0x1000, &accessor);
	assert_int_equal(accessor.argument.kind, CODE_VALUE_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_decoder_nothing_is_read),
		cmocka_unit_test(functions_tell_their_variables),
		cmocka_unit_test(functions_tell_the_fields_that_they_return),
		cmocka_unit_test(functions_tell_what_they_load_first_and_call_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
