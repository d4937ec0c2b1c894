/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_files.h"

#include "dwarf/elf_sections.h"
#include "extract/extraction.h"
#include "extract/unwind_rules.h"

#include <errno.h>

enum { PROGRAM_HEADERS_MAX = 256 };

/*
 * Skips the ELF header. If it is at vaddr 0, discarded functions, which linkers place there, would
 * look like code.
 */
static void add_segment(struct symbol_builder_code *code, const Elf64_Phdr *phdr)
{
	uint64_t header_bytes = phdr->p_offset == 0 ? sizeof(Elf64_Ehdr) : 0;
	uint64_t bytes = phdr->p_filesz < phdr->p_memsz ? phdr->p_filesz : phdr->p_memsz;

	if (bytes <= header_bytes)
		return;
	code->segments[code->segment_count++] = (struct pilotlight_symbol_segment){
		.offset = phdr->p_offset + header_bytes,
		.vaddr = phdr->p_vaddr + header_bytes,
		.file_bytes = bytes - header_bytes,
		.memory_bytes = bytes - header_bytes,
	};
}

struct first_code {
	struct symbol_builder_code *code;
	uint64_t skipped[SYMBOL_BUILDER_SEGMENTS_MAX]; /* bytes up to the first section with code */
};

static int look_at_section(
	void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	struct first_code *first = context;

	(void)index, (void)name;
	if (!(section->sh_flags & SHF_ALLOC) || !(section->sh_flags & SHF_EXECINSTR) ||
		section->sh_size == 0)
		return 0;
	for (size_t i = 0; i < first->code->segment_count; i++) {
		const struct pilotlight_symbol_segment *segment = &first->code->segments[i];
		uint64_t distance = section->sh_addr - segment->vaddr;

		if (section->sh_addr >= segment->vaddr && distance < first->skipped[i])
			first->skipped[i] = distance;
	}
	return 0;
}

/*
 * Skips the beginning of a segment that is not code. Old linkers put all read-only data in one
 * segment with the code, from vaddr 0 on, where they also place discarded functions.
 */
static void begin_with_code(const struct elf_file *file, struct symbol_builder_code *code)
{
	struct first_code first = { .code = code };

	for (size_t i = 0; i < code->segment_count; i++)
		first.skipped[i] = code->segments[i].file_bytes;
	if (elf_sections_each(file, look_at_section, &first) < 0)
		return;
	for (size_t i = 0; i < code->segment_count; i++) {
		struct pilotlight_symbol_segment *segment = &code->segments[i];

		/* No section is in this segment. */
		if (first.skipped[i] == segment->file_bytes)
			continue;
		segment->offset += first.skipped[i];
		segment->vaddr += first.skipped[i];
		segment->file_bytes -= first.skipped[i];
		segment->memory_bytes -= first.skipped[i];
	}
}

static int find_code(const struct elf_file *file, struct code_segments *ret_code)
{
	struct symbol_builder_code code = { .segment_count = 0 };
	Elf64_Phdr phdr;
	int r;

	if (file->phdr_count > PROGRAM_HEADERS_MAX)
		return -EFBIG;
	for (uint32_t i = 0; i < file->phdr_count; i++) {
		r = elf_file_read_phdr(file, i, &phdr);
		if (r < 0)
			return r;
		if (phdr.p_type != PT_LOAD || !(phdr.p_flags & PF_X))
			continue;
		if (code.segment_count == SYMBOL_BUILDER_SEGMENTS_MAX ||
			phdr.p_filesz > UINT32_MAX || phdr.p_offset > UINT32_MAX - phdr.p_filesz)
			return -EFBIG;
		if (phdr.p_vaddr > UINT64_MAX - phdr.p_filesz)
			return -ENOEXEC;
		add_segment(&code, &phdr);
	}
	begin_with_code(file, &code);
	return code_segments_init(ret_code, &code);
}

int unwind_files_open(struct unwind_files *ret_files, const struct extraction_files *files)
{
	struct unwind_files opened = { .has_debug = false };
	int r;

	if (files->binary_fd < 0)
		return -ENODATA;
	r = elf_file_init(&opened.binary, files->binary_fd);
	if (r < 0)
		return r;
	if (!opened.binary.is_64 || opened.binary.is_swapped ||
		!unwind_rule_registers(opened.binary.machine))
		return -ENODATA;
	r = find_code(&opened.binary, &opened.code);
	if (r < 0)
		return r;
	opened.has_debug = files->debug_fd >= 0 &&
			   elf_file_init(&opened.debug, files->debug_fd) == 0 &&
			   elf_sections_is_debug_file_of(&opened.binary, &opened.debug);
	*ret_files = opened;
	return 0;
}

bool unwind_files_find_offset(
	const struct unwind_files *files, uint64_t vaddr, uint32_t *ret_offset, uint32_t *ret_bytes)
{
	for (size_t i = 0; i < files->code.count; i++) {
		const struct pilotlight_symbol_segment *segment = &files->code.segments[i];
		uint64_t distance = vaddr - segment->vaddr;

		if (vaddr < segment->vaddr || distance >= segment->file_bytes)
			continue;
		/* find_code() has checked that both are below 4 GiB. */
		*ret_offset = (uint32_t)(segment->offset + distance);
		*ret_bytes = (uint32_t)(segment->file_bytes - distance);
		return true;
	}
	return false;
}
