/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a worker writes to: a draft in the cache's folder, or where that cannot be written to, a
 * file without a name (its `name` is empty) in /var/tmp or /tmp. Not in memory, which no big binary
 * is to take (I4): a tmpfs is none of these places.
 */
#pragma once

#include "symbol/symbol_cache.h"

/* `cache` may be NULL. Returns 0; -EROFS there is no such place; another -errno.
 * draft_file_end() is for all. */
int draft_file_begin(struct symbol_cache *cache, struct symbol_cache_draft *ret_draft);

/* Removes what was not committed. Nothing where there is none. */
void draft_file_end(struct symbol_cache *cache, struct symbol_cache_draft *draft);

/* A file without a name, in the same place. */
int draft_file_open_scratch(struct symbol_cache *cache, int *ret_fd);
