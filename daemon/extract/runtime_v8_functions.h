/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds V8's own functions in a binary without the symbols of their place. Debian's library is
 * such a one. It still exports the two functions of V8 that return the place and the size, and
 * their code tells both (code_accessor.h). The file is hostile (I8).
 */
#pragma once

#include <stdint.h>

struct scratch;
struct symbol_table;
struct unwind_files;

/* Returns 0; -ENOTSUP it is not told, or it is no code; -ENOMEM; the scratch's errors; or another
 * -errno from reading. */
int runtime_v8_functions_find(const struct unwind_files *files, const struct symbol_table *table,
	struct scratch *scratch, uint64_t *ret_vaddr, int32_t *ret_bytes);
