/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs the instructions of call frame information one row at a time; a row says which rules hold
 * for a range of addresses. Only the few registers that unwinding needs are tracked. The bytes are
 * hostile (I8): time is linear in the program's length, and memory is fixed. A value object that
 * borrows the bytes; rules refer to them too.
 *
 * Source: DWARF 5, 6.4.2; Linux Standard Base 5.0, 10.5.
 */
#pragma once

#include "dwarf/cfi_section.h"

/* The registers that are tracked. */
enum cfi_column {
	CFI_FRAME_POINTER,
	CFI_STACK_POINTER,
	CFI_RETURN_ADDRESS,
	CFI_RBX, /* only on x86-64 */
	CFI_COLUMNS,
};

/*
 * The numbers of these registers in DWARF, on x86-64 and on aarch64, where the return address is
 * in the link register.
 */
struct cfi_registers {
	uint8_t numbers[CFI_COLUMNS];
};
extern const struct cfi_registers cfi_registers_x86_64, cfi_registers_aarch64;

/* How to find the caller's value of a register. */
enum cfi_rule_kind {
	CFI_UNSPECIFIED,
	CFI_UNDEFINED,
	CFI_SAME,
	CFI_OFFSET,	      /* at CFA + offset */
	CFI_VALUE_OFFSET,     /* CFA + offset */
	CFI_REGISTER,	      /* in register_number */
	CFI_EXPRESSION,	      /* at the address that the expression computes */
	CFI_VALUE_EXPRESSION, /* the value of the expression */
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
 * The rules of a row. The CFA is CFI_OFFSET from a register, or CFI_VALUE_EXPRESSION. Its register
 * and offset survive an expression, because some assembler code then sets only the register again.
 * Setting the offset alone changes nothing after an expression, as in libgcc.
 */
struct cfi_state {
	uint64_t cfa_register;
	int64_t cfa_offset;
	struct cfi_rule cfa;
	struct cfi_rule columns[CFI_COLUMNS];
};

/* The parameters of programs, from a CIE. */
struct cfi_terms {
	uint64_t code_alignment;
	int64_t data_alignment;
	uint8_t pointer_encoding; /* of DW_CFA_set_loc and FDEs */
	struct cfi_state initial; /* at the start of each function */
};

/* How many states may be remembered at once; compilers need one or two. */
enum { CFI_PROGRAM_DEPTH_MAX = 32 };

struct cfi_program {
	const struct cfi_section *section; /* borrowed, like the next two */
	const struct cfi_registers *registers;
	const struct cfi_terms *terms;
	struct dwarf_bytes bytes;
	struct cfi_state state;
	uint64_t location, end; /* vaddrs: the start of `state`, and the end of the function */
	bool is_initial;	/* a CIE's program, which may neither restore nor advance */
	unsigned int depth;
	struct cfi_state remembered[CFI_PROGRAM_DEPTH_MAX];
};

/* Prepares for a function at [start, end). */
void cfi_program_init(struct cfi_program *program, const struct cfi_section *section,
	const struct cfi_registers *registers, const struct cfi_terms *terms,
	struct dwarf_bytes bytes, uint64_t start, uint64_t end);

/*
 * Runs to the next row: `state` holds in [*ret_start, *ret_end), which is not empty, and the next
 * row begins there. Returns 1; 0 at the function's end; -ENOEXEC the program is malformed, or
 * remembers too much.
 */
int cfi_program_next(struct cfi_program *program, uint64_t *ret_start, uint64_t *ret_end);

/* Runs a CIE's instructions and stores the result in terms->initial. Returns 0 or -ENOEXEC. */
int cfi_program_run_initial(const struct cfi_section *section,
	const struct cfi_registers *registers, struct cfi_terms *terms, struct dwarf_bytes bytes);
