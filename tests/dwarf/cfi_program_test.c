/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/cfi_program.h"
#include "tests/dwarf/cfi_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { START = 0x1000, END = 0x1100 };

static const struct cfi_section section = { .vaddr = 0x5000, .is_eh = true };
static struct cfi_terms terms;
static struct cfi_program program;
static char text[4096]; /* of the rows of the last run */

static int set_up(void **state)
{
	static const uint8_t initial[] = { DEF_CFA(RSP, 8), OFFSET(RIP, 1) };
	const struct dwarf_bytes bytes = { .position = initial, .end = initial + sizeof(initial) };

	terms = (struct cfi_terms){ .code_alignment = 1, .data_alignment = -8 };
	return cfi_program_run_initial(&section, &cfi_registers_x86_64, &terms, bytes);
}

static size_t print_rule(char *out, size_t size, const char *name, const struct cfi_rule *rule)
{
	switch (rule->kind) {
	case CFI_UNSPECIFIED:
		return 0;
	case CFI_UNDEFINED:
		return (size_t)snprintf(out, size, " %s undefined", name);
	case CFI_SAME:
		return (size_t)snprintf(out, size, " %s same", name);
	case CFI_OFFSET:
		return (size_t)snprintf(out, size, " %s [%lld]", name, (long long)rule->offset);
	case CFI_VALUE_OFFSET:
		return (size_t)snprintf(out, size, " %s %lld", name, (long long)rule->offset);
	case CFI_REGISTER:
		return (size_t)snprintf(
			out, size, " %s r%llu", name, (unsigned long long)rule->register_number);
	case CFI_EXPRESSION:
		return (size_t)snprintf(
			out, size, " %s [exp %zu]", name, (size_t)rule->expression.size);
	case CFI_VALUE_EXPRESSION:
		return (size_t)snprintf(
			out, size, " %s exp %zu", name, (size_t)rule->expression.size);
	}
	return 0;
}

/* "start-end: r7+8 fp […] sp … ra …;" of each row. */
static int run(const uint8_t *bytes, size_t size)
{
	static const char *const names[CFI_COLUMNS] = { "fp", "sp", "ra", "bx" };
	const struct dwarf_bytes instructions = { .position = bytes, .end = bytes + size };
	uint64_t start, end;
	size_t used = 0;
	int r;

	text[0] = '\0';
	cfi_program_init(
		&program, &section, &cfi_registers_x86_64, &terms, instructions, START, END);
	while ((r = cfi_program_next(&program, &start, &end)) > 0) {
		const struct cfi_state *state = &program.state;

		assert_true(start < end && end <= END);
		used += (size_t)snprintf(text + used, sizeof(text) - used,
			"%s%llx-%llx:", used > 0 ? "; " : "", (unsigned long long)start - START,
			(unsigned long long)end - START);
		if (state->cfa.kind == CFI_OFFSET)
			used += (size_t)snprintf(text + used, sizeof(text) - used, " r%llu%+lld",
				(unsigned long long)state->cfa_register,
				(long long)state->cfa.offset);
		else
			used += print_rule(text + used, sizeof(text) - used, "cfa", &state->cfa);
		for (size_t i = 0; i < CFI_COLUMNS; i++)
			used += print_rule(
				text + used, sizeof(text) - used, names[i], &state->columns[i]);
		assert_true(used < sizeof(text));
	}
	return r;
}

#define RUN(...) run((const uint8_t[]){ __VA_ARGS__ }, sizeof((const uint8_t[]){ __VA_ARGS__ }))

#define assert_rows(expected, ...)                     \
	do {                                           \
		assert_int_equal(RUN(__VA_ARGS__), 0); \
		assert_string_equal(text, expected);   \
	} while (0)

static void a_prologue_and_an_epilogue_are_rows(void **state)
{
	assert_rows("0-1: r7+8 ra [-8]; 1-4: r7+16 fp [-16] ra [-8]; 4-24: r6+16 fp [-16] ra [-8]; "
		    "24-100: r7+8 fp [-16] ra [-8]",
		ADVANCE(1), DEF_CFA_OFFSET(16), OFFSET(RBP, 2), ADVANCE(3), DEF_CFA_REGISTER(RBP),
		ADVANCE(32), DEF_CFA(RSP, 8), 0, 0, 0);
	assert_rows("0-100: r7+8 ra [-8]", 0);
}

