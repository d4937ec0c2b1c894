/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/cfi_program.h"

#include <dwarf.h>
#include <errno.h>

/* Newer than some <dwarf.h>. */
enum { AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c };

/* The result of an instruction, if not an error. */
enum { RUN_ON = 0, ROW_ENDS = 1 };

const struct cfi_registers cfi_registers_x86_64 = { { 6, 7, 16, 3 } };
const struct cfi_registers cfi_registers_aarch64 = { { 29, 31, 30, UINT8_MAX } };

static void set_rule(struct cfi_program *program, uint64_t number, const struct cfi_rule *rule)
{
	for (size_t i = 0; i < CFI_COLUMNS; i++)
		if (program->registers->numbers[i] == number)
			program->state.columns[i] = *rule;
}

static int restore(struct cfi_program *program, uint64_t number)
{
	for (size_t i = 0; i < CFI_COLUMNS; i++)
		if (program->registers->numbers[i] == number)
			program->state.columns[i] = program->terms->initial.columns[i];
	return program->is_initial ? -ENOEXEC : RUN_ON;
}

static void set_offset(
	struct cfi_program *program, uint64_t number, enum cfi_rule_kind kind, uint64_t factored)
{
	const struct cfi_rule rule = {
		.kind = kind,
		.offset = (int64_t)(factored * (uint64_t)program->terms->data_alignment),
	};

	set_rule(program, number, &rule);
}

static void set_kind(struct cfi_program *program, enum cfi_rule_kind kind)
{
	const struct cfi_rule rule = { .kind = kind };

	set_rule(program, dwarf_bytes_uleb(&program->bytes), &rule);
}

static struct cfi_expression read_expression(struct cfi_program *program)
{
	struct cfi_expression expression = { .size = dwarf_bytes_uleb(&program->bytes) };

	expression.bytes = dwarf_bytes_take(&program->bytes, expression.size);
	return expression;
}

static void set_expression(struct cfi_program *program, enum cfi_rule_kind kind)
{
	uint64_t number = dwarf_bytes_uleb(&program->bytes);
	const struct cfi_rule rule = { .kind = kind, .expression = read_expression(program) };

	set_rule(program, number, &rule);
}

static void set_register(struct cfi_program *program)
{
	uint64_t number = dwarf_bytes_uleb(&program->bytes);
	const struct cfi_rule rule = {
		.kind = CFI_REGISTER,
		.register_number = dwarf_bytes_uleb(&program->bytes),
	};

	set_rule(program, number, &rule);
}

static void set_cfa_offset(struct cfi_program *program, uint64_t offset)
{
	program->state.cfa_offset = (int64_t)offset;
	program->state.cfa = (struct cfi_rule){ .kind = CFI_OFFSET, .offset = (int64_t)offset };
}

/* An expression stays: only later instructions may use the offset. */
static int change_cfa_offset(struct cfi_program *program, uint64_t offset)
{
	switch (program->state.cfa.kind) {
	case CFI_UNSPECIFIED:
		return -ENOEXEC;
	case CFI_VALUE_EXPRESSION:
		program->state.cfa_offset = (int64_t)offset;
		return RUN_ON;
	default:
		set_cfa_offset(program, offset);
		return RUN_ON;
	}
}

static int set_cfa_register(struct cfi_program *program, uint64_t number)
{
	if (program->state.cfa.kind == CFI_UNSPECIFIED)
		return -ENOEXEC;
	program->state.cfa_register = number;
	set_cfa_offset(program, (uint64_t)program->state.cfa_offset);
	return RUN_ON;
}

/* Rows beyond the function's end have no effect. */
static int move_to(struct cfi_program *program, uint64_t location)
{
	if (program->is_initial || location < program->location)
		return -ENOEXEC;
	if (location == program->location)
		return RUN_ON;
	program->location = location < program->end ? location : program->end;
	return ROW_ENDS;
}

