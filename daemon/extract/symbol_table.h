/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One symbol table of an ELF file. Memory holds one chunk of symbols at a time, and a name only on
 * request; only the sections' addresses are kept. The file is hostile (I8); its descriptor or
 * memory is borrowed.
 */
#pragma once

#include "symbol/elf_file.h"

enum {
	SYMBOL_TABLE_SECTIONS_MAX = SHN_LORESERVE,
	SYMBOL_TABLE_SYMBOLS_MAX = 16 * 1024 * 1024,
	SYMBOL_NAME_BYTES = 16 * 1024, /* longer names are cut to this, with the NUL */
};

struct symbol_section {
	uint64_t start, end; /* vaddrs; both 0 if the section is not in memory */
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
 * Opens the table of `type`, SHT_SYMTAB or SHT_DYNSYM. Returns 0; -ENODATA no table, an empty one,
 * or neither a program nor a library; -ENOEXEC a damaged table; -EFBIG too many sections or
 * symbols; -ENOMEM; another -errno from reading.
 */
int symbol_table_open(struct symbol_table *table, const struct elf_file *file, uint32_t type);
void symbol_table_close(struct symbol_table *table);

/* Calls `visit` for each symbol until it returns an error. Returns that error or 0. */
int symbol_table_each(const struct symbol_table *table,
	int (*visit)(void *context, const Elf64_Sym *symbol), void *context);

/*
 * Reads the name at an st_name into `text`, with a NUL. Returns 0; -ENOEXEC the offset is outside
 * of the names, or the name has no end; another -errno from reading.
 */
int symbol_table_read_name(const struct symbol_table *table, uint32_t name,
	char text[SYMBOL_NAME_BYTES], size_t *ret_length);

/* A symbol that is looked for. vaddr 0: there is none. */
struct wanted_symbol {
	const char *name;
	uint64_t vaddr, bytes;
};

/* Looks for several defined symbols; of those of one name the last one counts. Returns 0; -ENOMEM;
 * or errors as above. */
int symbol_table_find(const struct symbol_table *table, struct wanted_symbol *wanted, size_t count);
