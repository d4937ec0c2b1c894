/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the stubs of an x86-64 procedure linkage table: jumps through a slot of the global offset
 * table, which a relocation binds to a symbol. It decodes .plt, .plt.sec and .plt.got, so the
 * layout of the linker does not matter; other code is ignored. The file is hostile (I8); the stubs
 * are kept in scratch.
 *
 * Source: System V ABI, AMD64 supplement, section 5.2; Intel's CET additions (endbr64, bnd).
 */
#pragma once

#include "base/scratch.h"
#include "symbol/elf_file.h"

#include <stdint.h>

/*
 * Calls `visit` for each stub that is bound to a symbol (an index in .dynsym), ascending by slot,
 * until it returns an error; returns that error. Returns 0, also without a table; -ENOEXEC
 * malformed headers; the scratch's errors; another -errno from reading.
 */
int elf_plt_each(const struct elf_file *file, struct scratch *scratch,
	int (*visit)(void *context, uint64_t start, uint64_t end, uint32_t symbol), void *context);
