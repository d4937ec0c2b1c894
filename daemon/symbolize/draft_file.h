/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker writes to: a draft in the cache's folder, or where that cannot be written to, a
 * file without a name (its `path` is NULL), on a disk if possible, since memory is what a big
 * binary must not take.
 */
#pragma once

#include "symbol/symbol_cache.h"

/* `cache` may be NULL. Returns 0 or -errno; draft_file_end() is for both. */
int draft_file_begin(struct symbol_cache *cache, struct symbol_cache_draft *ret_draft);

/* Removes what was not committed. Nothing where there is none. */
void draft_file_end(struct symbol_cache *cache, struct symbol_cache_draft *draft);

/* A file without a name, in the same place. */
int draft_file_open_scratch(struct symbol_cache *cache, int *ret_fd);
