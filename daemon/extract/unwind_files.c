/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_files.h"

#include "extract/elf_sections.h"
#include "extract/extraction.h"
#include "extract/unwind_rules.h"
#include "symbol/elf_image.h"

#include <errno.h>

enum { PROGRAM_HEADERS_MAX = 256 };

/* Of size 0 where the file has none, or none that can be read. */
static struct build_id build_id_of(const struct elf_file *file)
{
	struct elf_image image;

	if (elf_image_read(file->fd, &image) < 0)
		return (struct build_id){ .size = 0 };
	return image.build_id;
}

static bool is_of_same_link(const struct elf_file *binary, const struct elf_file *debug)
{
	struct build_id expected = build_id_of(binary), found = build_id_of(debug);
	struct elf_debuglink link;
	uint32_t crc;

	if (binary->machine != debug->machine || binary->is_64 != debug->is_64 ||
		binary->is_swapped != debug->is_swapped)
		return false;
	if (expected.size > 0 && found.size > 0)
		return build_id_equal(&expected, &found);
	return elf_sections_read_debuglink(binary, &link) == 0 &&
	       elf_sections_crc(debug, &crc) == 0 && crc == link.crc;
}

/*
 * No code is in the ELF header; but where it is at vaddr 0, what linkers leave there of discarded
 * functions would look like code.
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
			   is_of_same_link(&opened.binary, &opened.debug);
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
		/* Both are below 4 GiB, which was checked when the headers were read. */
		*ret_offset = (uint32_t)(segment->offset + distance);
		*ret_bytes = (uint32_t)(segment->file_bytes - distance);
		return true;
	}
	return false;
}
