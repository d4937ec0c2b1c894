/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One symbol table of an ELF file, read in pieces: of the symbols a chunk at a time is in memory,
 * and of the names the one that is asked for; only the sections' places are kept. The file is
 * hostile (I8) and its descriptor or memory borrowed.
 */
#pragma once

#include "symbol/elf_file.h"

enum {
	SYMBOL_TABLE_SECTIONS_MAX = SHN_LORESERVE,
	SYMBOL_TABLE_SYMBOLS_MAX = 16 * 1024 * 1024,
	SYMBOL_NAME_BYTES = 16 * 1024, /* of a longer name only so much is read, the NUL included */
};

struct symbol_section {
	uint64_t start, end; /* vaddrs; end is exclusive, both 0 where it is not in memory */
	bool is_executable;
};

struct symbol_table {
	struct elf_file file;
	uint64_t symbols_offset;
	uint64_t symbol_count;
	uint64_t strings_offset;
	uint64_t strings_bytes;
	struct symbol_section *sections; /* owned */
	uint32_t section_count;
};

/*
 * Opens the table of `type`, SHT_SYMTAB or SHT_DYNSYM. Returns 0; -ENODATA the file has none, or an
 * empty one, or it is neither a program nor a library; -ENOEXEC a damaged table; -EFBIG
 * more sections or symbols than the bounds; -ENOMEM; another -errno from reading.
 */
int symbol_table_open(struct symbol_table *table, const struct elf_file *file, uint32_t type);
void symbol_table_close(struct symbol_table *table);

/* Calls `visit` for each symbol until it returns an error, which is returned. */
int symbol_table_each(const struct symbol_table *table,
	int (*visit)(void *context, const Elf64_Sym *symbol), void *context);

/*
 * The name at an st_name, with a NUL, goes to `text`. Returns 0; -ENOEXEC outside the names or cut
 * off by their end; another -errno from reading.
 */
int symbol_table_read_name(const struct symbol_table *table, uint32_t name,
	char text[SYMBOL_NAME_BYTES], size_t *ret_length);
