/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Looks names up in symbol files: those of the cache, and those that the cache could not store and
 * that are kept here. Of the cache's files it keeps the last one open. One owner, one thread.
 */
#pragma once

#include "symbol/symbol_cache.h"
#include "symbol/symbol_source.h"

struct cached_symbol_source;

/* `cache` is borrowed and may be NULL. Returns 0 or -ENOMEM. */
int cached_symbol_source_new(struct symbol_cache *cache, struct cached_symbol_source **ret_source);
void cached_symbol_source_free(struct cached_symbol_source *source);

/* Takes ownership of the file, which replaces an older one of its identity. Returns 0; after
 * -ENOMEM and -E2BIG the caller still owns the file. */
int cached_symbol_source_keep(struct cached_symbol_source *source, struct symbol_file *file);

/* Closes the file of this identity, because the cache has a new one. */
void cached_symbol_source_forget(
	struct cached_symbol_source *source, const struct symbol_identity *identity);

/* Borrowed until the next call of any of these. Returns 0, -ENODATA, or an error of
 * symbol_cache_find(). */
int cached_symbol_source_find(struct cached_symbol_source *source,
	const struct symbol_identity *identity, const struct symbol_file **ret_file);

/* Reads and checks the header alone. Returns 0, -ENODATA, or an error of symbol_cache_peek(). */
int cached_symbol_source_peek(struct cached_symbol_source *source,
	const struct symbol_identity *identity, struct pilotlight_symbol_header *ret_header);

/*
 * For a file whose owner is not trusted: are there better symbols than its own, from a trusted
 * debug file with its build-id `id`? The file's owner could not forge those. `own` is the identity
 * of the file, `ret_rank` the rank of the better symbols.
 */
bool cached_symbol_source_has_vouched(struct cached_symbol_source *source,
	const struct build_id *id, const struct symbol_identity *own,
	enum pilotlight_symbol_rank *ret_rank);

/* Borrowed from the source. A lookup also returns -ENODATA if there is no symbol file. */
struct symbol_source *cached_symbol_source_interface(struct cached_symbol_source *source);
