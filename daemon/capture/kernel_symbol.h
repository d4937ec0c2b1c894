/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds a function of the kernel in /proc/kallsyms. */
#pragma once

#include <stdint.h>

enum { KERNEL_SYMBOL_NAME_BYTES = 128 };

struct kernel_symbol {
	uint64_t address;		     /* 0: the kernel hides addresses */
	char name[KERNEL_SYMBOL_NAME_BYTES]; /* with what the compiler appended */
};

/*
 * Finds the function `name` of the kernel itself, not of a module, in the file `path`. The compiler
 * may have made a variant of it, such as "name.isra.0". Returns 0; -ENOENT if it is not there; or
 * -errno.
 */
int kernel_symbol_find(const char *path, const char *name, struct kernel_symbol *ret_symbol);
