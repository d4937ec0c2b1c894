/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses CIEs and FDEs: the common part of a group of functions, and the part of one function. The
 * bytes are hostile (I8) and borrowed. Value objects.
 *
 * Source: DWARF 5, 6.4.1; Linux Standard Base 5.0, 10.6.1; for the letter B the DWARF supplement
 * of the ABI for the Arm 64-bit Architecture.
 */
#pragma once

#include "dwarf/cfi_program.h"

struct cfi_cie {
	uint32_t offset;	/* in its section */
	uint8_t segment_bytes;	/* of the selector before an address, which is ignored */
	bool has_augmentation;	/* FDEs have augmentation data with a length */
	bool is_signal;		/* its functions are signal frames */
	uint64_t return_column; /* the register of the return address */
	struct cfi_terms terms;
};

/*
 * Returns 0, or -ENOEXEC: damaged, a version other than 1, 3 and 4, an address size other than 8,
 * or an unknown augmentation that cannot be skipped.
 */
int cfi_cie_parse(const struct cfi_section *section, const struct cfi_registers *registers,
	const struct cfi_entry *entry, struct cfi_cie *ret_cie);

struct cfi_fde {
	uint64_t start, size; /* vaddr and bytes; the sum does not wrap */
	struct dwarf_bytes program;
};

/* Returns 0 or -ENOEXEC. */
int cfi_fde_parse(const struct cfi_section *section, const struct cfi_cie *cie,
	const struct cfi_entry *entry, struct cfi_fde *ret_fde);
