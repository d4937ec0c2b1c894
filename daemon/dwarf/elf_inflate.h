/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpacks a section that zlib compressed to the end of a scratch array. It reads the file in
 * chunks, so its own memory is constant. The file is hostile (I8).
 */
#pragma once

#include "base/scratch.h"
#include "symbol/elf_file.h"

/*
 * Appends the contents of `section` to `unpacked`, an array of bytes, up to the size in the
 * section's header. The section has SHF_COMPRESSED or, with `is_zdebug`, the older format. Returns
 * 0; -ENOEXEC damaged or truncated; -ENOTSUP a method other than zlib; -EFBIG the size exceeds the
 * limit of the array or scratch, and nothing was unpacked; -ENOMEM; -ENOSPC; another -errno from
 * reading. Bytes appended before a failure remain.
 */
int elf_inflate_section(const struct elf_file *file, const Elf64_Shdr *section, bool is_zdebug,
	struct scratch_array *unpacked);
