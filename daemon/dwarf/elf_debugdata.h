/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the small ELF file in a binary's .gnu_debugdata. It is an xz stream, which is unpacked to
 * scratch in chunks, with bounds on liblzma's memory and on the output (I4, I8).
 */
#pragma once

#include "base/scratch.h"
#include "symbol/elf_file.h"

enum {
	ELF_DEBUGDATA_MEMORY_BYTES_MAX = 80 * 1024 * 1024, /* of liblzma; xz -9 takes 65 MiB */
	ELF_DEBUGDATA_BYTES_MAX = 256 * 1024 * 1024,
};

/*
 * Unpacks it to `bytes`, which the caller frees with scratch_array_done(), and opens it. Returns
 * 0; -ENODATA there is none; -ENOEXEC damaged, or beyond the bounds; -ENOMEM; the scratch's
 * errors; another -errno from reading. A failure leaves `ret_bytes` unchanged.
 */
int elf_debugdata_open(const struct elf_file *file, struct scratch *scratch,
	struct scratch_array *ret_bytes, struct elf_file *ret_inner);
