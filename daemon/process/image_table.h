/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images of a process_table. Those of one pid are a chain from the newest to the oldest; the
 * newest hangs in a hash bucket of its pid. Images that have ended are also in a list by the time
 * of their end, whose first is the next to go. An image is live until it is in that list.
 *
 * Bounded (I4): beyond the limit the oldest ended image goes; and a pid has 256 images at most.
 */
#pragma once

#include "process/mapping_set.h"
#include "process/process_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IMAGE_NO_FILE UINT32_MAX

struct image {
	pid_t pid, parent;	   /* pid 0: the slot is free */
	uint64_t start_ns, end_ns; /* end: PROCESS_LIVE, or when it did */
	struct mapping_set *mappings;
	uint64_t version;    /* another one after each change of the mappings */
	uint64_t changed_ns; /* by the last fact that did; 0: none has */
	uint64_t born_ns;    /* when the parent forked it; 0: nobody has seen that */
	uint64_t program_ns; /* of the last execve(), its own or an ancestor's; 0: not known */
	uint64_t found_ns;   /* by the scan of /proc that has made it known; PROCESS_LIVE: none */
	uint64_t counted_ns; /* what began or ended before is in `threads` */
	uint32_t threads;    /* that live; 1 where nobody has said */
	uint32_t executable; /* a reference to its file; IMAGE_NO_FILE: not known */
	bool has_execed;     /* a moment ago: the next file that is mapped is the executable */

	void *data; /* the follower's */

	/* The image_table's own. */
	uint32_t older, newer;		    /* of the same pid */
	uint32_t next;			    /* in the bucket, or of the free ones */
	uint32_t ended_before, ended_after; /* neighbours in the list of ended images */
};

struct image_table {
	struct image *images;
	size_t count, capacity, limit;
	uint32_t free;
	uint32_t first_ended, last_ended;
	size_t live_count, ended_count;
	uint32_t *buckets;   /* newest image of each pid */
	size_t bucket_count; /* a power of two */
	uint64_t last_version;
	uint64_t evicted;
	struct mapping_budget *budget; /* borrowed */
	struct process_follower follower;
};

/* Returns 0 or -ENOMEM; image_table_done() is for both. */
int image_table_init(struct image_table *table, size_t limit, struct mapping_budget *budget);
void image_table_done(struct image_table *table);

/* Borrowed until an image begins; NULL: there is none. */
struct image *image_table_newest(const struct image_table *table, pid_t pid);
struct image *image_table_at(const struct image_table *table, pid_t pid, uint64_t time_ns);

/*
 * The next image of `pid`, which ends the one before and has its birth and parent, no mappings
 * and one thread. It begins at `time_ns`, but not before the one before; 0 stands for as early as
 * may be. Returns 0, -ENOMEM, or -E2BIG where all images are live.
 */
int image_table_begin(
	struct image_table *table, pid_t pid, uint64_t time_ns, struct image **ret_image);

struct process_image image_table_facts(const struct image_table *table, const struct image *image);

/* Gives the follower's data of a live image to its child. */
void image_table_inherit(
	struct image_table *table, struct image *child, const struct image *parent);

/* Takes another reference to `file`, or none for IMAGE_NO_FILE. */
void image_table_set_executable(struct image_table *table, struct image *image, uint32_t file);

/* Nothing where it has ended. */
void image_table_end(struct image_table *table, struct image *image, uint64_t time_ns);
/* Takes it off the list of the ended, so that it cannot be evicted. */
void image_table_revive(struct image_table *table, struct image *image);

/* Do those that have ended leave less than a quarter of the room that those that live do? */
bool image_table_is_crowded(const struct image_table *table);

/* False: there is no ended image. */
bool image_table_evict_oldest_ended(struct image_table *table);

/* As process_table_retire(); without `with_data` as process_table_shed(). */
void image_table_retire(struct image_table *table, uint64_t time_ns, bool with_data);

size_t image_table_bytes(const struct image_table *table);
