/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The headers of the small programs that look like an interpreter: one segment, which is the whole
 * file, and sections. Symbols are of section 1, and section 3 has their names.
 */
#pragma once

#include <assert.h>
#include <elf.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	ELF_FIXTURE_VADDR = 0x400000, /* of file offset 0 */
	ELF_FIXTURE_HEADERS = 0x100,  /* file offset of the section headers */
};

struct elf_fixture_section {
	const char *name;
	uint32_t type, offset, bytes, entry_bytes;
	uint64_t flags;
};

static inline void elf_fixture_put(
	uint8_t *file, size_t file_bytes, size_t at, const void *bytes, size_t size)
{
	assert(at + size <= file_bytes);
	memcpy(file + at, bytes, size);
}

static inline Elf64_Shdr *elf_fixture_section(uint8_t *file, size_t index)
{
	return (Elf64_Shdr *)(void *)(file + ELF_FIXTURE_HEADERS) + index;
}

/* The last section has the names of sections. */
static inline void elf_fixture_init(
	uint8_t *file, size_t file_bytes, const struct elf_fixture_section *sections, size_t count)
{
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = ELF_FIXTURE_HEADERS,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = (uint16_t)count,
		.e_shstrndx = (uint16_t)(count - 1),
	};
	const Elf64_Phdr segment = {
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_vaddr = ELF_FIXTURE_VADDR,
		.p_filesz = file_bytes,
		.p_memsz = file_bytes,
	};
	uint32_t name = 0;

	memset(file, 0, file_bytes);
	elf_fixture_put(file, file_bytes, 0, &header, sizeof(header));
	elf_fixture_put(file, file_bytes, sizeof(header), &segment, sizeof(segment));
	for (size_t i = 0; i < count; i++) {
		size_t length = strlen(sections[i].name) + 1;

		*elf_fixture_section(file, i) = (Elf64_Shdr){
			.sh_name = name,
			.sh_type = sections[i].type,
			.sh_flags = sections[i].flags,
			.sh_offset = sections[i].offset,
			.sh_addr = i ? ELF_FIXTURE_VADDR + sections[i].offset : 0,
			.sh_size = sections[i].bytes,
			.sh_link = 3,
			.sh_entsize = sections[i].entry_bytes,
		};
		elf_fixture_put(file, file_bytes, sections[count - 1].offset + name,
			sections[i].name, length);
		name += (uint32_t)length;
	}
}

/* A file in memory; -1 on failure. */
static inline int elf_fixture_fd(const uint8_t *file, size_t file_bytes)
{
	int fd = memfd_create("fixture", MFD_CLOEXEC);

	if (fd >= 0 && write(fd, file, file_bytes) != (ssize_t)file_bytes) {
		(void)close(fd);
		fd = -1;
	}
	return fd;
}
