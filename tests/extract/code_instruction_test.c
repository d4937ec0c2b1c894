/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/code_instruction.h"

#include "base/array.h"
#include "base/fault.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const struct {
	const char *text, *bytes;
	uint8_t length, flow, effect;
	int32_t value;
	int64_t target;
} cases[] = {
	{ "push %rbx", "\x53", 1, CODE_FLOW_ON, CODE_EFFECT_PUSH, 8, 0 },
	{ "push %r13", "\x41\x55", 2, CODE_FLOW_ON, CODE_EFFECT_PUSH, 8, 0 },
	{ "push %rbp", "\x55", 1, CODE_FLOW_ON, CODE_EFFECT_PUSH_RBP, 8, 0 },
	{ "push $5", "\x6a\x05", 2, CODE_FLOW_ON, CODE_EFFECT_PUSH, 8, 0 },
	{ "push $0x12345", "\x68\x45\x23\x01\x00", 5, CODE_FLOW_ON, CODE_EFFECT_PUSH, 8, 0 },
	{ "push 8(%rax)", "\xff\x70\x08", 3, CODE_FLOW_ON, CODE_EFFECT_PUSH, 8, 0 },
	{ "push %ax", "\x66\x50", 2, CODE_FLOW_ON, CODE_EFFECT_RSP_UNKNOWN, 0, 0 },
	{ "pushf", "\x9c", 1, CODE_FLOW_ON, CODE_EFFECT_PUSH, 8, 0 },
	{ "popf", "\x9d", 1, CODE_FLOW_ON, CODE_EFFECT_POP, 8, 0 },
	{ "pop %rbx", "\x5b", 1, CODE_FLOW_ON, CODE_EFFECT_POP, 8, 0 },
	{ "pop %r12", "\x41\x5c", 2, CODE_FLOW_ON, CODE_EFFECT_POP, 8, 0 },
	{ "pop %rbp", "\x5d", 1, CODE_FLOW_ON, CODE_EFFECT_POP_RBP, 8, 0 },
	{ "pop %rsp", "\x5c", 1, CODE_FLOW_ON, CODE_EFFECT_RSP_UNKNOWN, 0, 0 },
	{ "pop 8(%rax)", "\x8f\x40\x08", 3, CODE_FLOW_ON, CODE_EFFECT_POP, 8, 0 },
	{ "sub $0x20,%rsp", "\x48\x83\xec\x20", 4, CODE_FLOW_ON, CODE_EFFECT_POP, -32, 0 },
	{ "sub $0x1000,%rsp", "\x48\x81\xec\x00\x10\x00\x00", 7, CODE_FLOW_ON, CODE_EFFECT_POP,
		-4096, 0 },
	{ "add $-128,%rsp", "\x48\x83\xc4\x80", 4, CODE_FLOW_ON, CODE_EFFECT_POP, -128, 0 },
	{ "add $8,%rsp", "\x48\x83\xc4\x08", 4, CODE_FLOW_ON, CODE_EFFECT_POP, 8, 0 },
	{ "lea -0x28(%rsp),%rsp", "\x48\x8d\x64\x24\xd8", 5, CODE_FLOW_ON, CODE_EFFECT_POP, -40,
		0 },
	{ "sub %rax,%rsp", "\x48\x29\xc4", 3, CODE_FLOW_ON, CODE_EFFECT_RSP_UNKNOWN, 0, 0 },
	{ "and $-16,%rsp", "\x48\x83\xe4\xf0", 4, CODE_FLOW_ON, CODE_EFFECT_RSP_UNKNOWN, 0, 0 },
	{ "mov %rax,%rsp", "\x48\x89\xc4", 3, CODE_FLOW_ON, CODE_EFFECT_RSP_UNKNOWN, 0, 0 },
	{ "mov 8(%rdi),%rsp", "\x48\x8b\x67\x08", 4, CODE_FLOW_ON, CODE_EFFECT_RSP_UNKNOWN, 0, 0 },
	{ "lea -8(%r10),%rsp", "\x49\x8d\x62\xf8", 4, CODE_FLOW_ON, CODE_EFFECT_RSP_UNKNOWN, 0, 0 },
	{ "xchg %rax,%rsp", "\x48\x94", 2, CODE_FLOW_ON, CODE_EFFECT_RSP_UNKNOWN, 0, 0 },
	{ "lea (%rsp,%rax,8),%rsp", "\x48\x8d\x24\xc4", 4, CODE_FLOW_ON, CODE_EFFECT_RSP_UNKNOWN, 0,
		0 },
	{ "add $8,%esp", "\x83\xc4\x08", 3, CODE_FLOW_ON, CODE_EFFECT_RSP_UNKNOWN, 0, 0 },
	{ "xchg %rsp,%rbp", "\x48\x87\xe5", 3, CODE_FLOW_ON, CODE_EFFECT_BOTH_UNKNOWN, 0, 0 },
	{ "mov %rsp,%rbp", "\x48\x89\xe5", 3, CODE_FLOW_ON, CODE_EFFECT_RBP_FROM_RSP, 0, 0 },
	{ "mov %rsp,%rbp", "\x48\x8b\xec", 3, CODE_FLOW_ON, CODE_EFFECT_RBP_FROM_RSP, 0, 0 },
	{ "lea 0x80(%rsp),%rbp", "\x48\x8d\xac\x24\x80\x00\x00\x00", 8, CODE_FLOW_ON,
		CODE_EFFECT_RBP_FROM_RSP, 128, 0 },
	{ "add $16,%rbp", "\x48\x83\xc5\x10", 4, CODE_FLOW_ON, CODE_EFFECT_RBP_ADD, 16, 0 },
	{ "lea -8(%rbp),%rbp", "\x48\x8d\x6d\xf8", 4, CODE_FLOW_ON, CODE_EFFECT_RBP_ADD, -8, 0 },
	{ "mov %rbp,%rsp", "\x48\x89\xec", 3, CODE_FLOW_ON, CODE_EFFECT_RSP_FROM_RBP, 0, 0 },
	{ "lea -0x18(%rbp),%rsp", "\x48\x8d\x65\xe8", 4, CODE_FLOW_ON, CODE_EFFECT_RSP_FROM_RBP,
		-24, 0 },
	{ "mov %rbp,8(%rsp)", "\x48\x89\x6c\x24\x08", 5, CODE_FLOW_ON, CODE_EFFECT_RBP_STORE, 8,
		0 },
	{ "mov 8(%rsp),%rbp", "\x48\x8b\x6c\x24\x08", 5, CODE_FLOW_ON, CODE_EFFECT_RBP_LOAD, 8, 0 },
	{ "mov %rbp,8(%rsp,%rax)", "\x48\x89\x6c\x04\x08", 5, CODE_FLOW_ON, CODE_EFFECT_NONE, 0,
		0 },
	{ "mov 8(%rsp,%rax),%rbp", "\x48\x8b\x6c\x04\x08", 5, CODE_FLOW_ON, CODE_EFFECT_RBP_UNKNOWN,
		0, 0 },
	{ "mov %fs:8(%rsp),%rbp", "\x64\x48\x8b\x6c\x24\x08", 6, CODE_FLOW_ON,
		CODE_EFFECT_RBP_UNKNOWN, 0, 0 },
	{ "xor %ebp,%ebp", "\x31\xed", 2, CODE_FLOW_ON, CODE_EFFECT_RBP_ZERO, 0, 0 },
	{ "xor %rbp,%rbp", "\x48\x31\xed", 3, CODE_FLOW_ON, CODE_EFFECT_RBP_ZERO, 0, 0 },
	{ "xor %bpl,%bpl", "\x40\x30\xed", 3, CODE_FLOW_ON, CODE_EFFECT_RBP_UNKNOWN, 0, 0 },
	{ "mov $5,%ebp", "\xbd\x05\x00\x00\x00", 5, CODE_FLOW_ON, CODE_EFFECT_RBP_UNKNOWN, 0, 0 },
	{ "cmove %rax,%rbp", "\x48\x0f\x44\xe8", 4, CODE_FLOW_ON, CODE_EFFECT_RBP_UNKNOWN, 0, 0 },
	{ "movd %xmm0,%ebp", "\x66\x0f\x7e\xc5", 4, CODE_FLOW_ON, CODE_EFFECT_RBP_UNKNOWN, 0, 0 },
	{ "blsr %rax,%rbp", "\xc4\xe2\xd0\xf3\xc8", 5, CODE_FLOW_ON, CODE_EFFECT_RBP_UNKNOWN, 0,
		0 },
	{ "bswap %rbp", "\x48\x0f\xcd", 3, CODE_FLOW_ON, CODE_EFFECT_RBP_UNKNOWN, 0, 0 },
	{ "movzbl (%rdi),%ebp", "\x0f\xb6\x2f", 3, CODE_FLOW_ON, CODE_EFFECT_RBP_UNKNOWN, 0, 0 },
	{ "leave", "\xc9", 1, CODE_FLOW_ON, CODE_EFFECT_LEAVE, 0, 0 },
	{ "enter $32,$0", "\xc8\x20\x00\x00", 4, CODE_FLOW_ON, CODE_EFFECT_ENTER, 32, 0 },
	{ "enter $32,$1", "\xc8\x20\x00\x01", 4, CODE_FLOW_ON, CODE_EFFECT_BOTH_UNKNOWN, 0, 0 },
	{ "cmp %rbp,%rsp", "\x48\x39\xec", 3, CODE_FLOW_ON, CODE_EFFECT_NONE, 0, 0 },
	{ "test %rsp,%rsp", "\x48\x85\xe4", 3, CODE_FLOW_ON, CODE_EFFECT_NONE, 0, 0 },
	{ "mov %rsp,%rdi", "\x48\x89\xe7", 3, CODE_FLOW_ON, CODE_EFFECT_NONE, 0, 0 },
	{ "mov %rbp,%rax", "\x48\x89\xe8", 3, CODE_FLOW_ON, CODE_EFFECT_NONE, 0, 0 },
	{ "add %r12,%r13", "\x4d\x01\xe5", 3, CODE_FLOW_ON, CODE_EFFECT_NONE, 0, 0 },
	{ "mov %ah,%ch", "\x88\xe5", 2, CODE_FLOW_ON, CODE_EFFECT_NONE, 0, 0 },
	{ "nopw 0(%rax,%rax)", "\x66\x0f\x1f\x04\x00", 5, CODE_FLOW_ON, CODE_EFFECT_NONE, 0, 0 },
	{ "vaddpd %ymm4,%ymm5,%ymm4", "\xc5\xd5\x58\xe4", 4, CODE_FLOW_ON, CODE_EFFECT_NONE, 0, 0 },
	{ "syscall", "\x0f\x05", 2, CODE_FLOW_ON, CODE_EFFECT_NONE, 0, 0 },
	{ "call .+0x105", "\xe8\x00\x01\x00\x00", 5, CODE_FLOW_CALL, CODE_EFFECT_NONE, 0, 256 },
	{ "call *%rax", "\xff\xd0", 2, CODE_FLOW_CALL_INDIRECT, CODE_EFFECT_NONE, 0, 0 },
	{ "call *8(%rip)", "\xff\x15\x08\x00\x00\x00", 6, CODE_FLOW_CALL_INDIRECT, CODE_EFFECT_NONE,
		0, 0 },
	{ "jmp .+0x12", "\xeb\x10", 2, CODE_FLOW_JUMP, CODE_EFFECT_NONE, 0, 16 },
	{ "jmp .-0x1000", "\xe9\xfb\xef\xff\xff", 5, CODE_FLOW_JUMP, CODE_EFFECT_NONE, 0, -4101 },
	{ "jmp *%rax", "\xff\xe0", 2, CODE_FLOW_JUMP_INDIRECT, CODE_EFFECT_NONE, 0, 0 },
	{ "jmp *0x1000(,%rax,8)", "\xff\x24\xc5\x00\x10\x00\x00", 7, CODE_FLOW_JUMP_INDIRECT,
		CODE_EFFECT_NONE, 0, 0 },
	{ "je .+0x12", "\x74\x10", 2, CODE_FLOW_BRANCH, CODE_EFFECT_NONE, 0, 16 },
	{ "jne .+0x1006", "\x0f\x85\x00\x10\x00\x00", 6, CODE_FLOW_BRANCH, CODE_EFFECT_NONE, 0,
		4096 },
	{ "jrcxz .+0x12", "\xe3\x10", 2, CODE_FLOW_BRANCH, CODE_EFFECT_NONE, 0, 16 },
	{ "loop .+0x12", "\xe2\x10", 2, CODE_FLOW_BRANCH, CODE_EFFECT_NONE, 0, 16 },
	{ "ret", "\xc3", 1, CODE_FLOW_RETURN, CODE_EFFECT_NONE, 0, 0 },
	{ "repz ret", "\xf3\xc3", 2, CODE_FLOW_RETURN, CODE_EFFECT_NONE, 0, 0 },
	{ "ret $16", "\xc2\x10\x00", 3, CODE_FLOW_RETURN, CODE_EFFECT_NONE, 0, 0 },
	{ "lret", "\xcb", 1, CODE_FLOW_END, CODE_EFFECT_NONE, 0, 0 },
	{ "ud2", "\x0f\x0b", 2, CODE_FLOW_END, CODE_EFFECT_NONE, 0, 0 },
	{ "hlt", "\xf4", 1, CODE_FLOW_END, CODE_EFFECT_NONE, 0, 0 },
	{ "int3", "\xcc", 1, CODE_FLOW_END, CODE_EFFECT_NONE, 0, 0 },
	{ "iretq", "\x48\xcf", 2, CODE_FLOW_END, CODE_EFFECT_NONE, 0, 0 },
};

