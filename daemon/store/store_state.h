/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of the writer share: store.c, store_append.c, store_maintain.c, store_merge.c,
 * store_fold.c. */
#pragma once

#include "store/day_database.h"
#include "store/day_dictionary.h"
#include "store/store.h"

enum {
	STORE_STAGES = 5, /* in which windows become coarser (store_merge.c) */
	/* Of zstd: what is appended every ten seconds, and what stays. */
	STORE_APPEND_EFFORT = 6,
	STORE_MERGE_EFFORT = 9,
};

/*
 * What of a dictionary is on disk. A row a window would be slow to read, so rows are written anew
 * as one when there are some: those from `run_id` on, which begin at `run_mark`.
 */
struct store_written {
	struct day_mark mark, run_mark;
	int64_t run_id;
	uint32_t run_rows;
};

/* A dictionary of the day that is appended to, in its last generation. */
struct store_part {
	struct day_dictionary dictionary;
	int64_t generation;
	struct store_written saved;
};

struct store {
	struct store_limits limits;
	char *folder;
	int lock_fd;

	/* The day that is appended to; NULL: none. */
	struct day_database *database;
	struct store_part parts[DAY_PARTS];
	/* Which generation of stacks it has, 0: not known; and what it took when that began. */
	int64_t begun_generation;
	uint64_t begun_bytes;

	/* Another day, that is made coarser; NULL: none. */
	struct day_database *old;
	/* Windows that begin before have been through the stage. */
	uint64_t merged_ns[STORE_STAGES];
};

/*
 * Opens a day for writing; a damaged one is set aside and a new one begun. Returns 0 or -errno with
 * `fault`.
 */
int store_open_database(
	struct store *store, uint32_t day, struct day_database **ret_database, struct fault *fault);

/* Sets aside what has turned out to be damaged; its connection must be closed. */
int store_set_aside(struct store *store, uint32_t day, struct fault *fault);

/* Makes `day` the one that is appended to. */
int store_use_day(struct store *store, uint32_t day, struct fault *fault);
void store_leave_day(struct store *store);

/* Begins its next generation. Returns 0 or -ENOMEM. */
int store_part_next_generation(struct store_part *part);

/* What the history may take of its file system, with what it has of it now. Returns 0 or -errno. */
int store_room(const struct store *store, uint64_t *ret_bytes, struct fault *fault);

/* Merges or folds one slot. Returns 1 (there may be more), 0 (nothing left to do) or -errno. */
int store_merge_step(struct store *store, uint64_t now_ns, struct fault *fault);

struct merge_group;
struct merge_product;
/*
 * Sums the rows of the group with their threads merged, and fills in `merged` for the sum. Returns
 * 0, -ENOMEM, -EBADMSG (a window is damaged), -E2BIG (too many rows, or a window is too large) or
 * another -errno.
 */
int store_fold_make(struct merge_group *group, struct merge_product *ret_product);
