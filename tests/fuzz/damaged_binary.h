/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Damages a small binary as the input says, and describes the interpreter in it. For fuzz targets.
 */
#pragma once

#include "base/runtime_bounds.h"
#include "base/scratch.h"
#include "extract/extraction.h"
#include "extract/unwind_files.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Two bytes for a place, one for the change. */
static inline void damage(
	uint8_t *binary, size_t binary_bytes, const uint8_t *changes, size_t changes_bytes)
{
	enum { DAMAGES_MAX = 16 };

	for (size_t i = 0, at = 0; i < DAMAGES_MAX && at + 3 <= changes_bytes; i++, at += 3)
		binary[(changes[at] | (size_t)changes[at + 1] << 8) % binary_bytes] ^=
			changes[at + 2];
}

typedef int (*runtime_reader)(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime);

/* A description has to be sound. `fd` may be -1. */
static inline void try_description(int fd, runtime_reader read_runtime)
{
	static int scratch_fd = -1;
	const struct extraction_files files = { .binary_fd = fd, .debug_fd = -1 };
	struct pilotlight_runtime runtime;
	struct unwind_files opened;
	struct scratch scratch;

	if (scratch_fd < 0)
		scratch_fd = memfd_create("scratch", MFD_CLOEXEC);
	scratch_init(&scratch, scratch_fd, 16 << 20, 16 << 20);
	if (fd >= 0 && unwind_files_open(&opened, &files) == 0 &&
		read_runtime(&opened, &scratch, &runtime) == 0 && !runtime_bounds_hold(&runtime))
		abort();
}
