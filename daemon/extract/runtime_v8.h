/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes V8 (pilotlight/runtime_v8.h), from a program or library that contains it: by the
 * numbers that V8 publishes for debuggers in variables called v8dbg_…, and by the symbols of its
 * own functions, or without them by exported functions (runtime_v8_functions.h). The numbers that
 * are the same in all known versions must be what they are there. The file is hostile (I8).
 *
 * Not described: builds with compressed pointers, as in Electron, and files that neither have these
 * symbols nor export these functions.
 */
#pragma once

#include "pilotlight/runtime.h"

#include <stdint.h>

struct scratch;
struct unwind_files;

/*
 * Returns 0; -ENODATA it is no V8; -ENOTSUP it is one, but cannot be described: then the result is
 * a bit of a symbol file's contents that says why, or 0; -ENOEXEC damaged; -ENOMEM; the scratch's
 * errors; or another -errno from reading.
 */
int runtime_v8_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime, uint32_t *ret_lacks);
