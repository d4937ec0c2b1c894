/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What an extraction needs of an ELF file's sections: found by name, compressed ones
 * (SHF_COMPRESSED with zlib, and the older .zdebug_) unpacked to the scratch file, so that neither
 * the file nor a decompression bomb decides how much memory is used. The file is hostile (I8).
 */
#pragma once

#include "base/scratch.h"
#include "symbol/elf_file.h"

#include <stdbool.h>
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

/*
 * Does the file have compressed debug sections? Then elf_sections_unpack() writes to `unpacked`, an
 * empty array of bytes, an ELF file of the same class and order with the same section headers:
 * those .debug_ sections unpacked that functions, inlined calls and lines are read from (not
 * .debug_loc, .debug_frame, .debug_macro and the like), the symbol tables and their strings copied,
 * .zdebug_ renamed, all other sections without contents, and no program headers. libdw reads that
 * one without memory of its own.
 *
 * Returns 0; -EFBIG beyond the array's or the scratch's limit, or of a 32-bit file beyond 4 GiB;
 * -ENOEXEC damaged; -ENOTSUP compressed by what we do not know (zstd); -ENOMEM; -ENOSPC; another
 * -errno from reading. The array's contents mean nothing after a failure.
 */
bool elf_sections_are_compressed(const struct elf_file *file);
int elf_sections_unpack(const struct elf_file *file, struct scratch_array *unpacked);
