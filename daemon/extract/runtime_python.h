/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes CPython (pilotlight/runtime.h), from a program or library that contains it. The binary
 * tells most of it: exported functions which variable has a thread's state, the type of code
 * objects its members, and from 3.13 on a table of offsets the frames. A table of ours has the
 * frames of 3.8 to 3.12, and the rest of 3.8 to 3.10. What two sources tell, must agree. The file
 * is hostile (I8).
 *
 * Not described: builds without the global lock from 3.14 on, and CPython with another C library
 * than glibc and musl that keeps the state where only their layout would lead.
 */
#pragma once

#include "pilotlight/runtime.h"

#include <stdint.h>

struct scratch;
struct unwind_files;

/*
 * Returns 0; -ENODATA it is no CPython of a version that is known; -ENOTSUP it is one, but cannot
 * be described: a build that is not known, or Zydis is missing; -ENOEXEC damaged; -ENOMEM; the
 * scratch's errors; or another -errno from reading.
 */
int runtime_python_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime);
