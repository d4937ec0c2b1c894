/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the data of a binary by vaddr, as the dynamic linker would have left it, as far as that
 * does not depend on other files. The file is hostile (I8). Borrows the file; one owner.
 */
#pragma once

#include "base/scratch.h"
#include "symbol/elf_file.h"

struct elf_memory {
	const struct elf_file *file;
	struct scratch_array relocations; /* of Elf64_Rela */
};

/*
 * The file is of 64 bits and of the host's byte order. Returns 0; -ENOEXEC a malformed table of
 * relocations; the scratch's errors; or another -errno from reading. Zeros or done() before.
 */
int elf_memory_open(
	struct elf_memory *memory, const struct elf_file *file, struct scratch *scratch);
void elf_memory_done(struct elf_memory *memory);

/* Fills `bytes` from the file. Returns 0; -ENODATA they are in no segment's contents; -ENOEXEC; or
 * another -errno from reading. */
int elf_memory_read(const struct elf_memory *memory, uint64_t vaddr, void *bytes, size_t size);

/* Reads the pointer at `vaddr`, to something in this binary. Errors as above. */
int elf_memory_read_pointer(const struct elf_memory *memory, uint64_t vaddr, uint64_t *ret_pointer);

/* Is the text at `vaddr`? */
bool elf_memory_has_text(const struct elf_memory *memory, uint64_t vaddr, const char *text);
