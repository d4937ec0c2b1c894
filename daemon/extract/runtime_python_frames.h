/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where CPython keeps its frames, by version: a table of ours for 3.8 to 3.12, and the offsets
 * that the binary publishes from 3.13 on (struct _Py_DebugOffsets, with which _PyRuntime begins).
 */
#pragma once

#include "pilotlight/runtime.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_memory;

/* What is the same in all versions. */
extern const struct pilotlight_runtime runtime_python_common;

/* Has the build the global lock? Without, objects begin with more. `vaddr` is that of _PyRuntime.
 * Returns 0 or an error of elf_memory_read(). */
int runtime_python_find_lock(
	const struct elf_memory *memory, uint64_t vaddr, uint32_t minor, bool *ret_has_lock);

/*
 * Fills in all of 3.`minor` but the code objects, which are described already, and the anchor.
 * `vaddr` is that of _PyRuntime. Returns 0; -ENOTSUP an unknown version, a build without the global
 * lock, or one whose code objects contradict; or an error of elf_memory_read().
 */
int runtime_python_describe_frames(const struct elf_memory *memory, uint64_t vaddr, uint32_t minor,
	struct pilotlight_runtime *runtime);
