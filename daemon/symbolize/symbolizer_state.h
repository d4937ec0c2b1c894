/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a symbolizer is made of, for its own files alone: each has a part of its work. */
#pragma once

#include "symbolize/symbolizer.h"

#include "symbolize/cached_symbol_source.h"
#include "symbolize/debug_files.h"
#include "symbolize/wanted_table.h"

enum { SYMBOLIZER_FETCHES_MAX = 2 };

struct fetch {
	struct debuginfod_fetch *process; /* NULL: the slot is free */
	uint32_t wanted;
};

struct symbolizer {
	struct symbol_cache *cache;
	struct broker *broker;
	struct worker_pool *pool;
	size_t workers_max;
	char *urls; /* NULL: no server is asked */
	bool is_forced, takes_debug_files;
	enum pilotlight_symbol_product product;
	uint64_t fetch_timeout_ns;
	struct cached_symbol_source *source;
	struct wanted_table wanted;
	size_t next_waiting, next_fetch; /* all before are under way */
	size_t local_pending;
	size_t working; /* jobs that the pool has */
	struct fetch fetches[SYMBOLIZER_FETCHES_MAX];
	int epoll_fd;
	struct symbolizer_counters counters;
};

/* --- jobs of workers: symbolizer_jobs.c ------------------------------------------------------- */

/* Is it to be done with what this machine has? */
bool symbolizer_is_local(enum wanted_stage stage);
void symbolizer_set_stage(
	struct symbolizer *symbolizer, struct wanted *wanted, enum wanted_stage stage);

/* What this machine has is used up. `failure` says why there are no symbols; OK: there are. */
void symbolizer_settle(struct symbolizer *symbolizer, struct wanted *wanted,
	enum pilotlight_symbol_failure failure, int error);

/* Has a worker make the symbols out of `files`, which it takes what it needs of. */
int symbolizer_start_job(struct symbolizer *symbolizer, uint32_t id, struct debug_files *files,
	enum wanted_stage stage);

/* Starts what waits for a worker, as far as there are workers. */
void symbolizer_start_waiting(struct symbolizer *symbolizer);

/* Of a pool whose context is the symbolizer. */
void symbolizer_take_result(void *context, const struct worker_result *result);
worker_pieces_opener symbolizer_open_piece;

/* --- debuginfod: symbolizer_fetches.c --------------------------------------------------------- */

/* `error`: 0, or -errno of what came of it. */
void symbolizer_end_fetch(struct symbolizer *symbolizer, struct wanted *wanted, int error);

/* Takes what has been fetched, and starts what is next. */
void symbolizer_run_fetches(struct symbolizer *symbolizer);
