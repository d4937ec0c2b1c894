/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A symbolizer's tasks, one for each requested binary, in the order of requests and indexed by
 * identity. Bounded (I4). One owner, one thread.
 */
#pragma once

#include "base/hash_index.h"
#include "symbol/symbol_cache.h"
#include "symbol/symbol_source.h"

#include <stddef.h>
#include <stdint.h>

enum { TASKS_MAX = 16384 };

/* In order; a task may skip some. */
enum task_stage {
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
	uint64_t worker_cpu_ns;
	struct symbol_cache_draft draft; /* filled by the worker */
};

struct task_table {
	struct task *items;
	size_t count, capacity;
	struct hash_index index;
};

/* A zeroed table is empty. */
void task_table_done(struct task_table *table);

/* Borrowed until the next one is added; NULL: none. */
struct task *task_table_find(
	const struct task_table *table, const struct symbol_identity *identity);

/* Copies `binary` and duplicates its descriptors, in stage WAITING. Its identity must be new.
 * Returns 0, -ENOMEM, -E2BIG, or -errno of duplicating. */
int task_table_add(struct task_table *table, const struct symbol_binary *binary, uint32_t *ret_id);

/* Closes the binary and its debug file. */
void task_close_files(struct task *task);
