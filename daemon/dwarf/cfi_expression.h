/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few DWARF expressions that call frame information is written with in practice, seen for what
 * they are: an address relative to a register, what is stored there, or the frame of a stub of a
 * procedure linkage table. Anything else is not understood. The bytes are hostile (I8); time is
 * constant.
 *
 * Source: DWARF 5, 2.5.1 and 7.7.1.
 */
#pragma once

#include "dwarf/cfi_program.h"

enum cfi_meaning {
	CFI_MEANING_UNKNOWN,
	CFI_MEANING_REGISTER, /* register + offset */
	CFI_MEANING_MEMORY,   /* *(register + offset) + addend */
	CFI_MEANING_STUB, /* x86-64: rsp + 8, and 8 more from byte `offset` of 16 of the code on */
};

struct cfi_value {
	enum cfi_meaning meaning;
	uint64_t register_number;
	int64_t offset, addend; /* as they wrap: nobody can tell from the register's value */
};

struct cfi_value cfi_expression_read(const struct cfi_expression *expression);
