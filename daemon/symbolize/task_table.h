/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A symbolizer's tasks, one for each requested binary, indexed by identity. Bounded (I4): if the
 * table is full, tasks that are done leave. Users share the rest (base/user_share.h). One owner,
 * one thread.
 */
#pragma once

#include "base/hash_index.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_source.h"

#include <stddef.h>
#include <stdint.h>

enum {
	TASKS_MAX = 4096,
	TASK_NONE = UINT32_MAX,
};

/* In order; a task may skip some. */
enum task_stage {
	TASK_FREE,	 /* not a task */
	TASK_WAITING,	 /* for a worker */
	TASK_WORKING,	 /* a worker has all files */
	TASK_ALONE,	 /* a worker failed on the debug file: the binary alone */
	TASK_LOCAL_DONE, /* finished with the files of this machine */
	TASK_FETCHING,	 /* a server is asked for a better debug file */
	TASK_FETCHED,	 /* a worker has the fetched debug file */
	TASK_DONE,
};

struct task {
	struct symbol_binary binary; /* owns its strings and descriptors; `path` is not NULL */
	enum task_stage stage;
	enum pilotlight_symbol_rank rank;	/* of the symbols it has */
	enum pilotlight_symbol_failure failure; /* OK: it has symbols */
	int error;				/* -errno with details, or 0 */
	bool was_cached;
	bool is_late;	     /* it has waited for its user's time */
	uint64_t number;     /* in the order of requests */
	uint64_t started_ns; /* its last worker; CLOCK_MONOTONIC */
	uint64_t worker_cpu_ns;
	struct symbol_cache_draft draft; /* filled by the worker */
};

struct task_table {
	struct task *items;
	size_t count, capacity, first_free; /* no item before it is free */
	uint64_t last_number;
	struct hash_index index;
};

/* A zeroed table is empty. */
void task_table_done(struct task_table *table);

/* Borrowed until the next one is added; NULL: none. */
struct task *task_table_find(
	const struct task_table *table, const struct symbol_identity *identity);

/* Copies `binary` and duplicates its descriptors, in stage WAITING. Its identity must be new. Ids
 * of tasks that are done may be reused. Returns 0, -ENOMEM, -E2BIG, or -errno of duplicating. */
int task_table_add(struct task_table *table, const struct symbol_binary *binary, uint32_t *ret_id);

/* Closes the binary and its debug file. */
void task_close_files(struct task *task);
