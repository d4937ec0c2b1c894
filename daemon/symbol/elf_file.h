/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file's headers, read with bounded pread() into the host's own form: 64-bit structures in
 * host byte order, whatever the file's class and order. The file is hostile (I8), and it may shrink
 * while it is read, which a memory mapping would answer with SIGBUS. A value object that borrows
 * the descriptor and leaves its position alone. An ELF file that was unpacked to memory is read
 * from there.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	int fd;		       /* borrowed; -1 of one in memory */
	const uint8_t *memory; /* borrowed; NULL of one with a descriptor */
	uint64_t size_bytes;   /* when it was opened */
	bool is_64;	       /* ELFCLASS64 */
	bool is_swapped;       /* not the host's byte order */
	uint16_t type;	       /* ET_… */
	uint16_t machine;      /* EM_… */
	uint64_t phdr_offset;  /* of the program headers */
	uint32_t phdr_count;
	uint64_t shdr_offset; /* of the section headers */
	uint32_t shdr_count;
	uint32_t names_section; /* by index; 0, or at least shdr_count: there is none */
};

/*
 * Reads the ELF header. A section count that the header leaves to section 0 is fetched from there;
 * a program header count that it leaves there (PN_XNUM) is reported as PN_XNUM. Section headers
 * that do not lie within the file count as none, for a program runs without them.
 * Returns 0; -ENOEXEC not a regular file, not ELF, or program headers outside the file; another
 * -errno from reading.
 */
int elf_file_init(struct elf_file *ret_file, int fd);

/* The same of `size` bytes of memory, which stay as they are as long as the file is in use. */
int elf_file_init_memory(struct elf_file *ret_file, const void *bytes, size_t size);

/*
 * Fills `bytes`. Returns 0; -ENOEXEC where the file ends before; another -errno from reading, but
 * never -ENOMEM or -E2BIG.
 */
int elf_file_read(const struct elf_file *file, uint64_t offset, void *bytes, size_t size);

/* One program header; `index` < phdr_count. Errors as elf_file_read(). */
int elf_file_read_phdr(const struct elf_file *file, uint32_t index, Elf64_Phdr *ret_phdr);

/* One section header; `index` < shdr_count. Errors as elf_file_read(). */
int elf_file_read_shdr(const struct elf_file *file, uint32_t index, Elf64_Shdr *ret_shdr);

/* What a symbol takes in the file, and the symbol that is made of those bytes. */
size_t elf_file_symbol_bytes(const struct elf_file *file);
Elf64_Sym elf_file_decode_symbol(const struct elf_file *file, const uint8_t *bytes);

/* The number at `bytes`, in the file's order; a word is as wide as the class has addresses. */
uint32_t elf_file_decode_u32(const struct elf_file *file, const uint8_t *bytes);
uint64_t elf_file_decode_u64(const struct elf_file *file, const uint8_t *bytes);
uint64_t elf_file_decode_word(const struct elf_file *file, const uint8_t *bytes);
size_t elf_file_word_bytes(const struct elf_file *file);
