/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a symbolizer, shared by its own files. */
#pragma once

#include "symbolize/symbolizer.h"

#include "base/user_time.h"
#include "symbolize/cached_symbol_source.h"
#include "symbolize/debug_files.h"
#include "symbolize/task_table.h"

enum { SYMBOLIZER_FETCHES_MAX = 2, SYMBOLIZER_WORKERS_DEFAULT = 2 };

struct fetch {
	struct debuginfod_fetch *process; /* NULL: the slot is free */
	uint64_t started_ns;
	uint32_t task;
};

struct symbolizer {
	struct symbol_cache *cache;
	struct broker *broker;
	struct worker_pool *pool;
	char *urls; /* NULL: no debuginfod */
	bool is_forced, takes_debug_files;
	enum pilotlight_symbol_product product;
	uint64_t fetch_timeout_ns, overtake_ns;
	struct cached_symbol_source *source;
	struct task_table tasks;
	size_t local_pending;
	size_t workers_max;	      /* the pool may start one more; see symbolizer_queue.c */
	struct user_share unfinished; /* tasks */
	struct user_time worker_time, fetch_time;
	bool ignores_time;
	struct user_excess excess;
	struct fetch fetches[SYMBOLIZER_FETCHES_MAX];
	int epoll_fd;
	struct symbolizer_counters counters;
};

/* --- jobs of workers: symbolizer_jobs.c ------------------------------------------------------- */

/* Does the stage use files of this machine only? */
bool symbolizer_is_local(enum task_stage stage);
void symbolizer_set_stage(struct symbolizer *symbolizer, struct task *task, enum task_stage stage);

/* Ends the local stages: the task is done or waits for a fetch. `failure` says why it has no
 * symbols; OK: it has. */
void symbolizer_finish_local(struct symbolizer *symbolizer, struct task *task,
	enum pilotlight_symbol_failure failure, int error);

/* Ends a fetch with `error` (0 or -errno). */
void symbolizer_end_fetch(struct symbolizer *symbolizer, struct task *task, int error);

/* Starts a worker, which takes the descriptors that it needs out of `files`. */
int symbolizer_start_job(struct symbolizer *symbolizer, uint32_t id, struct debug_files *files,
	enum task_stage stage);

/* Starts waiting tasks while workers are free. */
void symbolizer_start_waiting(struct symbolizer *symbolizer);

/* --- whose task is next: symbolizer_queue.c --------------------------------------------------- */

/* Has the user room for another task? If not, counts it. */
bool symbolizer_has_room(struct symbolizer *symbolizer, uint64_t user);

/* The next task to start a worker for, if one may start; TASK_NONE: none. */
uint32_t symbolizer_next_waiting(struct symbolizer *symbolizer);

/* The next task to fetch a debug file for; TASK_NONE: none. */
uint32_t symbolizer_next_fetch(const struct symbolizer *symbolizer);

/* Callbacks of the pool; `context` is the symbolizer. */
void symbolizer_take_result(void *context, const struct worker_result *result);
split_file_opener symbolizer_open_split_file;

/* --- debuginfod: symbolizer_fetches.c --------------------------------------------------------- */

/* Collects finished fetches and starts the next ones. */
void symbolizer_run_fetches(struct symbolizer *symbolizer);
