/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A worker's output file: a draft in the cache's folder or, if that is read-only, a file without a
 * name (its `name` is empty) in /var/tmp or /tmp. A tmpfs is skipped, because a big binary's
 * symbols would fill memory (I4). symbol_cache_draft_done() ends both kinds.
 */
#pragma once

#include "symbol/symbol_cache.h"

/* `cache` may be NULL. Returns 0; -EROFS no writable place; another -errno. */
int draft_file_begin(struct symbol_cache *cache, struct symbol_cache_draft *ret_draft);

/* A file without a name, in the same place. */
int draft_file_open_scratch(struct symbol_cache *cache, int *ret_fd);
