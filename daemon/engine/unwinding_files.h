/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that the sampler has met: opened, held against what the kernel knows them by, and
 * identified. Another file in the place of one is nobody's.
 */
#pragma once

#include "engine/unwinding.h"
#include "resolve/binary_table.h"
#include "symbol/symbol_identity.h"
#include "unwind/walk_files.h"

/*
 * The binary of a request, and a descriptor of its file, which is the caller's. Returns 0;
 * -EMEDIUMTYPE it is shared memory, or no ELF file; -ESRCH the process is not known; -ESTALE the
 * file is another now; -ENOENT or another -errno, it cannot be opened.
 */
int unwinding_files_identify(const struct unwinding_parts *parts,
	const struct pilotlight_file_key *key, const struct pilotlight_walk_request *request,
	uint32_t *ret_binary, int *ret_fd);

/*
 * The identity of a binary as the symbolizer knows it. `fd` is of its file; -1: there is none, and
 * nobody knows whose it is, -ENOENT.
 */
int unwinding_files_identity(
	const struct binary *binary, int fd, struct symbol_identity *ret_identity);

/* A descriptor, the caller's, of a file that was met before; -1: it is not to be had. */
int unwinding_files_open_again(const struct unwinding_parts *parts, const struct walk_file *file,
	const struct binary *binary);
