/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The images of a process_table. The images of one pid form a chain from the newest to the oldest,
 * and a hash bucket holds the newest. Ended images are also in a list, ordered by the time of their
 * end. An image is live until it enters that list. The live and the ended images of each user are
 * lists, too, so finding one to evict takes the same time for any number of images.
 *
 * Bounded (I4): beyond the limit, the user with the most images loses the oldest ended one, or
 * makes room with a live one for another user. A pid has at most 256 images.
 */
#pragma once

#include "process/mapping_set.h"
#include "process/process_table.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define IMAGE_NO_FILE UINT32_MAX

/* The lists that an image is in. */
enum image_list_kind {
	IMAGE_LIST_OF_USER, /* of its user's live or ended images */
	IMAGE_LIST_ENDED,   /* of all ended images */
	IMAGE_LISTS,
};

struct image_list {
	uint32_t first, last;
};

struct image {
	pid_t pid, parent;	   /* pid 0: the slot is free */
	uint64_t start_ns, end_ns; /* end: PROCESS_LIVE while it runs */
	struct mapping_set *mappings;
	uint64_t version;    /* a new number after each change of the mappings */
	uint64_t born_ns;    /* time of its fork; 0: not observed */
	uint64_t program_ns; /* of the last execve(), its own or an ancestor's; 0: unknown */
	uint64_t counted_ns; /* `threads` includes all begins and ends before this time */
	uint32_t threads;    /* live ones; 1 if no source gave a number */
	uint32_t executable; /* owns a reference to its file; IMAGE_NO_FILE: unknown */
	bool has_execed;     /* execve() just ran: the next mapped file is the executable */
	uint64_t user;	     /* to whom it is charged */

	void *data; /* the follower's */

	/* Private to image_table. */
	uint32_t older, newer; /* of the same pid */
	uint32_t next;	       /* in the bucket, or in the free list */
	struct image_link {
		uint32_t before, after;
	} links[IMAGE_LISTS];
};

struct image_table {
	struct image *images;
	size_t count, capacity, limit;
	uint32_t free;
	struct image_list ended;
	struct image_list live_of[USER_SHARE_COUNTERS], ended_of[USER_SHARE_COUNTERS];
	size_t live_count, ended_count;
	uint32_t *buckets;   /* newest image of each pid */
	size_t bucket_count; /* a power of two */
	uint64_t last_version;
	uint64_t evicted;
	struct user_share share;       /* of images */
	struct mapping_budget *budget; /* borrowed */
	struct process_follower follower;
};

/* Returns 0 or -ENOMEM; call image_table_done() in both cases. */
int image_table_init(struct image_table *table, size_t limit, struct mapping_budget *budget);
void image_table_done(struct image_table *table);

/* Find an image. It is borrowed until an image begins; NULL: none. */
struct image *image_table_newest(const struct image_table *table, pid_t pid);
struct image *image_table_at(const struct image_table *table, pid_t pid, uint64_t time_ns);

/*
 * Begins the next image of `pid`, charged to `user`, and ends the previous one. The new image
 * inherits birth and parent; it has no mappings and one thread. It begins at `time_ns`, or at the
 * previous image's start if that is later; 0 means as early as possible. Returns 0, -ENOMEM, or
 * -E2BIG if no image makes room.
 */
int image_table_begin(struct image_table *table, pid_t pid, uint64_t time_ns, uint64_t user,
	struct image **ret_image);

/* Charges it, its mappings, and the files that its user answered for, to another user. Mappings
 * that images of several users share are charged to the one who came last. */
void image_table_charge(struct image_table *table, struct image *image, uint64_t user);

struct process_image image_table_facts(const struct image_table *table, const struct image *image);

/* Lets the follower derive the child's data from a live parent's. */
void image_table_inherit(
	struct image_table *table, struct image *child, const struct image *parent);

/* Adds a reference to `file`; IMAGE_NO_FILE clears the executable. */
void image_table_set_executable(struct image_table *table, struct image *image, uint32_t file);

/* Does nothing if it has already ended. */
void image_table_end(struct image_table *table, struct image *image, uint64_t time_ns);
/* Removes it from the list of ended images, so that it cannot be evicted. */
void image_table_revive(struct image_table *table, struct image *image);

/* Says whether ended images fill over three quarters of the room that live ones leave. */
bool image_table_is_crowded(const struct image_table *table);

/*
 * Makes room for `user`: evicts an image of the user who holds the most of `share`. That is the one
 * that ended first; or if `user` is another one, of some live images the one with the most
 * mappings. Returns false if there is none.
 */
bool image_table_evict(struct image_table *table, const struct user_share *share, uint64_t user);

/* Behaves as process_table_retire(). */
void image_table_retire(struct image_table *table, uint64_t time_ns);

size_t image_table_bytes(const struct image_table *table);
