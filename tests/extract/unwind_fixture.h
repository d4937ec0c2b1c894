/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Small ELF files with segments and call frame information, as unwind tables are made of them. */
#pragma once

#include "tests/dwarf/cfi_fixture.h"

#include "base/cleanup.h"

#include <elf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
	UNWIND_PARTS_MAX = 8,
	CODE_OFFSET = 0x2000, /* what tests have for code, unless they say otherwise */
	CODE_VADDR = 0x402000,
	CODE_BYTES = 0x100000,
};

struct unwind_part {
	const char *name;
	uint32_t type; /* 0: SHT_PROGBITS */
	uint64_t flags, vaddr;
	const void *bytes;
	size_t size;
};

struct unwind_elf {
	uint16_t machine;     /* 0: EM_X86_64 */
	uint8_t class, order; /* 0: 64-bit, the host's order */
	Elf64_Phdr segments[UNWIND_PARTS_MAX];
	size_t segment_count;
	struct unwind_part parts[UNWIND_PARTS_MAX];
	size_t part_count;
	bool has_no_sections;
};

static inline void unwind_elf_add_code(struct unwind_elf *elf)
{
	elf->segments[elf->segment_count++] = (Elf64_Phdr){
		.p_type = PT_LOAD,
		.p_flags = PF_R | PF_X,
		.p_offset = CODE_OFFSET,
		.p_vaddr = CODE_VADDR,
		.p_filesz = CODE_BYTES,
		.p_memsz = CODE_BYTES,
	};
}

static inline void unwind_elf_add_part(
	struct unwind_elf *elf, const char *name, uint64_t vaddr, const void *bytes, size_t size)
{
	assert(elf->part_count < UNWIND_PARTS_MAX);
	elf->parts[elf->part_count++] = (struct unwind_part){
		.name = name,
		.vaddr = vaddr,
		.bytes = bytes,
		.size = size,
	};
}

static inline void unwind_elf_add_cfi(struct unwind_elf *elf, const struct cfi_writer *writer)
{
	unwind_elf_add_part(elf, writer->is_debug_frame ? ".debug_frame" : ".eh_frame",
		writer->vaddr, writer->bytes, writer->size);
}

/* `note` has room for 36 bytes, which are a build-id of 20 times `digit`. */
static inline void unwind_elf_add_build_id(struct unwind_elf *elf, uint8_t *note, uint8_t digit)
{
	const Elf64_Nhdr header = { .n_namesz = 4, .n_descsz = 20, .n_type = NT_GNU_BUILD_ID };

	memcpy(note, &header, sizeof(header));
	memcpy(note + sizeof(header), "GNU", 4);
	memset(note + sizeof(header) + 4, digit, 20);
	unwind_elf_add_part(elf, ".note.gnu.build-id", 0, note, sizeof(header) + 4 + 20);
	elf->parts[elf->part_count - 1].type = SHT_NOTE;
}

static inline void unwind_elf_put(int fd, uint64_t offset, const void *bytes, size_t size)
{
	ssize_t written = size > 0 ? pwrite(fd, bytes, size, (off_t)offset) : 0;

	assert(written == (ssize_t)size);
	(void)written;
}

static inline void unwind_elf_put_sections(int fd, const struct unwind_elf *elf, uint64_t table)
{
	uint64_t position = table + (elf->part_count + 2) * sizeof(Elf64_Shdr);
	char names[512] = { 0 };
	size_t used = 1;
	Elf64_Shdr header = { 0 };

	for (size_t i = 0; i < elf->part_count; i++) {
		const struct unwind_part *part = &elf->parts[i];

		header = (Elf64_Shdr){
			.sh_name = (Elf64_Word)used,
			.sh_type = part->type ? part->type : SHT_PROGBITS,
			.sh_flags = part->flags,
			.sh_addr = part->vaddr,
			.sh_offset = position,
			.sh_size = part->size,
		};
		assert(used + strlen(part->name) + 16 < sizeof(names));
		strcpy(names + used, part->name);
		used += strlen(part->name) + 1;
		unwind_elf_put(fd, table + (i + 1) * sizeof(header), &header, sizeof(header));
		unwind_elf_put(fd, position, part->bytes, part->size);
		position += part->size;
	}
	strcpy(names + used, ".shstrtab");
	header = (Elf64_Shdr){
		.sh_name = (Elf64_Word)used,
		.sh_type = SHT_STRTAB,
		.sh_offset = position,
		.sh_size = used + sizeof(".shstrtab"),
	};
	unwind_elf_put(fd, table + (elf->part_count + 1) * sizeof(header), &header, sizeof(header));
	unwind_elf_put(fd, position, names, header.sh_size);
}

/* Where the contents of the parts begin, one behind the other. */
static inline uint64_t unwind_elf_contents(const struct unwind_elf *elf)
{
	return sizeof(Elf64_Ehdr) + elf->segment_count * sizeof(Elf64_Phdr) +
	       (elf->part_count + 2) * sizeof(Elf64_Shdr);
}

/* -1 on failure. */
static inline int unwind_elf_fd(const struct unwind_elf *elf)
{
	_cleanup_close_ int fd = memfd_create("elf", MFD_CLOEXEC);
	uint64_t table = sizeof(Elf64_Ehdr) + elf->segment_count * sizeof(Elf64_Phdr);
	const Elf64_Ehdr header = {
		.e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3,
			elf->class ? elf->class : ELFCLASS64, elf->order ? elf->order : ELFDATA2LSB,
			EV_CURRENT },
		.e_type = ET_DYN,
		.e_machine = elf->machine ? elf->machine : EM_X86_64,
		.e_version = EV_CURRENT,
		.e_phoff = sizeof(Elf64_Ehdr),
		.e_shoff = elf->has_no_sections ? 0 : table,
		.e_ehsize = sizeof(Elf64_Ehdr),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = (Elf64_Half)elf->segment_count,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = elf->has_no_sections ? 0 : (Elf64_Half)(elf->part_count + 2),
		.e_shstrndx = elf->has_no_sections ? 0 : (Elf64_Half)(elf->part_count + 1),
	};

	if (fd < 0)
		return -1;
	unwind_elf_put(fd, 0, &header, sizeof(header));
	unwind_elf_put(
		fd, sizeof(header), elf->segments, elf->segment_count * sizeof(elf->segments[0]));
	unwind_elf_put_sections(fd, elf, table);
	return TAKE_FD(fd);
}
