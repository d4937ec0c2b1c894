/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The stubs of an x86-64 procedure linkage table: jumps through a slot of the global offset table,
 * which a relocation binds to a symbol. Found by decoding .plt, .plt.sec and .plt.got, so that it
 * does not matter which linker laid them out; what does not look like a stub is passed over. The
 * file is hostile (I8); what is found is kept in scratch.
 *
 * Source: System V ABI, AMD64 supplement, section 5.2; Intel's CET additions (endbr64, bnd).
 */
#pragma once

#include "base/scratch.h"
#include "symbol/elf_file.h"

#include <stdint.h>

/*
 * Calls `visit` for each stub that is bound to a symbol (an index in .dynsym), ascending by slot,
 * until it returns an error, which is returned. Returns 0, also where there is no table; -ENOEXEC
 * the headers make no sense; the scratch's errors; another -errno from reading.
 */
int elf_plt_each(const struct elf_file *file, struct scratch *scratch,
	int (*visit)(void *context, uint64_t start, uint64_t end, uint32_t symbol), void *context);
