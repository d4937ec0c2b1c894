/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files in, an unwind table out: a symbol file of its own, with SEGMENTS and the UNWIND
 * sections alone. Runs in a worker process as extraction_run() does, whose contract it has: all
 * input is hostile (I8), time is linear in it, memory is bounded by the scratch file and the
 * worker's limits.
 *
 * Of .eh_frame, and for functions that it does not tell of, of .debug_frame. The debug file's rank
 * is that of the table only where some function of the table is of that file. A table without rows
 * is made of a Go program, whose functions keep frame pointers.
 */
#pragma once

#include "extract/extraction.h"

/*
 * Makes the symbol file. What came of it is in `ret_report`, also on failure. Returns 0, or -errno
 * after which the output means nothing: -ENODATA there is nothing to unwind by, or no table of the
 * machine, or no binary (a debug file alone does not tell where code is in the binary); -ENOEXEC
 * all that there is makes no sense; -EFBIG; -ENOMEM; -ENOSPC; …
 */
int unwind_extraction_run(const struct extraction_files *files,
	const struct pilotlight_symbol_request *request,
	struct pilotlight_symbol_report *ret_report);
