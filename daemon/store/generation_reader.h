/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Maps the ids of one generation of a day's dictionary to those of the profile being read. Each
 * element is copied when a sample needs it. Tables and maps together take about 8 MiB at the bounds
 * of a generation.
 */
#pragma once

#include "store/day_database.h"
#include "store/day_tables.h"
#include "store/store.h"

struct generation_reader {
	/* Borrowed. */
	const struct store_selection *selection;
	struct profile *profile;
	struct hash_index *binary_index; /* of the profile's binaries */

	enum day_part part;
	int64_t generation;
	struct day_tables tables;
	/* Indexed by id of the tables; UINT32_MAX: not yet known. */
	uint32_t *strings, *binaries, *locations, *nodes, *threads;
	bool *node_is_wanted; /* NULL: all are */
	bool *node_is_needed; /* to be copied */
};

enum { THREAD_NOT_WANTED = UINT32_MAX - 1 };

/*
 * Reads the dictionary of a generation. The caller has set the borrowed fields and the part;
 * earlier contents are dropped. Returns 0, -ENOMEM, -EBADMSG or another -errno with `fault`; on
 * error the reader is empty.
 */
int generation_reader_load(struct generation_reader *reader, struct day_database *database,
	int64_t generation, struct fault *fault);
void generation_reader_done(struct generation_reader *reader);

/*
 * Copies all needed nodes of the stacks to the profile. It does so in the order of their ids, for
 * the CPU caches, since each is searched for in the profile. Returns 0, -ENOMEM, or -E2BIG from the
 * profile.
 */
int generation_reader_carry(struct generation_reader *reader);

/* Marks a node as needed. The id must be valid. */
static inline void generation_reader_need(struct generation_reader *reader, uint32_t node)
{
	reader->node_is_needed[node] = true;
}

/* The profile's id of a needed node, after generation_reader_carry(). */
static inline uint32_t generation_reader_node(const struct generation_reader *reader, uint32_t node)
{
	return reader->nodes[node];
}

/*
 * Copies a thread; the id must be valid. `ret_thread` may be THREAD_NOT_WANTED. Returns 0, -ENOMEM,
 * or -E2BIG from the profile.
 */
int generation_reader_thread(
	struct generation_reader *reader, uint32_t thread, uint32_t *ret_thread);
