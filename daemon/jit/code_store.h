/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a code index holds: segments, the lists of entries that they have, and what the entries
 * name. A compaction makes a new store of an old one; source files stand apart from it, since
 * others keep their ids.
 */
#pragma once

#include "base/cleanup.h"
#include "base/string_pool.h"
#include "jit/code_history.h"
#include "jit/code_index.h"
#include "jit/segment_list.h"

struct code_store {
	struct code_history history;
	struct segment_list segments;
	struct string_pool names;
	uint8_t *lines; /* for each list its size as a uint32_t, then its bytes */
	size_t lines_size, lines_capacity;
};

struct code_index {
	struct code_store store;
	struct string_pool files;
	uint32_t files_base; /* what is added to the pool's id; lower ids have been dropped */
	size_t limit_bytes;
	uint64_t horizon_ns; /* nobody asks for times before it */
	uint64_t newest_ns;  /* of all facts */
	size_t churn;	     /* what has ended since the last compaction, in entries of lists */
	size_t churn_max;    /* when it is time for the next */
	uint64_t compactions;
	struct code_index_counters counters;
};

/* What a fact takes at most. */
struct code_need {
	size_t entries, nodes, splits;
	size_t name_bytes, lines_bytes, file_bytes; /* as they come; 0: none */
};

int code_store_init(struct code_store *store);
void code_store_done(struct code_store *store);

/* The memory of all when there is room for `need`. */
size_t code_index_bytes_after(const struct code_index *index, const struct code_need *need);

/* Makes sure that all but the interning of names does not fail. Returns 0 or -ENOMEM. */
int code_store_reserve(struct code_store *store, const struct code_need *need);

/* Takes room that is reserved. Returns where they are, or CODE_LINES_NONE for no bytes. */
uint32_t code_store_add_lines(struct code_store *store, const uint8_t *lines, size_t size);

/* The packed lines of an entry that has some. */
const uint8_t *code_store_lines(
	const struct code_store *store, const struct code_entry *entry, size_t *ret_size);

/* Interns in a pool that grows by a quarter, to `limit_bytes`. Errors: string_pool_intern(). */
int code_pool_intern(struct string_pool *pool, const char *string, size_t size, size_t limit_bytes,
	uint32_t *ret_id);

/*
 * Makes the index small enough for `need` with some room to spare, giving up as little as will do.
 * Returns 0, -E2BIG where nothing is left to give up, or -ENOMEM, with which it is as it was.
 */
int code_compaction_make_room(struct code_index *index, const struct code_need *need);

/* Rids the index of what nobody can ask for. Returns 0 or -ENOMEM, with which it is as it was. */
int code_compaction_tidy(struct code_index *index);
