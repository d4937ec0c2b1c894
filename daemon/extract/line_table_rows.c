/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/line_table.h"

#include "symbol/symbol_file.h"

#include <dwarf.h>
#include <errno.h>

/* The registers of the state machine that we use (DWARF 5, 6.2.2). */
struct registers {
	uint64_t address;
	uint64_t file;
	uint32_t file_id; /* the builder's */
	uint32_t line;
	uint64_t column;
	bool is_in_sequence; /* rows were added after the last end */
	bool has_file_id;
};

static void reset(struct registers *registers)
{
	*registers = (struct registers){ .file = 1, .line = 1 };
}

static int add_row(struct line_table *table, struct registers *registers)
{
	uint32_t column = registers->column > UINT32_MAX ? 0 : (uint32_t)registers->column;
	uint64_t place = 0;
	int r;

	if (!registers->has_file_id) {
		r = line_table_file(table, registers->file, &registers->file_id);
		if (r < 0)
			return r;
		registers->has_file_id = true;
	}
	/* A line without a file says nothing. */
	if (registers->file_id > 0)
		place = symbol_place_pack(registers->file_id, registers->line, column);
	registers->is_in_sequence = true;
	return symbol_builder_add_row(table->builder, registers->address, place);
}

static int end_sequence(struct line_table *table, struct registers *registers)
{
	uint64_t end = registers->address;
	bool is_in_sequence = registers->is_in_sequence;

	reset(registers);
	return is_in_sequence ? symbol_builder_end_sequence(table->builder, end) : 0;
}

/* Ignores operands of VLIW machines, as LLVM does. */
static void advance(const struct line_table *table, struct registers *registers, uint64_t count)
{
	registers->address += count * table->instruction_bytes;
}

static int run_special(struct line_table *table, struct registers *registers, uint8_t opcode)
{
	uint8_t adjusted = (uint8_t)(opcode - table->opcode_base);

	if (table->line_range > 0) {
		advance(table, registers, adjusted / table->line_range);
		registers->line += (uint32_t)(adjusted % table->line_range);
	}
	registers->line += (uint32_t)table->line_base;
	return add_row(table, registers);
}

static int run_extended(
	struct line_table *table, struct registers *registers, struct dwarf_bytes *bytes)
{
	uint64_t length = dwarf_bytes_uleb(bytes);
	struct dwarf_bytes operands = *bytes;

	if (!dwarf_bytes_take(bytes, length))
		return -EBADMSG;
	if (length == 0)
		return 0;
	operands.end = bytes->position;
	switch (dwarf_bytes_u8(&operands)) {
	case DW_LNE_end_sequence:
		return end_sequence(table, registers);
	case DW_LNE_set_address:
		registers->address = dwarf_bytes_integer(&operands, dwarf_bytes_left(&operands));
		return operands.is_short ? -EBADMSG : 0;
	case DW_LNE_define_file:
		return line_table_define_file(table, &operands);
	default:
		return 0;
	}
}

/* The header has the number of operands of an unknown opcode. */
static void skip_operands(const struct line_table *table, struct dwarf_bytes *bytes, uint8_t opcode)
{
	uint8_t count = table->opcode_lengths.position[opcode - 1];

	while (count-- > 0)
		(void)dwarf_bytes_uleb(bytes);
}

static int run_standard(struct line_table *table, struct registers *registers,
	struct dwarf_bytes *bytes, uint8_t opcode)
{
	switch (opcode) {
	case DW_LNS_copy:
		return add_row(table, registers);
	case DW_LNS_advance_pc:
		advance(table, registers, dwarf_bytes_uleb(bytes));
		return 0;
	case DW_LNS_advance_line:
		registers->line += (uint32_t)dwarf_bytes_sleb(bytes);
		return 0;
	case DW_LNS_set_file:
		registers->file = dwarf_bytes_uleb(bytes);
		registers->has_file_id = false;
		return 0;
	case DW_LNS_set_column:
		registers->column = dwarf_bytes_uleb(bytes);
		return 0;
	case DW_LNS_const_add_pc:
		if (table->line_range > 0)
			advance(table, registers,
				(uint8_t)(255 - table->opcode_base) / table->line_range);
		return 0;
	case DW_LNS_fixed_advance_pc:
		registers->address += dwarf_bytes_u16(bytes);
		return 0;
	case DW_LNS_set_isa:
		(void)dwarf_bytes_uleb(bytes);
		return 0;
	case DW_LNS_negate_stmt:
	case DW_LNS_set_basic_block:
	case DW_LNS_set_prologue_end:
	case DW_LNS_set_epilogue_begin:
		return 0;
	default:
		skip_operands(table, bytes, opcode);
		return 0;
	}
}

int line_table_read_rows(struct line_table *table)
{
	struct dwarf_bytes *bytes = &table->program;
	struct registers registers;
	int r = 0, end;

	reset(&registers);
	while (r == 0 && bytes->position < bytes->end) {
		uint8_t opcode = dwarf_bytes_u8(bytes);

		if (opcode == 0)
			r = run_extended(table, &registers, bytes);
		else if (opcode >= table->opcode_base)
			r = run_special(table, &registers, opcode);
		else
			r = run_standard(table, &registers, bytes, opcode);
	}
	if (r == 0 && bytes->is_short)
		r = -EBADMSG;
	/* A sequence without an end ends with its last row, which then has no code. */
	end = end_sequence(table, &registers);
	return end < 0 ? end : r;
}
