/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes an unwind table from ELF files: a symbol file with the section SEGMENTS and the UNWIND
 * sections only. Runs in a worker process under the contract of extraction_run(). All input is
 * hostile (I8); time is linear in it; the scratch and the worker's limits bound the memory.
 *
 * Functions come from .eh_frame, and those that it lacks from .debug_frame. For code that neither
 * describes, rules are inferred from the instructions. The table has the rank
 * of the debug file only if one of its functions comes from that file. The functions of a Go
 * program come from Go's own table. If that cannot be read, the table may have no rows, because
 * Go's functions keep frame pointers.
 */
#pragma once

#include "extract/extraction.h"

/*
 * Writes the table. Sets *ret_report also on failure. Returns 0, or -errno, after which the output
 * is invalid: -ENODATA no call frame information and no code that tells, a machine without tables,
 * or no binary (a debug file does not say where the code is in the binary); -ENOEXEC all call frame
 * information is malformed; -EFBIG; -ENOMEM; -ENOSPC; …
 */
int unwind_extraction_run(const struct extraction_files *files,
	const struct pilotlight_symbol_request *request,
	struct pilotlight_symbol_report *ret_report);