static int set_up(void **state)
{
	struct fault fault = { 0 };

	if (code_instruction_load(&fault) < 0)
		fail_msg("%s", fault.text);
	return 0;
}

static void instructions_have_their_effects(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint8_t *bytes = (const uint8_t *)cases[i].bytes;
		struct code_instruction found = { .length = 0 };

		if (!code_instruction_decode(bytes, cases[i].length, &found) ||
			found.length != cases[i].length || found.flow != cases[i].flow ||
			found.effect != cases[i].effect ||
			(found.effect != CODE_EFFECT_NONE && found.value != cases[i].value) ||
			found.target != cases[i].target)
			fail_msg("%s: length %d, flow %d, effect %d, value %d, target %lld",
				cases[i].text, found.length, found.flow, found.effect, found.value,
				(long long)found.target);
		assert_int_equal(found.is_system_call, strcmp(cases[i].text, "syscall") == 0);
	}
}

static void cut_instructions_are_invalid(void **state)
{
	struct code_instruction found;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		for (uint8_t size = 0; size < cases[i].length; size++)
			/* Prefixes alone are no instruction, but what follows may be one without.
			 */
			if (code_instruction_decode((const uint8_t *)cases[i].bytes, size, &found))
				assert_true(found.length <= size);
}

static void invalid_bytes_are_refused(void **state)
{
	static const uint8_t bytes[] = { 0x06 }; /* push %es, not in 64-bit code */
	struct code_instruction found = { .length = 77 };

	assert_false(code_instruction_decode(bytes, sizeof(bytes), &found));
	assert_int_equal(found.length, 77);
}

static void loading_again_is_harmless(void **state)
{
	assert_true(code_instruction_is_loaded());
	assert_int_equal(code_instruction_load(NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(instructions_have_their_effects),
		cmocka_unit_test(cut_instructions_are_invalid),
		cmocka_unit_test(invalid_bytes_are_refused),
		cmocka_unit_test(loading_again_is_harmless),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
