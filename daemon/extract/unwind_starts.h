/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds roots in code without call frame information, where walks would take a frame pointer for
 * one or give up: the entry, as the dynamic linker's and musl's, and the place to which the first
 * functions of boost.context's coroutines return. Its make_fcontext() is an assembler function,
 * which PHP and others include. The first function gets a return address in it, with code that ends
 * the process. The code alone tells the place, because static linking and stripping remove the
 * name. x86-64 only; the file is hostile (I8).
 */
#pragma once

#include "extract/unwind_functions.h"
#include "extract/unwind_stubs.h"

/*
 * Adds the roots as stubs, as far as there is room. `with_entry`: the entry's rules are not
 * inferred, which would tell how long its code is. Returns 0, or -errno from reading.
 */
int unwind_starts_add(struct unwind_stubs *stubs, const struct unwind_functions *functions,
	const struct unwind_files *files, bool with_entry);
