/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes how a thread's state is found (pilotlight/runtime.h), from what an exported function
 * returns or passes on (code_accessor.h).
 */
#pragma once

#include "extract/code_accessor.h"
#include "pilotlight/runtime.h"

struct symbol_table;
struct unwind_files;

struct runtime_anchor {
	const struct unwind_files *files;   /* borrowed */
	const struct symbol_table *symbols; /* borrowed: .dynsym */
};

/*
 * `value` is the state, in a variable of each thread. Returns 0; -ENOTSUP it is something else, the
 * variable's place depends on a C library that is neither glibc nor musl, or the code has several
 * places; or another -errno from reading.
 */
int runtime_anchor_describe_variable(const struct runtime_anchor *anchor,
	const struct code_value *value, struct pilotlight_runtime *runtime);

/* `value` is a pthread key, or points `key_at` bytes before one. Errors as above. */
int runtime_anchor_describe_key(const struct runtime_anchor *anchor, const struct code_value *value,
	uint32_t key_at, struct pilotlight_runtime *runtime);

/* The anchor of that kind has this vaddr, or TLS none, and offset. Errors as above. */
int runtime_anchor_describe(const struct runtime_anchor *anchor,
	enum pilotlight_runtime_anchor kind, uint64_t vaddr, int64_t offset,
	struct pilotlight_runtime *runtime);

/* The place of a vaddr. Returns 0, or -ENOTSUP if the code has several. */
int runtime_anchor_find_place(
	const struct runtime_anchor *anchor, uint64_t vaddr, __s64 *ret_place);
