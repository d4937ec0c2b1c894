/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names out of symbol files: those of the cache's folder, and those that the folder cannot take and
 * that live here. One symbol file is open at a time beside these. One owner, one thread.
 */
#pragma once

#include "symbol/symbol_cache.h"
#include "symbol/symbol_source.h"

struct cached_symbol_source;

/* `cache` is borrowed; NULL: there is none. Returns 0 or -ENOMEM. */
int cached_symbol_source_new(struct symbol_cache *cache, struct cached_symbol_source **ret_source);
void cached_symbol_source_free(struct cached_symbol_source *source);

/* Takes the file over, in the place of an older one. Returns 0; -ENOMEM or -E2BIG: not taken. */
int cached_symbol_source_keep(struct cached_symbol_source *source, struct symbol_file *file);

/* The cache has something new of this identity. */
void cached_symbol_source_forget(
	struct cached_symbol_source *source, const struct symbol_identity *identity);

/* Borrowed until the next call of any of these. Returns 0, -ENODATA, or an error of
 * symbol_cache_find(). */
int cached_symbol_source_find(struct cached_symbol_source *source,
	const struct symbol_identity *identity, const struct symbol_file **ret_file);

/*
 * Is there something better for a file whose owner is not trusted than what was made of it: what
 * trusted files of its build-id `id` are known by, made of a debug file? For that others vouch than
 * the file's owner. `own` is the identity of the file, `ret_rank` the rank of what is better.
 */
bool cached_symbol_source_has_vouched(struct cached_symbol_source *source,
	const struct build_id *id, const struct symbol_identity *own,
	enum pilotlight_symbol_rank *ret_rank);

/* Borrowed; its free() does nothing, for it goes with the rest. A lookup returns what
 * symbol_source.h says; -ENODATA also for what has no symbol file. */
struct symbol_source *cached_symbol_source_interface(struct cached_symbol_source *source);
