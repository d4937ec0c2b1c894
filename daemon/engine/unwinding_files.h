/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Opens and identifies the files that the sampler saw. A file is checked against the kernel's
 * key, because another one may be at its path by now.
 */
#pragma once

#include "broker/broker.h"
#include "process/process_table.h"
#include "resolve/binary_table.h"
#include "symbol/symbol_identity.h"
#include "unwind/walk_files.h"

/* How files are found and opened; all are borrowed. */
struct unwinding_files {
	struct broker *broker;
	struct process_table *processes;
	struct binary_table *binaries;
};

/*
 * Finds the binary of a request and opens its file, for the caller. Returns 0; -EMEDIUMTYPE if it
 * is shared memory, or not an ELF file; -ESRCH if the process is not known to have a mapping there;
 * -ESTALE if it is another file now; -ENOENT or another -errno if it cannot be opened, such as
 * -ENOEXEC if the file that is there now is not ELF.
 */
int unwinding_files_identify(const struct unwinding_files *files,
	const struct pilotlight_file_key *key, const struct pilotlight_walk_request *request,
	uint32_t *ret_binary, int *ret_fd);

/* The identity by which the symbolizer knows a binary. `fd`: its file; -1: returns -ENOENT, since
 * the file's owner is not known. */
int unwinding_files_identity(
	const struct binary *binary, int fd, struct symbol_identity *ret_identity);

/* Opens an identified file again, for the caller. Returns -1 if it cannot be opened or has changed.
 */
int unwinding_files_open_again(const struct unwinding_files *files, const struct walk_file *file,
	const struct binary *binary);
