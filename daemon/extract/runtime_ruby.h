/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Describes Ruby (CRuby, 2.7 to 3.4) for the sampler (pilotlight/runtime.h). Exported functions
 * tell where a thread has its state and where the loop is, also in a stripped file. The fields of
 * frames and instruction sequences are known by version; an exported function must agree. The file
 * is hostile (I8).
 */
#pragma once

#include "pilotlight/runtime.h"

struct scratch;
struct unwind_files;

/*
 * Returns 0; -ENODATA the file is not Ruby; -ENOTSUP it is Ruby, but of a version or a build that
 * is not known; -ENOEXEC, -EFBIG damaged tables; the scratch's errors; or another -errno from
 * reading.
 */
int runtime_ruby_read(const struct unwind_files *files, struct scratch *scratch,
	struct pilotlight_runtime *ret_runtime);
