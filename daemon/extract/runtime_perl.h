/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes Perl (pilotlight/runtime.h), 5.32 to 5.42, from its program or library. Exported
 * symbols tell its version, where the interpreter of a thread is, and where the loop is, also in a
 * stripped file. The code of a function tells where an interpreter has the statement that
 * runs. The file is hostile (I8).
 */
#pragma once

#include "pilotlight/runtime.h"

struct scratch;
struct unwind_files;

/*
 * Returns 0; -ENODATA the file is no Perl; -ENOTSUP it is one that is not known; -ENOMEM; or
 * another -errno from reading.
 */
int runtime_perl_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime);
