/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arguments that people type: binaries and addresses. */
#pragma once

#include "base/fault.h"
#include "symbol/symbol_cache.h"

#include <stddef.h>
#include <stdint.h>

enum { SYMBOLS_PREFIX_DIGITS_MIN = 4 };

/*
 * Parses an identity: an ELF file, if `text` has a slash or such a file exists; a whole build-id in
 * hex; or "htlhash:" or "owned:" and a whole identity of that kind. Does not search the cache.
 * Returns 0 or -errno with `fault`; -EINVAL if `text` is none of these.
 */
int symbols_argument_identity(
	const char *text, struct symbol_identity *ret_identity, struct fault *fault);

/* The same for a build-id only; of a file, the build-id in the file, whoever owns the file. Returns
 * 0 or -errno with `fault`; -EINVAL also if the file has none. */
int symbols_argument_build_id(const char *text, struct build_id *ret_id, struct fault *fault);

/*
 * As symbols_argument_identity(), but `text` may also be a prefix of at least
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
