/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A section of call frame information, .eh_frame or .debug_frame: a list of entries, each a CIE
 * (the common part of a group of functions) or an FDE (a function). The bytes are hostile (I8), in
 * the host's byte order, and borrowed. A value object.
 *
 * Source: DWARF 5, 6.4.1; Linux Standard Base 5.0, 10.5 and 10.6.
 */
#pragma once

#include "dwarf/dwarf_bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* No real section is longer, so offsets in them have 32 bits. */
#define CFI_SECTION_BYTES_MAX UINT32_MAX

struct cfi_section {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;	    /* of the first byte */
	uint64_t data_base; /* base of DW_EH_PE_datarel; 0: unknown */
	bool is_eh;
	bool ends_with_zero; /* otherwise a length of 0 is skipped, and more entries may follow */
};

struct cfi_entry {
	uint32_t offset; /* of its length field, in the section */
	bool is_cie;
	uint64_t cie; /* of an FDE: the offset of its CIE, which is unchecked */
	struct dwarf_bytes contents;
};

/*
 * Reads the entry at *position, which starts as 0, and moves *position behind it. Returns 1; 0 at
 * the end; -ENOEXEC no valid entry is there, so none can be found behind it.
 */
int cfi_section_next(
	const struct cfi_section *section, uint32_t *position, struct cfi_entry *ret_entry);

/* Returns the entry at an offset that cfi_section_next() has returned. */
struct cfi_entry cfi_section_entry(const struct cfi_section *section, uint32_t offset);

/* The parts of an encoding of addresses (DW_EH_PE_…). */
enum { CFI_POINTER_FORM = 0x0f, CFI_POINTER_BASE = 0x70 };

/*
 * Reads an address. Returns 0, or -ENOEXEC: linkers cannot resolve this encoding, or `bytes` is
 * too short.
 */
int cfi_section_pointer(const struct cfi_section *section, struct dwarf_bytes *bytes,
	uint8_t encoding, uint64_t *ret_pointer);
