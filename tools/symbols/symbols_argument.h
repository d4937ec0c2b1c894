/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments that people type: binaries and addresses. */
#pragma once

#include "base/fault.h"
#include "symbol/symbol_cache.h"

#include <stddef.h>
#include <stdint.h>

enum { SYMBOLS_PREFIX_DIGITS_MIN = 4 };

/* Opens a file to read, without waiting for the writer of a pipe. Returns 0 or -errno with `fault`.
 */
int symbols_argument_open(const char *path, int *ret_fd, struct fault *fault);

/*
 * Parses a whole build-id in hex, or reads that of an ELF file, whoever owns the file. `text` is a
 * path if it has a slash or such a file exists. Returns 0 or -errno with `fault`; -EINVAL: it is
 * neither, or the file has no build-id.
 */
int symbols_argument_build_id(const char *text, struct build_id *ret_id, struct fault *fault);

/*
 * Finds the identity that `text` means: the path of an ELF file; a whole build-id in hex;
 * "htlhash:" or "owned:" and a whole identity of that kind; or a prefix of at least
 * SYMBOLS_PREFIX_DIGITS_MIN digits that only one entry of the cache (NULL: empty) has. Returns 0;
 * -ENOENT for no entry, -EEXIST for several, or another -errno; each with `fault`.
 */
int symbols_argument_find(struct symbol_cache *cache, const char *text,
	struct symbol_identity *ret_identity, struct fault *fault);

/*
 * Parses an address or offset: hexadecimal, with or without 0x; blanks around it are ignored.
 * Returns 0; -EINVAL not a number; -ERANGE more than 64 bits.
 */
int symbols_argument_address(const char *text, size_t size, uint64_t *ret_address);