static void each_instruction_has_its_effect(void **state)
{
	assert_rows("0-100: r7+8 fp [-24] ra [-8]", 0x05, RBP, 3);	      /* offset_extended */
	assert_rows("0-100: r7+8 fp [24] ra [-8]", 0x11, RBP, 0x7d);	      /* …_sf */
	assert_rows("0-100: r7+8 fp [24] ra [-8]", 0x2f, RBP, 3);	      /* GNU_negative_… */
	assert_rows("0-100: r7+8 fp -24 ra [-8]", 0x14, RBP, 3);	      /* val_offset */
	assert_rows("0-100: r7+8 sp 8 ra [-8]", 0x15, RSP, 0x7f);	      /* …_sf */
	assert_rows("0-100: r7+8 ra r2", 0x09, RIP, 2);			      /* register */
	assert_rows("0-100: r7+8 fp [exp 2] ra [-8]", 0x10, RBP, 2, 0x76, 0); /* expression */
	assert_rows("0-100: r7+8 fp exp 1 ra [-8]", 0x16, RBP, 1, 0x30);      /* val_expression */
	assert_rows("0-100: cfa exp 2 ra [-8]", 0x0f, 2, 0x77, 8); /* def_cfa_expression */
	assert_rows("0-100: r3-16 ra [-8]", 0x12, 3, 2);	   /* def_cfa_sf */
	assert_rows("0-100: r7+16 ra [-8]", 0x13, 0x7e);	   /* def_cfa_offset_sf */
	assert_rows("0-100: r7+8 ra undefined", UNDEFINED(RIP));
	assert_rows("0-100: r7+8 fp same ra [-8]", SAME_VALUE(RBP));
	assert_rows("0-100: r7+8 ra [-8]", 0x2e, 0x20, 0x2d, 0x2c); /* GNU_args_size, … */
	assert_rows("0-100: r7+8 ra [-8] bx [-16]", OFFSET(RBX, 2));
	assert_rows("0-100: r7+8 ra [-8]", OFFSET(12, 2), 0x10, 4, 1, 0x30);
}

static void locations_are_moved_in_many_ways(void **state)
{
	assert_rows("0-2: r7+8 ra [-8]; 2-100: r7+1 ra [-8]", 0x02, 2, DEF_CFA_OFFSET(1));
	assert_rows("0-3: r7+8 ra [-8]; 3-100: r7+1 ra [-8]", 0x03, 3, 0, DEF_CFA_OFFSET(1));
	assert_rows("0-4: r7+8 ra [-8]; 4-100: r7+1 ra [-8]", 0x04, 4, 0, 0, 0, DEF_CFA_OFFSET(1));
	assert_rows("0-5: r7+8 ra [-8]; 5-100: r7+1 ra [-8]", 0x1d, 5, 0, 0, 0, 0, 0, 0, 0,
		DEF_CFA_OFFSET(1));
	assert_rows("0-20: r7+8 ra [-8]; 20-100: r7+1 ra [-8]", 0x01, 0x20, 0x10, 0, 0, 0, 0, 0, 0,
		DEF_CFA_OFFSET(1));
	terms.code_alignment = 4;
	assert_rows("0-8: r7+8 ra [-8]; 8-100: r7+1 ra [-8]", ADVANCE(2), DEF_CFA_OFFSET(1));
	/* No way at all is no row. */
	assert_rows("0-100: r7+1 ra [-8]", ADVANCE(0), DEF_CFA_OFFSET(1));
	terms.code_alignment = 0;
	assert_rows("0-100: r7+1 ra [-8]", ADVANCE(2), DEF_CFA_OFFSET(1));
}

static void nothing_follows_the_end(void **state)
{
	assert_rows("0-100: r7+8 ra [-8]", 0x03, 0, 1, DEF_CFA_OFFSET(16));
	assert_rows("0-100: r7+8 ra [-8]", 0x04, 255, 255, 255, 255, DEF_CFA_OFFSET(16), 0xff);
	terms.code_alignment = UINT64_MAX;
	assert_rows("0-100: r7+8 ra [-8]", ADVANCE(2), DEF_CFA_OFFSET(16));
}

static void states_are_remembered_and_rules_restored(void **state)
{
	assert_rows("0-1: r7+8 ra [-8]; 1-2: r7+16 fp [-16] ra [-8]; 2-3: r7+8 ra [-8]; "
		    "3-100: r7+16 fp [-16] ra [-8]",
		ADVANCE(1), DEF_CFA_OFFSET(16), OFFSET(RBP, 2), REMEMBER_STATE, ADVANCE(1),
		DEF_CFA_OFFSET(8), RESTORE(RBP), ADVANCE(1), RESTORE_STATE);
	assert_rows("0-100: r7+8 ra [-8]", UNDEFINED(RIP), 0x06, RIP);
	assert_rows("0-100: r6+8 ra [-8]", REMEMBER_STATE, 0x0f, 1, 0x30, RESTORE_STATE,
		DEF_CFA_REGISTER(RBP));
}

