/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes a symbol file from ELF files. Runs in a worker process (symbolize/worker_pool.h). If the
 * worker dies, only this binary stays unsymbolized. All input is hostile (I8); the scratch and the
 * worker's limits bound the memory.
 */
#pragma once

#include "pilotlight/symbol_worker.h"

struct dwarf_split_opener;

/* The first bytes of the scratch that are anonymous memory rather than its file. */
enum { EXTRACTION_MEMORY_BYTES = 8 << 20 };

/* Borrowed descriptors; -1: none. */
struct extraction_files {
	int binary_fd;
	int debug_fd;	  /* used only if elf_sections_is_debug_file_of() the binary */
	int alternate_fd; /* the file that .gnu_debugaltlink of the debug file or binary names */
	int package_fd;	  /* a package (.dwp) of split DWARF */
	int scratch_fd;	  /* empty, for reading and writing */
	int output_fd;	  /* empty */
	const struct dwarf_split_opener *split_opener; /* borrowed; NULL: no single split files */
};

/*
 * Needs at least one of binary and debug file. Sets *ret_report also on failure. Returns 0, or
 * -errno, after which the output is invalid: -ENODATA no symbols; -ENOEXEC damaged; -EFBIG;
 * -ENOMEM; -ENOSPC; …
 */
int extraction_run(const struct extraction_files *files,
	const struct pilotlight_symbol_request *request,
	struct pilotlight_symbol_report *ret_report);
