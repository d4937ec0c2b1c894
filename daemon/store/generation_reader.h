/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the ids of a dictionary of a day, in one generation, to those of the profile that is being
 * read: each is carried over when a sample needs it. Tables and maps together take some 8 MiB at
 * the bounds of a generation.
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
	/* By id of the tables; UINT32_MAX: not yet known. */
	uint32_t *strings, *binaries, *locations, *nodes, *threads;
	bool *node_is_wanted; /* NULL: all are */
	bool *node_is_needed; /* to be carried over */
};

enum { THREAD_NOT_WANTED = UINT32_MAX - 1 };

/*
 * Reads the dictionary of a generation into a reader whose borrowed fields and part are set; what
 * it had before goes. Returns 0, -ENOMEM, -EBADMSG or another -errno with `fault`, and the reader
 * is empty then.
 */
int generation_reader_load(struct generation_reader *reader, struct day_database *database,
	int64_t generation, struct fault *fault);
void generation_reader_done(struct generation_reader *reader);

/*
 * Of the stacks: carries over all nodes that were said to be needed. In the order of their ids, for
 * the sake of the processor's caches, since all are looked for in the profile. Returns 0, -ENOMEM
 * or -E2BIG, of the profile.
 */
int generation_reader_carry(struct generation_reader *reader);

/* The id must be valid. */
static inline void generation_reader_need(struct generation_reader *reader, uint32_t node)
{
	reader->node_is_needed[node] = true;
}

/* That was needed, and was carried over. */
static inline uint32_t generation_reader_node(const struct generation_reader *reader, uint32_t node)
{
	return reader->nodes[node];
}

/* Of the threads; the id must be valid. THREAD_NOT_WANTED is an answer, too. Returns likewise. */
int generation_reader_thread(
	struct generation_reader *reader, uint32_t thread, uint32_t *ret_thread);
