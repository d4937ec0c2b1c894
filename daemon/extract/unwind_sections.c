/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_sections.h"

#include "base/array.h"
#include "dwarf/elf_inflate.h"
#include "dwarf/elf_sections.h"
#include "dwarf/go_table.h"

#include <errno.h>
#include <string.h>

enum {
	HDR_VERSION = 1, /* of .eh_frame_hdr */
	HDR_BYTES = 12,	 /* of it, with the address of .eh_frame */
};

/* The place of a section in its file, and its compression. */
struct packed {
	Elf64_Shdr header;
	bool is_zdebug;
};

void unwind_sections_done(struct unwind_sections *sections)
{
	for (size_t i = 0; i < sections->count; i++)
		scratch_array_done(&sections->sections[i].contents);
	*sections = (struct unwind_sections){ 0 };
}

static int fill(
	const struct elf_file *file, const struct packed *packed, struct scratch_array *contents)
{
	const Elf64_Shdr *header = &packed->header;
	int r;

	if (packed->is_zdebug || (header->sh_flags & SHF_COMPRESSED)) {
		r = elf_inflate_section(file, header, packed->is_zdebug, contents);
		return r == -ENOTSUP || (r == 0 && contents->count == 0) ? -ENOEXEC : r;
	}
	if (header->sh_size > CFI_SECTION_BYTES_MAX)
		return -EFBIG;
	r = scratch_array_reserve(contents, header->sh_size);
	if (r < 0)
		return r;
	contents->count = header->sh_size;
	return elf_file_read(file, header->sh_offset, contents->items, header->sh_size);
}

static int add(struct unwind_sections *sections, const struct elf_file *file,
	const struct packed *packed, const struct unwind_section *section, struct scratch *scratch)
{
	struct unwind_section *added = &sections->sections[sections->count];
	int r;

	*added = *section;
	r = scratch_array_init(&added->contents, scratch, 1, CFI_SECTION_BYTES_MAX);
	if (r == 0)
		r = fill(file, packed, &added->contents);
	if (r < 0) {
		scratch_array_done(&added->contents);
		return r;
	}
	added->cfi.bytes = added->contents.items;
	added->cfi.size = added->contents.count;
	sections->count++;
	return 0;
}

static uint64_t vaddr_of(const struct elf_file *file, const char *name)
{
	Elf64_Shdr header;

	return elf_sections_find(file, name, &header) == 0 ? header.sh_addr : 0;
}

/* Finds the segment of that type; for PT_LOAD, the one whose contents include the vaddr. */
static int find_segment(
	const struct elf_file *file, uint32_t type, uint64_t vaddr, Elf64_Phdr *ret_phdr)
{
	Elf64_Phdr phdr;
	int r;

	for (uint32_t i = 0; i < file->phdr_count; i++) {
		r = elf_file_read_phdr(file, i, &phdr);
		if (r < 0)
			return r;
		if (phdr.p_type != type)
			continue;
		if (type == PT_LOAD &&
			(vaddr < phdr.p_vaddr || vaddr - phdr.p_vaddr >= phdr.p_filesz))
			continue;
		*ret_phdr = phdr;
		return 0;
	}
	return -ENODATA;
}

/*
 * Without section headers, the segment that C++ runtimes use gives the start of .eh_frame but not
 * its end; a length of 0 ends it.
 */
static int find_by_segment(
	const struct elf_file *file, struct packed *packed, struct unwind_section *section)
{
	uint8_t bytes[HDR_BYTES];
	struct cfi_section hdr = { .bytes = bytes, .size = sizeof(bytes) };
	struct dwarf_bytes reader = { .position = bytes + 4, .end = bytes + sizeof(bytes) };
	Elf64_Phdr phdr;
	uint64_t vaddr, distance;
	int r;

	r = find_segment(file, PT_GNU_EH_FRAME, 0, &phdr);
	if (r == 0)
		r = elf_file_read(file, phdr.p_offset, bytes, sizeof(bytes));
	if (r < 0)
		return r;
	hdr.vaddr = hdr.data_base = phdr.p_vaddr;
	if (bytes[0] != HDR_VERSION || cfi_section_pointer(&hdr, &reader, bytes[1], &vaddr) < 0)
		return -ENOEXEC;
	r = find_segment(file, PT_LOAD, vaddr, &phdr);
	if (r < 0)
		return r == -ENODATA ? -ENOEXEC : r;
	distance = vaddr - phdr.p_vaddr;
	if (phdr.p_offset > file->size_bytes || phdr.p_filesz > file->size_bytes - phdr.p_offset)
		return -ENOEXEC;
	packed->header.sh_offset = phdr.p_offset + distance;
	packed->header.sh_size = phdr.p_filesz - distance;
	section->cfi.vaddr = vaddr;
	section->cfi.ends_with_zero = true;
	return 0;
}

static int add_eh_frame(
	struct unwind_sections *sections, const struct elf_file *file, struct scratch *scratch)
{
	struct unwind_section section = { .cfi.is_eh = true };
	struct packed packed = { 0 };
	Elf64_Shdr header;
	int r;

	if (file->shdr_count == 0) {
		r = find_by_segment(file, &packed, &section);
		return r < 0 ? r : add(sections, file, &packed, &section, scratch);
	}
	r = elf_sections_find(file, ".eh_frame", &header);
	if (r < 0)
		return r;
	packed.header = (Elf64_Shdr){ .sh_offset = header.sh_offset, .sh_size = header.sh_size };
	section.cfi.vaddr = header.sh_addr;
	section.cfi.data_base = vaddr_of(file, ".got.plt");
	if (section.cfi.data_base == 0)
		section.cfi.data_base = vaddr_of(file, ".got");
	return add(sections, file, &packed, &section, scratch);
}

static int add_debug_frame(struct unwind_sections *sections, const struct elf_file *file,
	bool is_of_debug_file, struct scratch *scratch)
{
	const struct unwind_section section = { .is_of_debug_file = is_of_debug_file };
	struct packed packed = { .is_zdebug = false };
	int r;

	r = elf_sections_find(file, ".debug_frame", &packed.header);
	if (r == -ENODATA) {
		r = elf_sections_find(file, ".zdebug_frame", &packed.header);
		packed.is_zdebug = true;
	}
	return r < 0 ? r : add(sections, file, &packed, &section, scratch);
}

/* Counts a failed section. Errors that concern more than this section are returned. */
static int count_failure(struct unwind_sections *sections, int error)
{
	if (error == -ENOEXEC)
		sections->failed++;
	return error == -ENOEXEC || error == -ENODATA ? 0 : error;
}

int unwind_sections_read(
	struct unwind_sections *sections, const struct unwind_files *files, struct scratch *scratch)
{
	int r;

	r = go_table_is_in(&files->binary);
	if (r < 0 && r != -ENOEXEC)
		return r;
	sections->is_go = r == 1;
	r = count_failure(sections, add_eh_frame(sections, &files->binary, scratch));
	if (r < 0 || sections->is_go)
		return r;
	r = count_failure(sections, add_debug_frame(sections, &files->binary, false, scratch));
	if (r < 0 || !files->has_debug)
		return r;
	return count_failure(sections, add_debug_frame(sections, &files->debug, true, scratch));
}
