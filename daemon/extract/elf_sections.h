/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an extraction needs of an ELF file's sections: found by name, compressed ones
 * (SHF_COMPRESSED with zlib, and the older .zdebug_) unpacked to the scratch file, so that neither
 * the file nor a decompression bomb decides how much memory is used. The file is hostile (I8).
 */
#pragma once

#include "extract/scratch.h"
#include "symbol/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A section by its name. Returns 0; -ENODATA none of that name, or without contents in this file
 * (SHT_NOBITS); -ENOEXEC the headers make no sense. */
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

/* CRC-32 of the whole file, as .gnu_debuglink has it. 0 or -errno. */
int elf_sections_crc(const struct elf_file *file, uint32_t *ret_crc);

/*
 * Does the file have compressed debug sections? Then elf_sections_unpack() writes to `unpacked` an
 * ELF file of the same class and order with the same section headers, .debug_ sections unpacked,
 * the symbol tables and their strings copied, all other sections without contents; libdw reads that
 * one without memory of its own. -EFBIG beyond the scratch's limit; -ENOEXEC damaged; -ENOTSUP
 * compressed by what we do not know; …
 */
bool elf_sections_are_compressed(const struct elf_file *file);
int elf_sections_unpack(const struct elf_file *file, struct scratch_array *unpacked);
