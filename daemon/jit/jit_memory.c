/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/jit_memory.h"

#include <string.h>

static bool starts_with(const char *path, const char *prefix)
{
	return strncmp(path, prefix, strlen(prefix)) == 0;
}

/* Pages of code that the kernel maps into every process. */
static bool is_kernels(const char *path)
{
	return strcmp(path, "[vdso]") == 0 || strcmp(path, "[vsyscall]") == 0 ||
	       strcmp(path, "[uprobes]") == 0;
}

enum jit_memory jit_memory_of(const struct mapped_file *file)
{
	if (starts_with(file->path, "/memfd:"))
		return JIT_MEMORY_MEMFD;
	if (file->is_regular || is_kernels(file->path))
		return JIT_MEMORY_NONE;
	if (starts_with(file->path, "/dev/zero") || starts_with(file->path, "/SYSV"))
		return JIT_MEMORY_SHARED;
	return JIT_MEMORY_PRIVATE;
}
