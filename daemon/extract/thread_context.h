/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes how a thread finds its context of OpenTelemetry (pilotlight/thread_context.h), from a
 * program or library that exports the variable. A program has it at a distance from the thread
 * pointer that its headers tell. Of a library a relocation tells where the dynamic linker writes
 * the distance, or the index of the library's variables. The file is hostile (I8).
 */
#pragma once

#include "pilotlight/runtime.h"

struct unwind_files;

/*
 * Returns 0; -ENODATA it exports no such variable; -ENOTSUP it does, but nothing tells where: a
 * local-dynamic library, or another C library than glibc; -ENOEXEC damaged; -EFBIG; -ENOMEM; or
 * another -errno from reading.
 */
int thread_context_read(const struct unwind_files *files, struct pilotlight_runtime *ret_runtime);
