/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where CPython keeps which tasks of asyncio await each other, from 3.14 on. */
#pragma once

#include "pilotlight/runtime.h"

#include <stdbool.h>
#include <stdint.h>

struct elf_file;
struct elf_memory;

/*
 * Fills in the tasks of 3.`minor`, whose frames are described already. `vaddr` is that of
 * _PyRuntime. Where the binary does not tell, they stay as they are. Returns 0 or -errno from
 * reading.
 */
int runtime_python_describe_tasks(const struct elf_file *file, const struct elf_memory *memory,
	uint64_t vaddr, uint32_t minor, bool has_lock, struct pilotlight_runtime *runtime);
