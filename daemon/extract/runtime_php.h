/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes PHP (pilotlight/runtime.h), 7.4 to 8.6, from its program or library. Exported symbols
 * tell where the innermost frame and the loop are, also in a stripped file. The fields of functions
 * are known by version; an exported function must use them. The file is hostile (I8).
 */
#pragma once

#include "pilotlight/runtime.h"

struct scratch;
struct unwind_files;

/*
 * Returns 0; -ENODATA the file is no PHP; -ENOTSUP it is one that is not known; -ENOMEM; or
 * another -errno from reading.
 */
int runtime_php_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime);
