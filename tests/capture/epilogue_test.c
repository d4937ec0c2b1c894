/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Steps by the epilogue, compiled for the host, on a made-up stack and a page of code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "base/array.h"
#include "bpf/epilogue.bpf.h"

#define CODE_START  0x401000ULL
#define STACK_START 0x7ffc00000000ULL
/* Any eight bytes there end with call *%rax. */
#define CALLERS_START 0x500000ULL
#define INDIRECT_CALL 0xd0ff909090909090ULL

enum { PAGE_BYTES = 4096 };

static __u8 code[2 * PAGE_BYTES];
static size_t code_bytes = PAGE_BYTES; /* behind it there is no memory */
static __u64 stack[4096];

static int can_copy(
	void *to, size_t bytes, __u64 address, const void *from, size_t size, __u64 start)
{
	if (address < start || address - start > size || bytes > size - (address - start))
		return 0;
	memcpy(to, (const char *)from + (address - start), bytes);
	return 1;
}

static __always_inline int can_read_user(
	struct walk *walk, __u64 *words, __u32 count, __u64 address)
{
	if (address >= CALLERS_START - 8 && address < CALLERS_START + ARRAY_SIZE(stack)) {
		*words = INDIRECT_CALL;
		return 1;
	}
	return can_copy(words, count * sizeof(*words), address, code, code_bytes, CODE_START) ||
	       can_copy(words, count * sizeof(*words), address, stack, sizeof(stack), STACK_START);
}

static __always_inline int can_read_own_user(__u64 *words, __u32 count, __u64 address)
{
	return can_read_user(NULL, words, count, address);
}

static __always_inline int can_read_pt_regs(
	struct walk *walk, __u64 *words, __u32 count, __u32 place)
{
	(void)words, (void)count, (void)place;
	return 0;
}

static __u64 at(unsigned word)
{
	return STACK_START + 8 * word;
}

/* At the return address `ip`, with the stack pointer at word 4. Each word of the stack is an
 * address that tells the word. */
static struct walk walk_at(__u64 ip)
{
	struct walk walk = {
		.ip = ip,
		.sp = at(4),
		.fp = { 77, SAVED_VALUE, 0 },
		.rbx = { 78, SAVED_VALUE, 0 },
	};

	for (unsigned i = 0; i < ARRAY_SIZE(stack); i++)
		stack[i] = CALLERS_START + i;
	return walk;
}

struct epilogue {
	const char *name;
	__u8 bytes[24];
	unsigned returns_at;	 /* the word with the return address; 0: this is no epilogue */
	unsigned rbp_at, rbx_at; /* 0: unchanged */
};

static const struct epilogue epilogues[] = {
	{ "ret", { 0xc3 }, 4, 0, 0 },
	{ "add $8, %rsp; ret", { 0x48, 0x83, 0xc4, 8, 0xc3 }, 5, 0, 0 },
	{ "pop %rbp; ret", { 0x5d, 0xc3 }, 5, 4, 0 },
	{ "add $0x18, %rsp; pop %rbx; pop %rbp; pop %r12; pop %r15; ret",
		{ 0x48, 0x83, 0xc4, 0x18, 0x5b, 0x5d, 0x41, 0x5c, 0x41, 0x5f, 0xc3 }, 11, 8, 7 },
	{ "pop %r11; pop %r13; pop %rbx; ret", { 0x41, 0x5b, 0x41, 0x5d, 0x5b, 0xc3 }, 7, 0, 6 },
	{ "add $0x400, %rsp; ret", { 0x48, 0x81, 0xc4, 0, 4, 0, 0, 0xc3 }, 132, 0, 0 },
	{ "seven pops; ret", { 0x58, 0x59, 0x5a, 0x5e, 0x5f, 0x5b, 0x5d, 0xc3 }, 11, 10, 9 },
	{ "eight pops; ret", { 0x58, 0x59, 0x5a, 0x5e, 0x5f, 0x5b, 0x5d, 0x58, 0xc3 }, 0, 0, 0 },
	{ "pop %rsp; ret", { 0x5b, 0x5c, 0xc3 }, 0, 0, 0 },
	{ "add $-8, %rsp; ret", { 0x48, 0x83, 0xc4, 0xf8, 0xc3 }, 0, 0, 0 },
	{ "add $-0x400, %rsp; ret", { 0x48, 0x81, 0xc4, 0, 0xfc, 0xff, 0xff, 0xc3 }, 0, 0, 0 },
	{ "add $8, %rax; ret", { 0x48, 0x83, 0xc0, 8, 0xc3 }, 0, 0, 0 },
	{ "leave; ret", { 0xc9, 0xc3 }, 0, 0, 0 },
	{ "pop %rbp; mov %rax, %rbx; ret", { 0x5d, 0x48, 0x89, 0xc3, 0xc3 }, 0, 0, 0 },
};

