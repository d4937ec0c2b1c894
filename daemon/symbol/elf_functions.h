/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds functions of an ELF file by their exact names, in .dynsym and .symtab: for probes, which
 * are set at file offsets. The file is hostile (I8): each offset and count is checked, and memory
 * and time are bounded.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum {
	/* Names of a larger table are not read. */
	ELF_FUNCTIONS_NAMES_BYTES_MAX = 16 << 20,
	ELF_FUNCTIONS_SYMBOLS_MAX = 1 << 20, /* of one table; the others are not read */
};

struct elf_function {
	uint32_t name;	 /* the index of its name */
	uint64_t offset; /* of its first instruction, in the file */
	uint64_t size;	 /* 0: unknown */
};

/*
 * Fills in up to `functions_max` functions of the borrowed `fd` that have one of the `name_count`
 * names, which are sorted. Each offset appears once, with the first of its names in the order of
 * `names`. A function in no executable segment is skipped. Returns 0; -ENOEXEC not ELF; -ENOMEM;
 * -EFBIG as elf_image_read(); or another -errno from reading. A damaged table is skipped.
 */
int elf_functions_find(int fd, const char *const names[], size_t name_count,
	struct elf_function functions[], size_t functions_max, size_t *ret_count);
