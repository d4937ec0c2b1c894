/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Recognizes the few DWARF expressions that call frame information uses in practice: an address
 * relative to a register, the value stored there, and the frame of a stub of a procedure linkage
 * table. All others are unknown. The bytes are hostile (I8); time is constant.
 *
 * Source: DWARF 5, 2.5.1 and 7.7.1.
 */
#pragma once

#include "dwarf/cfi_program.h"

enum cfi_meaning {
	CFI_MEANING_UNKNOWN,
	CFI_MEANING_REGISTER, /* register + offset */
	CFI_MEANING_MEMORY,   /* *(register + offset) + addend */
	CFI_MEANING_STUB,     /* x86-64: rsp + 8; 16 from byte `offset` of a stub on */
};

struct cfi_value {
	enum cfi_meaning meaning;
	uint64_t register_number;
	int64_t offset, addend; /* modulo 2^64, as the register's value is unknown */
};

struct cfi_value cfi_expression_read(const struct cfi_expression *expression);
