/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the sections of an ELF file by name, and reads the links to its debug files. The file is
 * hostile (I8).
 */
#pragma once

#include "symbol/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names have at most this many bytes with the NUL; a longer one is read as "". */
enum { ELF_SECTION_NAME_BYTES = 64, ELF_SECTIONS_MAX = 0xff00 };

/* Calls `visit` for each section except the first, until it returns a value other than 0. Returns
 * that value; 0; -ENOEXEC too many sections, or malformed headers; another -errno from reading. If
 * the file has no section names, they are "". */
int elf_sections_each(const struct elf_file *file,
	int (*visit)(void *context, uint32_t index, const Elf64_Shdr *section, const char *name),
	void *context);

/* Finds the first section of that name that has contents, which lie within the file. Returns 0;
 * -ENODATA there is none with contents in this file (SHT_NOBITS and empty ones have none); -ENOEXEC
 * malformed headers; another -errno from reading. */
int elf_sections_find(const struct elf_file *file, const char *name, Elf64_Shdr *ret_section);

/* Reads .gnu_debuglink. Errors as elf_sections_find(). */
struct elf_debuglink {
	char name[256]; /* a file name, without slashes */
	uint32_t crc;	/* CRC-32 of the whole debug file */
};
int elf_sections_read_debuglink(const struct elf_file *file, struct elf_debuglink *ret_link);

/* Reads .gnu_debugaltlink, which names the file that dwz moved common parts to. Errors as
 * elf_sections_find(). */
struct elf_alternate_link {
	char path[4096]; /* absolute, or relative to the file's own folder */
	uint8_t build_id[64];
	size_t build_id_bytes;
};
int elf_sections_read_alternate_link(
	const struct elf_file *file, struct elf_alternate_link *ret_link);

/* Computes the CRC-32 of the whole file, as .gnu_debuglink has it; at about a gigabyte a second.
 * Returns 0 or -errno. */
int elf_sections_crc(const struct elf_file *file, uint32_t *ret_crc);

/* Is `debug` the debug file of `binary`? Compares their build-ids; if one has none, compares the
 * CRC of `debug` with the binary's .gnu_debuglink. Both files are read by descriptor. */
bool elf_sections_is_debug_file_of(const struct elf_file *binary, const struct elf_file *debug);
