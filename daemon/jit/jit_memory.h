/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In which mappings generated code may be. */
#pragma once

#include "process/process_table.h"

enum jit_memory {
	JIT_MEMORY_NONE, /* a file's, or the kernel's own pages */
	JIT_MEMORY_PRIVATE,
	JIT_MEMORY_SHARED, /* with other processes, as a fork */
	JIT_MEMORY_MEMFD,  /* shared too; or a library that was never in a folder */
};

/*
 * By the path that the kernel has made up: none, "//anon", "[anon:NAME]", "[heap]", "[stack]",
 * "/anon_hugepage"; "/dev/zero", "/SYSV…" or "/memfd:NAME" where it is shared.
 */
enum jit_memory jit_memory_of(const struct mapped_file *file);
