/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Internals of the writer, shared by store.c, store_append.c, store_maintain.c, store_merge.c and
 * store_fold.c.
 */
#pragma once

#include "store/day_database.h"
#include "store/day_dictionary.h"
#include "store/incident_log.h"
#include "store/store.h"

enum {
	STORE_STAGES = 6, /* stages of merging and folding (store_merge.c) */
	/* zstd levels: for windows appended every ten seconds, and for merged ones, which stay. */
	STORE_APPEND_EFFORT = 6,
	STORE_MERGE_EFFORT = 9,
};

/*
 * How much of a dictionary is on disk. One row a window would be slow to read, so after some rows
 * the writer rewrites them as one. These rows start at `run_id`; their elements start at
 * `run_mark`.
 */
struct store_written {
	struct day_mark mark, run_mark;
	int64_t run_id;
	uint32_t run_rows;
};

/* A dictionary of a day in its last generation, and how much of it is on disk. */
struct store_part {
	struct day_dictionary dictionary;
	int64_t generation;
	struct store_written saved;
};

struct store {
	struct store_limits limits;
	char *folder;
	int lock_fd;

	/* The day being written; NULL: none. */
	struct day_database *database;
	struct store_part parts[DAY_PARTS];
	/*
	 * The day's generation of stacks, 0 if unknown; and the day's size when that generation
	 * began.
	 */
	int64_t begun_generation;
	uint64_t begun_bytes;
	struct store_shares shares;
	uint64_t untimed[STORE_UNTIMED_REASONS]; /* not taken yet */
	struct incident_times incidents;	 /* whose windows are not merged */

	/* Another day, being merged; NULL: none. */
	struct day_database *old;
	/* Per stage: windows that begin before this time are done. */
	uint64_t merged_ns[STORE_STAGES];
	uint64_t
		spared_ns; /* times of windows that begin earlier are not dropped for their bytes */
};

/*
 * Opens a day for writing. Sets a damaged database aside and begins a new one. Returns 0 or -errno
 * with `fault`.
 */
int store_open_database(
	struct store *store, uint32_t day, struct day_database **ret_database, struct fault *fault);

/* Sets aside a database found to be damaged. Its connection must be closed. */
int store_set_aside(struct store *store, uint32_t day, struct fault *fault);

/* Makes `day` the day being written. */
int store_use_day(struct store *store, uint32_t day, struct fault *fault);
void store_leave_day(struct store *store);

/*
 * Loads the last generation of a dictionary. If it is unreadable, the next one begins. Returns 0 or
 * -errno with `fault`; call day_dictionary_done() in both cases.
 */
int store_part_load(struct store_part *part, struct day_database *database, enum day_part name,
	struct fault *fault);

/* Begins the part's next generation. Returns 0 or -ENOMEM. */
int store_part_next_generation(struct store_part *part);

/*
 * The bytes that the history may use on its file system, including those it uses now. Returns 0 or
 * -errno.
 */
int store_room(const struct store *store, uint64_t *ret_bytes, struct fault *fault);

/*
 * Drops times of some windows that begin from `*from_ns` on and before `end_ns`, the oldest first,
 * until it has freed so many bytes. It spares those of incidents and moves `*from_ns` past them.
 * Returns 1 (more may remain), 0 (nothing left to do) or -errno.
 */
int store_drop_times(struct store *store, struct day_database *database, uint64_t *from_ns,
	uint64_t end_ns, uint64_t enough_bytes, struct fault *fault);

/*
 * Drops the oldest times of the day being written that are beyond their share of the limit, until
 * `until_ns` (CLOCK_MONOTONIC). Returns 1 (more may remain), 0 or -errno.
 */
int store_bound_times(struct store *store, uint64_t until_ns, struct fault *fault);

/* Merges or folds one slot. Returns 1 (more may remain), 0 (nothing left to do) or -errno. */
int store_merge_step(struct store *store, uint64_t now_ns, struct fault *fault);

struct merge_group;
struct merge_product;
/*
 * Sums the rows of the group, with threads merged, and fills in `merged` for the result. Returns 0,
 * -ENOMEM, -EBADMSG (a window is damaged), -E2BIG (too many rows, or a window is too large) or
 * another -errno.
 */
int store_fold_make(struct merge_group *group, struct merge_product *ret_product);
