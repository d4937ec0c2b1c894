/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The folder of a sink: batches, one in each file, complete and on disk once they have their name.
 * Other programs may read and remove them at any time. The folder is bounded by bytes, by files and
 * by age: the oldest batches are deleted first, and counted (I4).
 *
 * For each source the folder also holds how far its batches reach (".until-SOURCE"), so that after
 * a restart no time is covered twice, even if a batch is gone by then. Files of other names are
 * ignored. The functions wait for the disk. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "push/batch_name.h"

#include <stddef.h>
#include <stdint.h>

struct spool;

enum { SPOOL_FILES_MAX = 65536 };

struct spool_options {
	const char *folder; /* exists; borrowed during spool_open() */
	const char *ending; /* of the files' names: ".pb.gz"; a literal */
	uint64_t bytes_max, age_max_ns;
};

struct spool_state {
	uint64_t files, bytes;		       /* at the last look; others may have removed some */
	uint64_t until_ns[PILOTLIGHT_SOURCES]; /* CLOCK_REALTIME; 0: nothing yet */
	/* Since the last spool_take_state(): the time in batches that were deleted to make room, or
	 * for their age. */
	uint64_t evicted_ns, expired_ns;
};

/* Returns 0, -ENOMEM, or -errno if the folder cannot be read. */
int spool_open(const struct spool_options *options, struct spool **ret_spool);
void spool_close(struct spool *spool);
DEFINE_CLEANUP(struct spool, spool_close);

/*
 * Adds a batch whose bytes are the first `bytes` of `fd`, and deletes what exceeds the bounds at
 * `now_ns`. From then on the batches of its source reach to its end, also if they reached further:
 * the clock may have been ahead. Returns 0; -EFBIG it exceeds the bound alone; or -errno of the
 * disk: then there is nothing of it.
 */
int spool_add(
	struct spool *spool, const struct batch *batch, int fd, uint64_t bytes, uint64_t now_ns);

/* Records that the batch's time holds nothing. Returns as spool_add(). */
int spool_skip(struct spool *spool, const struct batch *batch);

/* Chooses what the next two functions find: a bit mask of 1 << enum pilotlight_source; all at
 * first.
 */
void spool_choose(struct spool *spool, uint32_t sources);
/*
 * Opens the oldest batch behind `after`, or the oldest of all if that is NULL. Batches are in the
 * order of their start, and of their source if that is equal. Deletes those that exceed the bound
 * of age at `now_ns`. The caller owns the descriptor, for reading. Returns 0; -ENOENT there is
 * none; or -errno of the disk.
 *
 * The batch is open until spool_remove(), which says that it is done with, or the next
 * spool_next(), which says that it was not. If it is deleted meanwhile for a bound, only the latter
 * counts it.
 */
int spool_next(struct spool *spool, const struct batch *after, uint64_t now_ns,
	struct batch *ret_batch, int *ret_fd, uint64_t *ret_bytes);
/* The same for the last batch in that order, which is open beside the other. */
int spool_newest(struct spool *spool, struct batch *ret_batch, int *ret_fd, uint64_t *ret_bytes);
/* Deletes a batch that is done with. Returns 0, also if it is gone already, or -errno. */
int spool_remove(struct spool *spool, const struct batch *batch);

/* Also begins the sums of deleted batches anew. */
void spool_take_state(struct spool *spool, struct spool_state *ret_state);

/* For the fuzzer: reads the contents of ".until-SOURCE". Returns 0 or -EBADMSG. */
int spool_parse_until(const char *text, size_t size, uint64_t *ret_until_ns);
