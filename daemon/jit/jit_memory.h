/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which mappings may hold generated code. */
#pragma once

#include "process/process_table.h"

enum jit_memory {
	JIT_MEMORY_NONE, /* a file, or pages of the kernel such as [vdso] */
	JIT_MEMORY_PRIVATE,
	JIT_MEMORY_SHARED, /* with other processes, such as forks */
	JIT_MEMORY_MEMFD,  /* shared, or a library that was loaded from a memfd */
};

/*
 * Judges by the name that the kernel gives to memory without a file: none, "//anon", "[anon:NAME]",
 * "[heap]", "[stack]", "/anon_hugepage"; "/dev/zero", "/SYSV…" and "/memfd:NAME" are shared.
 */
enum jit_memory jit_memory_of(const struct mapped_file *file);
