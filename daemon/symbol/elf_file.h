/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the headers of an ELF file of any class and byte order, and converts them to 64-bit
 * structures in host byte order. The file is hostile (I8) and may shrink meanwhile: a memory
 * mapping would then raise SIGBUS, so it is read by bounded pread(). An ELF file may also be in
 * memory. A value object that borrows the descriptor and keeps its position.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	int fd;		       /* borrowed; -1: in memory */
	const uint8_t *memory; /* borrowed; NULL: read from `fd` */
	uint64_t size_bytes;   /* when it was opened */
	bool is_64;	       /* ELFCLASS64 */
	bool is_swapped;       /* not the host's byte order */
	uint16_t type;	       /* ET_… */
	uint16_t machine;      /* EM_… */
	uint64_t phdr_offset;  /* of the program headers */
	uint32_t phdr_count;
	uint64_t shdr_offset; /* of the section headers */
	uint32_t shdr_count;
	uint32_t names_section; /* its index; 0 or at least shdr_count: none */
};

/*
 * Reads the ELF header. A large section count is read from section 0; a large program header count
 * stays PN_XNUM. Section headers outside the file count as none, since a program runs without them.
 * Returns 0; -ENOEXEC not a regular file, not ELF, or program headers outside the file; or another
 * -errno from reading.
 */
int elf_file_init(struct elf_file *ret_file, int fd);

/* The same for `size` bytes of memory, which are borrowed and must not change. */
int elf_file_init_memory(struct elf_file *ret_file, const void *bytes, size_t size);

/*
 * Fills `bytes`. Returns 0; -ENOEXEC if the file ends before; or another -errno from reading, but
 * never -ENOMEM or -E2BIG.
 */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size);

/* One program header; `index` < phdr_count. Errors as elf_file_read(). */
int elf_file_read_phdr(const struct elf_file *file, uint32_t index, Elf64_Phdr *ret_phdr);

/* One section header; `index` < shdr_count. Errors as elf_file_read(). */
int elf_file_read_shdr(const struct elf_file *file, uint32_t index, Elf64_Shdr *ret_shdr);

/* The size of a symbol in the file, and the symbol that its bytes decode to. */
size_t elf_file_symbol_bytes(const struct elf_file *file);
Elf64_Sym elf_file_decode_symbol(const struct elf_file *file, const uint8_t *bytes);

/* Decode the number at `bytes`. A word is as wide as an address of the file's class. */
uint32_t elf_file_decode_u32(const struct elf_file *file, const uint8_t *bytes);
uint64_t elf_file_decode_u64(const struct elf_file *file, const uint8_t *bytes);
uint64_t elf_file_decode_word(const struct elf_file *file, const uint8_t *bytes);
size_t elf_file_word_bytes(const struct elf_file *file);
