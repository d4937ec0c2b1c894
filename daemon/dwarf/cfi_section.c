/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/cfi_section.h"

#include <assert.h>
#include <dwarf.h>
#include <errno.h>

static struct dwarf_bytes bytes_from(const struct cfi_section *section, uint32_t position)
{
	return (struct dwarf_bytes){
		.position = section->bytes + position,
		.end = section->bytes + section->size,
	};
}

/* Reads the field that marks a CIE, or else has the offset of the CIE. */
static void read_id(
	const struct cfi_section *section, uint8_t offset_bytes, struct cfi_entry *entry)
{
	/* The 64-bit format has 32-bit ids in .eh_frame too (Linux Standard Base). */
	size_t id_bytes = section->is_eh ? sizeof(uint32_t) : offset_bytes;
	uint64_t at = (uint64_t)(entry->contents.position - section->bytes);
	uint64_t id = dwarf_bytes_integer(&entry->contents, id_bytes);

	if (section->is_eh) {
		entry->is_cie = id == 0;
		entry->cie = at - (uint64_t)(int32_t)id;
		return;
	}
	entry->is_cie = id == (id_bytes == sizeof(uint32_t) ? UINT32_MAX : UINT64_MAX);
	entry->cie = id;
}

int cfi_section_next(
	const struct cfi_section *section, uint32_t *position, struct cfi_entry *ret_entry)
{
	assert(section->size <= CFI_SECTION_BYTES_MAX);
	while (*position < section->size) {
		struct cfi_entry entry = { .offset = *position };
		struct dwarf_bytes bytes = bytes_from(section, *position);
		uint8_t offset_bytes;
		uint64_t length = dwarf_bytes_unit_length(&bytes, &offset_bytes);

		if (bytes.is_short || length > dwarf_bytes_left(&bytes))
			return -ENOEXEC;
		*position = (uint32_t)((uint64_t)(bytes.position - section->bytes) + length);
		if (length == 0 && section->ends_with_zero)
			return 0;
		if (length == 0)
			continue;
		entry.contents = bytes;
		entry.contents.end = bytes.position + length;
		read_id(section, offset_bytes, &entry);
		if (entry.contents.is_short)
			return -ENOEXEC;
		*ret_entry = entry;
		return 1;
	}
	return 0;
}

struct cfi_entry cfi_section_entry(const struct cfi_section *section, uint32_t offset)
{
	struct cfi_entry entry = { .offset = offset };
	int r;

	r = cfi_section_next(section, &offset, &entry);
	assert(r == 1);
	(void)r;
	return entry;
}

static uint64_t read_form(struct dwarf_bytes *bytes, uint8_t form)
{
	switch (form) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return dwarf_bytes_u64(bytes);
	case DW_EH_PE_uleb128:
		return dwarf_bytes_uleb(bytes);
	case DW_EH_PE_sleb128:
		return (uint64_t)dwarf_bytes_sleb(bytes);
	case DW_EH_PE_udata2:
		return dwarf_bytes_u16(bytes);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)dwarf_bytes_u16(bytes);
	case DW_EH_PE_udata4:
		return dwarf_bytes_u32(bytes);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)dwarf_bytes_u32(bytes);
	default:
		bytes->is_short = true;
		return 0;
	}
}

int cfi_section_pointer(const struct cfi_section *section, struct dwarf_bytes *bytes,
	uint8_t encoding, uint64_t *ret_pointer)
{
	uint64_t at = section->vaddr + (uint64_t)(bytes->position - section->bytes);
	uint64_t pointer = read_form(bytes, encoding & CFI_POINTER_FORM);

	if (bytes->is_short || (encoding & DW_EH_PE_indirect))
		return -ENOEXEC;
	switch (encoding & CFI_POINTER_BASE) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel: /* the address of the pointer itself */
		pointer += at;
		break;
	case DW_EH_PE_datarel:
		if (section->data_base == 0)
			return -ENOEXEC;
		pointer += section->data_base;
		break;
	default:
		return -ENOEXEC;
	}
	*ret_pointer = pointer;
	return 0;
}
