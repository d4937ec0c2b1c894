/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * zlib's compressed bytes out of a file, unpacked to the end of a scratch array: read in pieces, so
 * that memory is constant whatever the lengths are. The file is hostile (I8).
 */
#pragma once

#include "base/scratch.h"
#include "symbol/elf_file.h"

#include <stdint.h>

/*
 * Appends to `unpacked`, an array of bytes, what the `size` bytes at `offset` unpack to, and stops
 * at `unpacked_max`; that much room is asked for first. Returns 0; -ENOEXEC damaged, or cut off;
 * -ENOMEM; the scratch's errors (-EFBIG: there is no such room, and nothing was unpacked);
 * another -errno from reading. What was appended before a failure remains.
 */
int elf_inflate(const struct elf_file *file, uint64_t offset, uint64_t size, uint64_t unpacked_max,
	struct scratch_array *unpacked);