static int advance(struct cfi_program *program, uint64_t factored)
{
	uint64_t distance, location;

	if (__builtin_mul_overflow(factored, program->terms->code_alignment, &distance) ||
		__builtin_add_overflow(program->location, distance, &location))
		location = UINT64_MAX;
	return move_to(program, location);
}

static int set_location(struct cfi_program *program)
{
	uint64_t location;

	if (cfi_section_pointer(program->section, &program->bytes, program->terms->pointer_encoding,
		    &location) < 0)
		return -ENOEXEC;
	return move_to(program, location);
}

static int remember(struct cfi_program *program)
{
	if (program->depth == CFI_PROGRAM_DEPTH_MAX)
		return -ENOEXEC;
	program->remembered[program->depth++] = program->state;
	return RUN_ON;
}

static int restore_remembered(struct cfi_program *program)
{
	if (program->depth == 0)
		return -ENOEXEC;
	program->state = program->remembered[--program->depth];
	return RUN_ON;
}

static int run_location(struct cfi_program *program, uint8_t instruction)
{
	switch (instruction) {
	case DW_CFA_set_loc:
		return set_location(program);
	case DW_CFA_advance_loc1:
		return advance(program, dwarf_bytes_u8(&program->bytes));
	case DW_CFA_advance_loc2:
		return advance(program, dwarf_bytes_u16(&program->bytes));
	case DW_CFA_advance_loc4:
		return advance(program, dwarf_bytes_u32(&program->bytes));
	case DW_CFA_MIPS_advance_loc8:
		return advance(program, dwarf_bytes_u64(&program->bytes));
	default:
		return -ENOEXEC;
	}
}

static int run_cfa(struct cfi_program *program, uint8_t instruction)
{
	struct dwarf_bytes *bytes = &program->bytes;
	struct cfi_state *state = &program->state;
	uint64_t alignment = (uint64_t)program->terms->data_alignment;

	switch (instruction) {
	case DW_CFA_def_cfa:
		state->cfa_register = dwarf_bytes_uleb(bytes);
		set_cfa_offset(program, dwarf_bytes_uleb(bytes));
		return RUN_ON;
	case DW_CFA_def_cfa_sf:
		state->cfa_register = dwarf_bytes_uleb(bytes);
		set_cfa_offset(program, (uint64_t)dwarf_bytes_sleb(bytes) * alignment);
		return RUN_ON;
	case DW_CFA_def_cfa_register:
		return set_cfa_register(program, dwarf_bytes_uleb(bytes));
	case DW_CFA_def_cfa_offset:
		return change_cfa_offset(program, dwarf_bytes_uleb(bytes));
	case DW_CFA_def_cfa_offset_sf:
		return change_cfa_offset(program, (uint64_t)dwarf_bytes_sleb(bytes) * alignment);
	case DW_CFA_def_cfa_expression:
		state->cfa = (struct cfi_rule){
			.kind = CFI_VALUE_EXPRESSION,
			.expression = read_expression(program),
		};
		return RUN_ON;
	default:
		return run_location(program, instruction);
	}
}

static int run_register(struct cfi_program *program, uint8_t instruction)
{
	struct dwarf_bytes *bytes = &program->bytes;
	uint64_t number;

	switch (instruction) {
	case DW_CFA_offset_extended:
		number = dwarf_bytes_uleb(bytes);
		set_offset(program, number, CFI_OFFSET, dwarf_bytes_uleb(bytes));
		return RUN_ON;
	case DW_CFA_offset_extended_sf:
		number = dwarf_bytes_uleb(bytes);
		set_offset(program, number, CFI_OFFSET, (uint64_t)dwarf_bytes_sleb(bytes));
		return RUN_ON;
	case DW_CFA_GNU_negative_offset_extended:
		number = dwarf_bytes_uleb(bytes);
		set_offset(program, number, CFI_OFFSET, -dwarf_bytes_uleb(bytes));
		return RUN_ON;
	case DW_CFA_val_offset:
		number = dwarf_bytes_uleb(bytes);
		set_offset(program, number, CFI_VALUE_OFFSET, dwarf_bytes_uleb(bytes));
		return RUN_ON;
	case DW_CFA_val_offset_sf:
		number = dwarf_bytes_uleb(bytes);
		set_offset(program, number, CFI_VALUE_OFFSET, (uint64_t)dwarf_bytes_sleb(bytes));
		return RUN_ON;
	default:
		return run_cfa(program, instruction);
	}
}

