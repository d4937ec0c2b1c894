/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds an ELF file's sections by name, and reads what a few small ones say. The file is hostile
 * (I8).
 */
#pragma once

#include "symbol/elf_file.h"

#include <stddef.h>
#include <stdint.h>

/* Names are at most this long with the NUL; a longer one is seen as "". */
enum { ELF_SECTION_NAME_BYTES = 64, ELF_SECTIONS_MAX = 0xff00 };

/* Calls `visit` for each section but the first, until it returns anything but 0, which is returned.
 * Returns 0; -ENOEXEC too many sections, or the headers make no sense; another -errno from reading.
 * A file without names has sections named "". */
int elf_sections_each(const struct elf_file *file,
	int (*visit)(void *context, uint32_t index, const Elf64_Shdr *section, const char *name),
	void *context);

/* The first section of that name with contents, which lie within the file. Returns 0; -ENODATA none
 * of that name, or without contents in this file (SHT_NOBITS, empty); -ENOEXEC the headers make no
 * sense; another -errno from reading. */
int elf_sections_find(const struct elf_file *file, const char *name, Elf64_Shdr *ret_section);

/* What .gnu_debuglink says. Errors as elf_sections_find(). */
struct elf_debuglink {
	char name[256]; /* a file name, without slashes */
	uint32_t crc;	/* CRC-32 of the whole debug file */
};
int elf_sections_read_debuglink(const struct elf_file *file, struct elf_debuglink *ret_link);

/* What .gnu_debugaltlink says: the file that dwz moved the common parts to. */
struct elf_alternate_link {
	char path[4096]; /* absolute, or relative to the file's own folder */
	uint8_t build_id[64];
	size_t build_id_bytes;
};
int elf_sections_read_alternate_link(
	const struct elf_file *file, struct elf_alternate_link *ret_link);

/* CRC-32 of the whole file, as .gnu_debuglink has it; at about a gigabyte a second. 0 or -errno. */
int elf_sections_crc(const struct elf_file *file, uint32_t *ret_crc);
