/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/elf_memory.h"

#include "dwarf/elf_sections.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

enum {
	RELOCATIONS_MAX = 4 * 1024 * 1024,
	PROGRAM_HEADERS_MAX = 256,
	TEXT_BYTES_MAX = 64,
};

static int read_relocations(struct elf_memory *memory, const Elf64_Shdr *section)
{
	size_t count = section->sh_size / sizeof(Elf64_Rela);
	int r;

	if (section->sh_size % sizeof(Elf64_Rela) != 0 || count > RELOCATIONS_MAX)
		return -ENOEXEC;
	r = scratch_array_reserve(&memory->relocations, count);
	if (r == 0)
		r = elf_file_read(memory->file, section->sh_offset, memory->relocations.items,
			section->sh_size);
	if (r == 0)
		memory->relocations.count = count;
	return r;
}

int elf_memory_open(struct elf_memory *memory, const struct elf_file *file, struct scratch *scratch)
{
	Elf64_Shdr section;
	int r;

	memory->file = file;
	r = scratch_array_init(&memory->relocations, scratch, sizeof(Elf64_Rela), RELOCATIONS_MAX);
	if (r < 0)
		return r;
	r = elf_sections_find(file, ".rela.dyn", &section);
	if (r == 0)
		r = read_relocations(memory, &section);
	return r == -ENODATA ? 0 : r;
}

void elf_memory_done(struct elf_memory *memory)
{
	scratch_array_done(&memory->relocations);
	*memory = (struct elf_memory){ 0 };
}

int elf_memory_read(const struct elf_memory *memory, uint64_t vaddr, void *bytes, size_t size)
{
	const struct elf_file *file = memory->file;
	Elf64_Phdr phdr;
	int r;

	for (uint32_t i = 0; i < file->phdr_count && i < PROGRAM_HEADERS_MAX; i++) {
		r = elf_file_read_phdr(file, i, &phdr);
		if (r < 0)
			return r;
		if (phdr.p_type != PT_LOAD || vaddr < phdr.p_vaddr || size > phdr.p_filesz ||
			vaddr - phdr.p_vaddr > phdr.p_filesz - size)
			continue;
		if (phdr.p_offset > UINT64_MAX - phdr.p_filesz)
			return -ENOEXEC;
		return elf_file_read(file, phdr.p_offset + (vaddr - phdr.p_vaddr), bytes, size);
	}
	return -ENODATA;
}

int elf_memory_read_pointer(const struct elf_memory *memory, uint64_t vaddr, uint64_t *ret_pointer)
{
	const Elf64_Rela *relocations = memory->relocations.items;

	for (size_t i = 0; i < memory->relocations.count; i++)
		if (relocations[i].r_offset == vaddr &&
			ELF64_R_TYPE(relocations[i].r_info) == R_X86_64_RELATIVE) {
			*ret_pointer = (uint64_t)relocations[i].r_addend;
			return 0;
		}
	return elf_memory_read(memory, vaddr, ret_pointer, sizeof(*ret_pointer));
}

bool elf_memory_has_text(const struct elf_memory *memory, uint64_t vaddr, const char *text)
{
	char found[TEXT_BYTES_MAX];
	size_t size = strlen(text) + 1;

	return size <= sizeof(found) && elf_memory_read(memory, vaddr, found, size) == 0 &&
	       memcmp(found, text, size) == 0;
}
