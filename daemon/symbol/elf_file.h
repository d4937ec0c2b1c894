/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An ELF file's headers, read with bounded pread() into the host's own form: 64-bit structures in
 * host byte order, whatever the file's class and order. The file is hostile (I8), and it may shrink
 * while it is read, which a memory mapping would answer with SIGBUS. A value object that borrows
 * the descriptor and leaves its position alone.
 */
#pragma once

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_file {
	int fd;		      /* borrowed */
	uint64_t size_bytes;  /* when it was opened */
	bool is_64;	      /* ELFCLASS64 */
	bool is_swapped;      /* not the host's byte order */
	uint16_t type;	      /* ET_… */
	uint16_t machine;     /* EM_… */
	uint64_t phdr_offset; /* of the program headers */
	uint32_t phdr_count;
	uint64_t shdr_offset; /* of the section headers */
	uint32_t shdr_count;
};

/*
 * Reads the ELF header. A section count that the header leaves to section 0 is fetched from there;
 * a program header count that it leaves there (PN_XNUM) is reported as PN_XNUM. Section headers
 * that do not lie within the file count as none, for a program runs without them.
 * Returns 0; -ENOEXEC not a regular file, not ELF, or program headers outside the file; another
 * -errno from reading.
 */
int elf_file_init(struct elf_file *ret_file, int fd);

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

/* The 32-bit number at `bytes`, in the file's order. */
uint32_t elf_file_decode_u32(const struct elf_file *file, const uint8_t *bytes);
