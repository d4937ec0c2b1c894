/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/usdt_argument.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/user.h>

#include <cmocka.h>

/* Of struct pt_regs, which has the order of the kernel's struct user_regs_struct. */
#define REGISTER(name) (offsetof(struct user_regs_struct, name) / 8)

static const struct {
	const char *text;
	enum pilotlight_argument_kind kind;
	uint32_t index;
	int64_t number;
	uint64_t cut; /* of ~0 */
} arguments[] = {
	{ "8@%rdi", PILOTLIGHT_ARGUMENT_REGISTER, REGISTER(rdi), 0, UINT64_MAX },
	{ "8@%r15", PILOTLIGHT_ARGUMENT_REGISTER, REGISTER(r15), 0, UINT64_MAX },
	{ "4@%eax", PILOTLIGHT_ARGUMENT_REGISTER, REGISTER(rax), 0, UINT32_MAX },
	{ "-4@%r9d", PILOTLIGHT_ARGUMENT_REGISTER, REGISTER(r9), 0, UINT64_MAX },
	{ "2@%bx", PILOTLIGHT_ARGUMENT_REGISTER, REGISTER(rbx), 0, UINT16_MAX },
	{ "1@%sil", PILOTLIGHT_ARGUMENT_REGISTER, REGISTER(rsi), 0, UINT8_MAX },
	{ "8@$524288", PILOTLIGHT_ARGUMENT_CONSTANT, 0, 524288, UINT64_MAX },
	{ "-4@$-1", PILOTLIGHT_ARGUMENT_CONSTANT, 0, -1, UINT64_MAX },
	{ "8@(%rsp)", PILOTLIGHT_ARGUMENT_MEMORY, REGISTER(rsp), 0, UINT64_MAX },
	{ "8@-24(%rbp)", PILOTLIGHT_ARGUMENT_MEMORY, REGISTER(rbp), -24, UINT64_MAX },
	{ "4@2097151(%r10)", PILOTLIGHT_ARGUMENT_MEMORY, REGISTER(r10), 2097151, UINT32_MAX },
};

static const char *const unknown[] = { "", "8", "8@", "@%rdi", "3@%rdi", "16@%rdi", "8@%rdx,",
	"8@$", "8@$x", "8@$7x", "8@%xmm0", "8@%", "8@(%rax", "8@(%rax)x", "8@4(%rdx,%rax,8)",
	"8@counter(%rip)", "8@8(%rip)", "8@2097152(%rax)", "8@$99999999999999999999", "x8@%rdi",
	"8@%rdirdirdi", "8@-0000000000000000000000000000000000000024(%rbp)" };

static void an_argument_is_found(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(arguments); i++) {
		uint32_t found[USDT_ARGUMENTS_MAX];

		print_message("%s\n", arguments[i].text);
		usdt_arguments_parse(arguments[i].text, found);
		assert_int_equal(pilotlight_argument_kind(found[0]), arguments[i].kind);
		assert_int_equal(pilotlight_argument_register(found[0]), arguments[i].index);
		assert_int_equal(pilotlight_argument_number(found[0]), arguments[i].number);
		assert_int_equal(pilotlight_argument_cut(found[0], UINT64_MAX), arguments[i].cut);
		assert_int_equal(found[1], 0);
	}
}

static void what_cannot_be_told_is_none(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		uint32_t found[USDT_ARGUMENTS_MAX];

		print_message("%s\n", unknown[i]);
		usdt_arguments_parse(unknown[i], found);
		assert_int_equal(found[0], 0);
	}
}

static void the_first_ones_are_read(void **state)
{
	uint32_t found[USDT_ARGUMENTS_MAX];

	usdt_arguments_parse("8@%rdi 8@%xmm1 8@%rdx 8@%rcx", found);
	assert_int_equal(pilotlight_argument_register(found[0]), REGISTER(rdi));
	assert_int_equal(found[1], 0);
	assert_int_equal(pilotlight_argument_register(found[2]), REGISTER(rdx));
}

static void a_sign_is_extended(void **state)
{
	uint32_t found[USDT_ARGUMENTS_MAX];

	usdt_arguments_parse("-4@%edi 4@%edi -1@%dil", found);
	assert_int_equal(pilotlight_argument_cut(found[0], 0x1fffffff0), (uint64_t)-16);
	assert_int_equal(pilotlight_argument_cut(found[1], 0x1fffffff0), 0xfffffff0);
	assert_int_equal(pilotlight_argument_cut(found[2], 0x7f), 0x7f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_argument_is_found),
		cmocka_unit_test(what_cannot_be_told_is_none),
		cmocka_unit_test(the_first_ones_are_read),
		cmocka_unit_test(a_sign_is_extended),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
