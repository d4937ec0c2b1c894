/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The binaries that a symbolizer was asked for, in the order in which it was, found again by
 * identity. Bounded (I4). One owner, one thread.
 */
#pragma once

#include "base/hash_index.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_source.h"

#include <stddef.h>
#include <stdint.h>

enum { WANTED_MAX = 16384 };

/* In the order in which they are gone through; some are left out. */
enum wanted_stage {
	WANTED_WAITING,	 /* for a worker */
	WANTED_WORKING,	 /* with all files there are */
	WANTED_ALONE,	 /* again, since the debug file has defeated a worker */
	WANTED_SETTLED,	 /* as well as it can be done on this machine */
	WANTED_FETCHING, /* a server is asked for something better */
	WANTED_FETCHED,	 /* a worker has what the server has given */
	WANTED_DONE,
};

struct wanted {
	struct symbol_identity identity;
	struct build_id build_id; /* which debug files are found by; size 0: none */
	char *path, *debug_path;  /* owned; debug_path may be NULL */
	int fd, debug_fd;	  /* owned; -1: none */
	enum wanted_stage stage;
	enum pilotlight_symbol_rank rank;	/* of the symbols it has */
	enum pilotlight_symbol_failure failure; /* OK: it has symbols */
	int error;				/* -errno, where it says more; 0 */
	bool was_cached;
	uint64_t worker_cpu_ns;
	struct symbol_cache_draft draft; /* the symbolizer's affair */
};

struct wanted_table {
	struct wanted *items;
	size_t count, capacity;
	struct hash_index index;
};

/* A zeroed table is empty. */
void wanted_table_done(struct wanted_table *table);

/* Borrowed until the next one is added; NULL: none. */
struct wanted *wanted_table_find(
	const struct wanted_table *table, const struct symbol_identity *identity);

/* Copies what `binary` says and duplicates its descriptors; in the stage WAITING. The identity must
 * be new. Returns 0, -ENOMEM, -E2BIG, or -errno of duplicating. */
int wanted_table_add(struct wanted_table *table, const struct symbol_identity *identity,
	const struct symbol_binary *binary, uint32_t *ret_id);

/* They are not needed any more. */
void wanted_close_files(struct wanted *wanted);