/* A register alone comes with the offset that was said last; an offset alone changes nothing. */
static void an_expression_is_forgotten(void **state)
{
	assert_rows("0-100: r6+8 ra [-8]", 0x0f, 1, 0x30, DEF_CFA_REGISTER(RBP));
	assert_rows("0-100: cfa exp 1 ra [-8]", 0x0f, 1, 0x30, DEF_CFA_OFFSET(24));
	assert_rows("0-100: cfa exp 1 ra [-8]", 0x0f, 1, 0x30, 0x13, 0x7d);
	assert_rows(
		"0-100: r6+24 ra [-8]", 0x0f, 1, 0x30, DEF_CFA_OFFSET(24), DEF_CFA_REGISTER(RBP));
	assert_rows("0-100: r6+40 ra [-8]", DEF_CFA(RBP, 40), 0x0f, 1, 0x30, REMEMBER_STATE,
		DEF_CFA(RSP, 16), RESTORE_STATE, DEF_CFA_REGISTER(RBP));
}

static void nests_end(void **state)
{
	uint8_t bytes[CFI_PROGRAM_DEPTH_MAX + 1];

	memset(bytes, REMEMBER_STATE, sizeof(bytes));
	assert_int_equal(run(bytes, CFI_PROGRAM_DEPTH_MAX), 0);
	assert_int_equal(run(bytes, CFI_PROGRAM_DEPTH_MAX + 1), -ENOEXEC);
}

static void nonsense_is_an_error(void **state)
{
	assert_int_equal(RUN(0x17), -ENOEXEC); /* no such instruction */
	assert_int_equal(RUN(0x3f), -ENOEXEC);
	assert_int_equal(RUN(RESTORE_STATE), -ENOEXEC);
	terms.initial.cfa.kind = CFI_UNSPECIFIED;
	assert_int_equal(RUN(DEF_CFA_REGISTER(RBP)), -ENOEXEC);
	assert_int_equal(RUN(DEF_CFA_OFFSET(16)), -ENOEXEC);
	assert_int_equal(RUN(0x13, 0x7e), -ENOEXEC);
	assert_int_equal(RUN(0x01, 0, 0x0f, 0, 0, 0, 0, 0, 0), -ENOEXEC); /* backwards */
	terms.pointer_encoding = 0x9b;
	assert_int_equal(RUN(0x01, 0, 0, 0, 0, 0, 0, 0, 0), -ENOEXEC);
}

/* Without its operands, or with fewer, no instruction is one. */
static void operands_are_needed(void **state)
{
	static const uint8_t instructions[][8] = { { 0x04, 1, 1, 1 }, { 0x05, 6, 0x80 },
		{ 0x10, 6, 2, 1 }, { 0x0f, 0xff, 0xff, 0x7f }, { 0x0c, 7, 0x80 }, { 0x16, 6, 0x81 },
		{ 0x86, 0x80 } };
	static const uint8_t sizes[] = { 4, 3, 4, 4, 3, 3, 2 };

	for (size_t i = 0; i < sizeof(sizes); i++)
		for (size_t size = 1; size <= sizes[i]; size++)
			assert_int_equal(run(instructions[i], size), -ENOEXEC);
}

static void a_cie_has_no_rows(void **state)
{
	static const uint8_t programs[][2] = { { ADVANCE(1) }, { RESTORE(RBP) }, { 0x06, RBP },
		{ 0x17 } };

	for (size_t i = 0; i < 4; i++) {
		struct cfi_terms others = terms;
		const struct dwarf_bytes bytes = {
			.position = programs[i],
			.end = programs[i] + (i == 2 ? 2 : 1),
		};

		assert_int_equal(
			cfi_program_run_initial(&section, &cfi_registers_x86_64, &others, bytes),
			-ENOEXEC);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(a_prologue_and_an_epilogue_are_rows, set_up),
		cmocka_unit_test_setup(each_instruction_has_its_effect, set_up),
		cmocka_unit_test_setup(locations_are_moved_in_many_ways, set_up),
		cmocka_unit_test_setup(nothing_follows_the_end, set_up),
		cmocka_unit_test_setup(states_are_remembered_and_rules_restored, set_up),
		cmocka_unit_test_setup(an_expression_is_forgotten, set_up),
		cmocka_unit_test_setup(nests_end, set_up),
		cmocka_unit_test_setup(nonsense_is_an_error, set_up),
		cmocka_unit_test_setup(operands_are_needed, set_up),
		cmocka_unit_test_setup(a_cie_has_no_rows, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
