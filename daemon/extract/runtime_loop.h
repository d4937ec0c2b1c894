/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the part of an interpreter's loop that is elsewhere: what the compiler has put there
 * because it seldom runs, or the function that does the work. Both have unwind entries of their
 * own. The file is hostile (I8).
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

/*
 * Of the other functions that the loop calls, the longest, if it has at least `least` bytes.
 * Returns as runtime_loop_find_rest().
 */
int runtime_loop_find_callee(const struct elf_memory *memory, uint64_t vaddr, uint64_t bytes,
	uint64_t least, uint64_t *ret_vaddr, uint64_t *ret_bytes);

/*
 * Of the functions that code of `bytes` at `vaddr` calls or goes on with, the only one that calls
 * through a pointer. Returns as runtime_loop_find_rest().
 */
int runtime_loop_find_caller(const struct elf_memory *memory, uint64_t vaddr, uint64_t bytes,
	uint64_t *ret_vaddr, uint64_t *ret_bytes);

/* The length of the function that begins at `vaddr`. Returns 0; -ENOTSUP there is none; or another
 * -errno from reading. */
int runtime_loop_measure(const struct elf_memory *memory, uint64_t vaddr, uint64_t *ret_bytes);
