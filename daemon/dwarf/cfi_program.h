/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The instructions of call frame information, run one row at a time: which rules hold from where to
 * where. Of registers it follows those few that a walk needs; what the others were is lost. The
 * bytes are hostile (I8): a program takes time by its length alone, whatever it says, and no memory
 * but its own. A value object that borrows the bytes, which rules refer to as well.
 *
 * Source: DWARF 5, 6.4.2; Linux Standard Base 5.0, 10.5.
 */
#pragma once

#include "dwarf/cfi_section.h"

/* The registers that are followed. */
enum cfi_column {
	CFI_FRAME_POINTER,
	CFI_STACK_POINTER,
	CFI_RETURN_ADDRESS,
	CFI_RBX, /* of x86-64 alone */
	CFI_COLUMNS,
};

/* By what numbers DWARF knows them: of x86-64 and of aarch64, whose return address is in the link
 * register. */
struct cfi_registers {
	uint8_t numbers[CFI_COLUMNS];
};
extern const struct cfi_registers cfi_registers_x86_64, cfi_registers_aarch64;

/* How the caller's value of a register is found. */
enum cfi_rule_kind {
	CFI_UNSPECIFIED,
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET,	      /* at CFA + offset */
	CFI_VALUE_OFFSET,     /* CFA + offset */
	CFI_REGISTER,	      /* in register_number */
	CFI_EXPRESSION,	      /* at the address that the expression has */
	CFI_VALUE_EXPRESSION, /* what it has */
};

struct cfi_expression {
	const uint8_t *bytes;
	uint64_t size;
};

struct cfi_rule {
	enum cfi_rule_kind kind;
	union {
		int64_t offset;
		uint64_t register_number;
		struct cfi_expression expression;
	};
};

/*
 * The rules of a row. CFA: CFI_OFFSET from a register, or CFI_VALUE_EXPRESSION. Register and offset
 * outlive an expression, since there is assembler code that then tells only the register anew; and
 * the offset alone changes nothing, as libgcc has it.
 */
struct cfi_state {
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct cfi_rule cfa;
	struct cfi_rule columns[CFI_COLUMNS];
};

/* What programs are run by: a CIE. */
struct cfi_terms {
	uint64_t code_alignment;
	int64_t data_alignment;
	uint8_t pointer_encoding; /* of DW_CFA_set_loc, and of FDEs */
	struct cfi_state initial; /* what functions begin with */
};

/* How many states may be remembered at once; compilers need one or two. */
enum { CFI_PROGRAM_DEPTH_MAX = 32 };

struct cfi_program {
	const struct cfi_section *section; /* borrowed, like the next two */
	const struct cfi_registers *registers;
	const struct cfi_terms *terms;
	struct dwarf_bytes bytes;
	struct cfi_state state;
	uint64_t location, end; /* vaddrs: from where `state` holds, and of the function's end */
	bool is_initial;	/* a CIE's: there is nothing to restore or to advance in */
	unsigned int depth;
	struct cfi_state remembered[CFI_PROGRAM_DEPTH_MAX];
};

/* Of a function at [start, end). */
void cfi_program_init(struct cfi_program *program, const struct cfi_section *section,
	const struct cfi_registers *registers, const struct cfi_terms *terms,
	struct dwarf_bytes bytes, uint64_t start, uint64_t end);

/*
 * Runs to the next row: `state` holds from *ret_start to before *ret_end, which is not empty, and
 * the next row begins there. Returns 1; 0 at the function's end; -ENOEXEC the program makes no
 * sense, or remembers too much.
 */
int cfi_program_next(struct cfi_program *program, uint64_t *ret_start, uint64_t *ret_end);

/* Runs a CIE's instructions and puts what they come to into terms->initial. 0 or -ENOEXEC. */
int cfi_program_run_initial(const struct cfi_section *section,
	const struct cfi_registers *registers, struct cfi_terms *terms, struct dwarf_bytes bytes);
