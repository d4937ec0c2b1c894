/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the parts of a Go binary that no section header names for sure: its table of functions
 * (dwarf/go_table.h), and the runtime's description of the module, which says where the code and
 * the data of functions begin. In a position-independent binary its addresses may be in
 * relocations alone. The file is hostile (I8): its segments or sections may all be the whole file,
 * so a search ends after twice the size of the file.
 *
 * Source: moduledata in runtime/symtab.go of Go.
 */
#pragma once

#include "symbol/elf_file.h"

/* A header of a table has so many bytes, and the header of no version has more. */
enum { GO_HEADER_BYTES = 72 };

/* Does a table begin with these bytes? Only the first eight are looked at. */
bool go_module_is_table(const uint8_t *bytes);

struct go_place {
	uint64_t vaddr, offset, bytes;
};

/* Returns 0; -ENODATA there is no table; -ENOEXEC; another -errno from reading. */
int go_module_find_table(const struct elf_file *file, struct go_place *ret_place);

/* Finds the contents of the file at a vaddr, up to the end of its segment. Errors as above. */
int go_module_find_vaddr(const struct elf_file *file, uint64_t vaddr, struct go_place *ret_place);

/* The vaddrs that the module begins with. */
enum {
	GO_MODULE_TABLE = 0,
	GO_MODULE_NAMES = 1,
	GO_MODULE_TEXT = 22,
	GO_MODULE_DATA_1_18 = 38, /* the data of functions */
	GO_MODULE_DATA_1_20 = 40,
	GO_MODULE_WORDS = 41,
};
struct go_module {
	uint64_t words[GO_MODULE_WORDS];
};

/* `table` and `names` are the vaddrs of the table and of its names. Errors as above. */
int go_module_find(
	const struct elf_file *file, uint64_t table, uint64_t names, struct go_module *ret_module);