static int run_extended(struct cfi_program *program, uint8_t instruction)
{
	switch (instruction) {
	case DW_CFA_nop:
	case DW_CFA_AARCH64_negate_ra_state: /* who signs return addresses; also GNU_window_save */
	case AARCH64_NEGATE_RA_STATE_WITH_PC:
		return RUN_ON;
	case DW_CFA_GNU_args_size:
		(void)dwarf_bytes_uleb(&program->bytes);
		return RUN_ON;
	case DW_CFA_remember_state:
		return remember(program);
	case DW_CFA_restore_state:
		return restore_remembered(program);
	case DW_CFA_restore_extended:
		return restore(program, dwarf_bytes_uleb(&program->bytes));
	case DW_CFA_undefined:
		set_kind(program, CFI_UNDEFINED);
		return RUN_ON;
	case DW_CFA_same_value:
		set_kind(program, CFI_SAME);
		return RUN_ON;
	case DW_CFA_register:
		set_register(program);
		return RUN_ON;
	case DW_CFA_expression:
		set_expression(program, CFI_EXPRESSION);
		return RUN_ON;
	case DW_CFA_val_expression:
		set_expression(program, CFI_VALUE_EXPRESSION);
		return RUN_ON;
	default:
		return run_register(program, instruction);
	}
}

static int run_instruction(struct cfi_program *program)
{
	uint8_t instruction = dwarf_bytes_u8(&program->bytes), operand = instruction & 0x3f;
	int r;

	switch (instruction & 0xc0) {
	case DW_CFA_advance_loc:
		r = advance(program, operand);
		break;
	case DW_CFA_offset:
		set_offset(program, operand, CFI_OFFSET, dwarf_bytes_uleb(&program->bytes));
		r = RUN_ON;
		break;
	case DW_CFA_restore:
		r = restore(program, operand);
		break;
	default:
		r = run_extended(program, instruction);
		break;
	}
	return program->bytes.is_short ? -ENOEXEC : r;
}

void cfi_program_init(struct cfi_program *program, const struct cfi_section *section,
	const struct cfi_registers *registers, const struct cfi_terms *terms,
	struct dwarf_bytes bytes, uint64_t start, uint64_t end)
{
	/* One by one, because `remembered` is large and is only read after it was written. */
	program->section = section;
	program->registers = registers;
	program->terms = terms;
	program->bytes = bytes;
	program->state = terms->initial;
	program->location = start;
	program->end = end;
	program->is_initial = false;
	program->depth = 0;
}

int cfi_program_next(struct cfi_program *program, uint64_t *ret_start, uint64_t *ret_end)
{
	uint64_t start = program->location;
	int r = RUN_ON;

	if (start >= program->end)
		return 0;
	while (r == RUN_ON && dwarf_bytes_left(&program->bytes) > 0)
		r = run_instruction(program);
	if (r < 0)
		return r;
	if (r == RUN_ON)
		program->location = program->end;
	*ret_start = start;
	*ret_end = program->location;
	return 1;
}

int cfi_program_run_initial(const struct cfi_section *section,
	const struct cfi_registers *registers, struct cfi_terms *terms, struct dwarf_bytes bytes)
{
	struct cfi_program program;
	int r = RUN_ON;

	terms->initial = (struct cfi_state){ .cfa_register = 0 };
	cfi_program_init(&program, section, registers, terms, bytes, 0, 0);
	program.is_initial = true;
	while (r == RUN_ON && dwarf_bytes_left(&program.bytes) > 0)
		r = run_instruction(&program);
	if (r < 0)
		return r;
	terms->initial = program.state;
	return 0;
}
