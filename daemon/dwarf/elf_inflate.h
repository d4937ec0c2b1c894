/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unpacks a section that is compressed with zlib to the end of a scratch array. It reads the file
 * in chunks, so that memory is constant whatever the section's size. The file is hostile (I8).
 */
#pragma once

#include "base/scratch.h"
#include "symbol/elf_file.h"

/*
 * Appends the contents of `section` to `unpacked`, an array of bytes, and stops at the size that
 * the section's own header says. The section has SHF_COMPRESSED, or `is_zdebug`: it is of the older
 * .zdebug_ kind. Returns 0; -ENOEXEC damaged or cut off; -ENOTSUP another method than zlib; -EFBIG
 * that size is beyond the array's or the scratch's limit, and nothing was unpacked; -ENOMEM;
 * -ENOSPC; another -errno from reading. What was appended before a failure remains.
 */
int elf_inflate_section(const struct elf_file *file, const Elf64_Shdr *section, bool is_zdebug,
	struct scratch_array *unpacked);
