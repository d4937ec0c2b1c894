/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call frame information as a section has it, .eh_frame or .debug_frame: entries one behind the
 * other, each a CIE (what a group of functions have in common) or an FDE (a function). The bytes
 * are hostile (I8), in the host's byte order, and borrowed. A value object.
 *
 * Source: DWARF 5, 6.4.1; Linux Standard Base 5.0, 10.5 and 10.6.
 */
#pragma once

#include "dwarf/dwarf_bytes.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Longer sections than this nobody has, so offsets in them have 32 bits. */
#define CFI_SECTION_BYTES_MAX UINT32_MAX

struct cfi_section {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;	    /* of the first byte */
	uint64_t data_base; /* what DW_EH_PE_datarel counts from; 0: nobody knows */
	bool is_eh;
	bool ends_with_zero; /* else a length of 0 is passed over: more may come */
};

struct cfi_entry {
	uint32_t offset; /* in the section, of its length */
	bool is_cie;
	uint64_t cie; /* of an FDE: the offset of its CIE, if there is one there */
	struct dwarf_bytes contents;
};

/*
 * The entry at *position, which is 0 at first and is moved behind it. Returns 1; 0 at the end;
 * -ENOEXEC where no entry can be and so none can be found behind it.
 */
int cfi_section_next(
	const struct cfi_section *section, uint32_t *position, struct cfi_entry *ret_entry);

/* The entry at an offset that cfi_section_next() has told. */
struct cfi_entry cfi_section_entry(const struct cfi_section *section, uint32_t offset);

/* Encodings of addresses (DW_EH_PE_…): the form in the lower bits, and what it counts from. */
enum {
	CFI_POINTER_ABSOLUTE = 0x00,
	CFI_POINTER_FORM = 0x0f,
	CFI_POINTER_BASE = 0x70,
	CFI_POINTER_INDIRECT = 0x80,
	CFI_POINTER_OMITTED = 0xff,
};

/*
 * Reads an address out of the section. -ENOEXEC: the encoding is none of those that a linker can
 * resolve, or `bytes` end before.
 */
int cfi_section_pointer(const struct cfi_section *section, struct dwarf_bytes *bytes,
	uint8_t encoding, uint64_t *ret_pointer);
