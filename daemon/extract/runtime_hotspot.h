/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes HotSpot (pilotlight/runtime_hotspot.h), from a library that contains it: by the tables
 * of structures that it exports for debuggers, gHotSpotVMStructs and gHotSpotVMTypes. Compilers
 * leave the offsets of fields to the library's start, which stores them there; the stores are found
 * in its code. The file is hostile (I8).
 */
#pragma once

#include "base/scratch.h"
#include "pilotlight/runtime.h"

struct unwind_files;

/* Returns 0; -ENODATA it is no HotSpot; -ENOTSUP it is one, but cannot be described; -ENOEXEC
 * damaged; -ENOMEM; the scratch's errors; or another -errno from reading. */
int runtime_hotspot_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime);
