/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the part of an interpreter's loop that the compiler has put elsewhere, because it seldom
 * runs: the loop branches into it, and it has an unwind entry of its own. The file is hostile (I8).
 */
#pragma once

#include <stdint.h>

struct elf_memory;

enum { RUNTIME_LOOP_BYTES_MAX = 1 << 20 };

/*
 * The loop is at `vaddr`. Without such a part, or if it cannot be found, its bytes are 0. Returns
 * 0; -ENOTSUP the loop is too long; -ENOMEM; or another -errno from reading.
 */
int runtime_loop_find_rest(const struct elf_memory *memory, uint64_t vaddr, uint64_t bytes,
	uint64_t *ret_vaddr, uint64_t *ret_bytes);
