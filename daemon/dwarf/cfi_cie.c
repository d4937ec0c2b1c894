/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/cfi_cie.h"

#include <dwarf.h>
#include <errno.h>

enum { ADDRESS_BYTES = 8 };

/* Skips the address of the personality routine. */
static void skip_pointer(
	const struct cfi_section *section, struct dwarf_bytes *bytes, uint8_t encoding)
{
	uint64_t pointer, at = section->vaddr + (uint64_t)(bytes->position - section->bytes);

	if (encoding == DW_EH_PE_omit)
		return;
	if (encoding == DW_EH_PE_aligned)
		(void)dwarf_bytes_take(bytes, -at % ADDRESS_BYTES);
	(void)cfi_section_pointer(section, bytes, encoding & CFI_POINTER_FORM, &pointer);
}

/* An unknown letter ends the known part; the length of the augmentation skips the rest. */
static void read_letters(const struct cfi_section *section, const char *letters,
	struct dwarf_bytes data, struct cfi_cie *cie)
{
	for (; *letters; letters++) {
		switch (*letters) {
		case 'R':
			cie->terms.pointer_encoding = dwarf_bytes_u8(&data);
			break;
		case 'P':
			skip_pointer(section, &data, dwarf_bytes_u8(&data));
			break;
		case 'L':
			(void)dwarf_bytes_u8(&data);
			break;
		case 'S':
			cie->is_signal = true;
			break;
		case 'B': /* return addresses are signed with the other key */
		case 'G': /* the stack frame is tagged */
			break;
		default:
			return;
		}
	}
}

static int read_augmentation(const struct cfi_section *section, const char *letters,
	struct dwarf_bytes *bytes, struct cfi_cie *cie)
{
	struct dwarf_bytes data;
	uint64_t size;

	if (letters[0] == '\0')
		return 0;
	if (letters[0] != 'z')
		return -ENOEXEC;
	cie->has_augmentation = true;
	size = dwarf_bytes_uleb(bytes);
	data = *bytes;
	if (!dwarf_bytes_take(bytes, size))
		return -ENOEXEC;
	data.end = bytes->position;
	read_letters(section, letters + 1, data, cie);
	return 0;
}

static bool has_known_widths(struct dwarf_bytes *bytes, uint8_t version, struct cfi_cie *cie)
{
	if (version < 4)
		return version == 1 || version == 3;
	if (version > 4 || dwarf_bytes_u8(bytes) != ADDRESS_BYTES)
		return false;
	cie->segment_bytes = dwarf_bytes_u8(bytes);
	return true;
}

int cfi_cie_parse(const struct cfi_section *section, const struct cfi_registers *registers,
	const struct cfi_entry *entry, struct cfi_cie *ret_cie)
{
	struct cfi_cie cie = {
		.offset = entry->offset,
		.terms.pointer_encoding = DW_EH_PE_absptr,
	};
	struct dwarf_bytes bytes = entry->contents;
	uint8_t version = dwarf_bytes_u8(&bytes);
	const char *letters = dwarf_bytes_string(&bytes);

	if (!letters)
		return -ENOEXEC;
	/* Before augmentations had a length, g++ had a pointer here. */
	if (strcmp(letters, "eh") == 0) {
		(void)dwarf_bytes_u64(&bytes);
		letters = "";
	}
	if (!has_known_widths(&bytes, version, &cie))
		return -ENOEXEC;
	cie.terms.code_alignment = dwarf_bytes_uleb(&bytes);
	cie.terms.data_alignment = dwarf_bytes_sleb(&bytes);
	cie.return_column = version == 1 ? dwarf_bytes_u8(&bytes) : dwarf_bytes_uleb(&bytes);
	if (read_augmentation(section, letters, &bytes, &cie) < 0 || bytes.is_short)
		return -ENOEXEC;
	if (cfi_program_run_initial(section, registers, &cie.terms, bytes) < 0)
		return -ENOEXEC;
	*ret_cie = cie;
	return 0;
}

int cfi_fde_parse(const struct cfi_section *section, const struct cfi_cie *cie,
	const struct cfi_entry *entry, struct cfi_fde *ret_fde)
{
	struct dwarf_bytes bytes = entry->contents;
	uint8_t encoding = cie->terms.pointer_encoding;
	struct cfi_fde fde;
	uint64_t end;

	(void)dwarf_bytes_take(&bytes, cie->segment_bytes);
	if (cfi_section_pointer(section, &bytes, encoding, &fde.start) < 0)
		return -ENOEXEC;
	/* A length has no base. */
	if (cfi_section_pointer(section, &bytes, encoding & CFI_POINTER_FORM, &fde.size) < 0)
		return -ENOEXEC;
	if (cie->has_augmentation)
		(void)dwarf_bytes_take(&bytes, dwarf_bytes_uleb(&bytes));
	if (bytes.is_short || __builtin_add_overflow(fde.start, fde.size, &end))
		return -ENOEXEC;
	fde.program = bytes;
	*ret_fde = fde;
	return 0;
}
