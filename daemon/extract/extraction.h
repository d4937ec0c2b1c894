/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ELF files in, a symbol file out. Runs in a worker process (symbolize/worker_pool.h), whose death
 * costs this binary's names and nothing else; all input is hostile (I8), memory is bounded by the
 * scratch file and the worker's limits.
 */
#pragma once

#include "pilotlight/symbol_worker.h"

struct dwarf_split_opener;

/* The first bytes of the scratch that are anonymous memory rather than its file. */
enum { EXTRACTION_MEMORY_BYTES = 8 << 20 };

/* Descriptors are borrowed; -1 where there is none. */
struct extraction_files {
	int binary_fd;
	int debug_fd;	  /* taken only if its build-id is the binary's or it has its CRC */
	int alternate_fd; /* what the debug file's (or binary's) .gnu_debugaltlink names */
	int package_fd;	  /* a package (.dwp) of split DWARF */
	int scratch_fd;	  /* empty, for reading and writing */
	int output_fd;	  /* empty */
	const struct dwarf_split_opener
		*split_opener; /* single ones; borrowed, NULL: there are none */
};

/*
 * Makes the symbol file. At least one of binary and debug file is there. What came of it is in
 * `ret_report`, also on failure. Returns 0, or -errno after which the output means nothing:
 * -ENODATA nothing to be known; -ENOEXEC damaged; -EFBIG; -ENOMEM; -ENOSPC; …
 */
int extraction_run(const struct extraction_files *files,
	const struct pilotlight_symbol_request *request,
	struct pilotlight_symbol_report *ret_report);