static void check_saved(const struct saved_register *saved, unsigned saved_at, __u64 value)
{
	assert_int_equal(saved->kind, saved_at ? SAVED_AT_ADDRESS : SAVED_VALUE);
	assert_int_equal(saved->word, saved_at ? at(saved_at) : value);
}

/* But for what the try itself noted. */
static void check_unchanged(const struct walk *walk, const struct walk *before)
{
	struct walk expected = *before;

	expected.fp_before = walk->fp_before;
	expected.rbx_before = walk->rbx_before;
	assert_memory_equal(walk, &expected, sizeof(expected));
}

static void check_epilogue(const struct epilogue *epilogue, size_t offset)
{
	struct walk walk = walk_at(CODE_START + offset), before = walk;
	int end;

	memset(code, 0x90, sizeof(code));
	memcpy(code + offset, epilogue->bytes, sizeof(epilogue->bytes));
	end = step_by_epilogue(&walk);
	if (end != (epilogue->returns_at ? WALK_ON : NO_EPILOGUE))
		fail_msg("%s at %zu: %d", epilogue->name, offset, end);
	if (!epilogue->returns_at) {
		check_unchanged(&walk, &before);
		return;
	}
	assert_int_equal(walk.ip, CALLERS_START + epilogue->returns_at);
	assert_int_equal(walk.sp, at(epilogue->returns_at + 1));
	assert_int_equal(walk.words_read, 1);
	assert_false(walk.read_more);
	check_saved(&walk.fp, epilogue->rbp_at, 77);
	check_saved(&walk.rbx, epilogue->rbx_at, 78);
}

static void epilogues_lead_to_the_return_address(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(epilogues); i++)
		check_epilogue(&epilogues[i], 16);
}

/* Behind the page there is no memory. */
static void an_epilogue_may_end_with_its_page(void **state)
{
	check_epilogue(&epilogues[1], PAGE_BYTES - 5);
	check_epilogue(&epilogues[2], PAGE_BYTES - 2);
	check_epilogue(&epilogues[3], PAGE_BYTES - 11);
	for (size_t missing = 1; missing < 5; missing++) {
		struct epilogue cut = epilogues[1];

		cut.returns_at = 0;
		check_epilogue(&cut, PAGE_BYTES - 5 + missing);
	}
}

static void an_epilogue_may_go_on_in_the_next_page(void **state)
{
	code_bytes = sizeof(code);
	for (size_t i = 0; i < ARRAY_SIZE(epilogues); i++)
		for (size_t before = 1; before < sizeof(epilogues[i].bytes); before++)
			check_epilogue(&epilogues[i], PAGE_BYTES - before);
	code_bytes = PAGE_BYTES;
}

static void without_code_there_is_no_epilogue(void **state)
{
	struct walk walk = walk_at(CODE_START - 4096), before = walk;

	assert_int_equal(step_by_epilogue(&walk), NO_EPILOGUE);
	check_unchanged(&walk, &before);
}

/* What is at the return address counts in the next step, too. */
static void an_epilogue_returns_to_a_made_frame(void **state)
{
	static const uint8_t made[] = { 0x4c, 0x8b, 0x65, 0xe0, 0x90, 0x90, 0x90, 0x90 };
	struct walk walk = walk_at(CODE_START);

	memset(code, 0xcc, sizeof(code));
	code[0] = 0xc3;
	memcpy(code + 64, made, sizeof(made)); /* mov -0x20(%rbp), %r12 */
	stack[4] = CODE_START + 64;
	assert_int_equal(step_by_epilogue(&walk), WALK_ON);
	assert_int_equal(walk.ip, CODE_START + 64);
	assert_int_equal(walk.doubt, WALK_IN_MADE_FRAME);
}

/* Then a wrong guess has led to it. */
static void an_epilogue_without_a_caller_is_none(void **state)
{
	static const __u64 words[] = { 0, 1, CODE_START, CODE_START + 64, STACK_START };

	memset(code, 0x90, sizeof(code));
	code[0] = 0xc3;
	for (size_t i = 0; i < ARRAY_SIZE(words) + 1; i++) {
		struct walk walk = walk_at(CODE_START), before;

		if (i < ARRAY_SIZE(words))
			stack[4] = words[i];
		else
			walk.sp = STACK_START + sizeof(stack) - 4;
		before = walk;
		assert_int_equal(step_by_epilogue(&walk), NO_EPILOGUE);
		check_unchanged(&walk, &before);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(epilogues_lead_to_the_return_address),
		cmocka_unit_test(an_epilogue_may_end_with_its_page),
		cmocka_unit_test(an_epilogue_may_go_on_in_the_next_page),
		cmocka_unit_test(without_code_there_is_no_epilogue),
		cmocka_unit_test(an_epilogue_without_a_caller_is_none),
		cmocka_unit_test(an_epilogue_returns_to_a_made_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
