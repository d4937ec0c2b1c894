/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What people write: which binary, how many bytes, which address. */
#pragma once

#include "base/fault.h"
#include "symbol/symbol_cache.h"

#include <stddef.h>
#include <stdint.h>

enum { SYMBOLS_PREFIX_DIGITS_MIN = 4 };

/*
 * The identity that `text` means: that of an ELF file, if `text` has a slash or a file of that name
 * is there; all of a build-id in hex; "htlhash:" or "owned:" and all of such a one. Nothing is
 * looked for in a cache. Returns 0 or -errno with `fault`; -EINVAL where it is none of these.
 */
int symbols_argument_identity(
	const char *text, struct symbol_identity *ret_identity, struct fault *fault);

/* The build-id that `text` means, as above; of a file, what it says itself, whoever its owner is.
 * Returns 0 or -errno with `fault`; -EINVAL also where there is none. */
int symbols_argument_build_id(const char *text, struct build_id *ret_id, struct fault *fault);

/*
 * As symbols_argument_identity(), or the beginning of an identity, of at least
 * SYMBOLS_PREFIX_DIGITS_MIN digits, that one entry of the cache (NULL: an empty one) alone has.
 * Returns 0; -ENOENT there is no entry of it, -EEXIST there are several, or another -errno; each
 * with `fault`.
 */
int symbols_argument_find(struct symbol_cache *cache, const char *text,
	struct symbol_identity *ret_identity, struct fault *fault);

/*
 * A vaddr or offset: hexadecimal, with or without 0x, as all tools print them; blanks around it do
 * not matter. Returns 0; -EINVAL not a number; -ERANGE more than 64 bits.
 */
int symbols_argument_address(const char *text, size_t size, uint64_t *ret_address);
