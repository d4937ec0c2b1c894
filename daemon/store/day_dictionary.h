/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dictionary of the generation that is written to: its tables with an index over each, so that
 * what a window has in common with those before it is found. Of the writer, who builds it anew from
 * the day's blobs when the day is opened; some 5.5 MiB at its bounds.
 */
#pragma once

#include "base/hash_index.h"
#include "store/day_tables.h"
#include "store/id_index.h"

struct day_dictionary {
	struct day_tables tables;
	struct hash_index binaries, threads;
	struct id_index locations, nodes;
};

/* Returns 0 or -ENOMEM. */
int day_dictionary_init(struct day_dictionary *dictionary);
void day_dictionary_done(struct day_dictionary *dictionary);
size_t day_dictionary_bytes(const struct day_dictionary *dictionary);

/*
 * Indexes what day_tables_read() has put into the tables since `from`. Returns 0, -ENOMEM, or
 * -EBADMSG where an element is there twice.
 */
int day_dictionary_index(struct day_dictionary *dictionary, const struct day_mark *from);

/*
 * Where the ids of a profile are in the dictionary, found out as they are needed. For one profile
 * and one generation.
 */
struct day_mapping {
	const struct profile *profile;
	uint32_t *strings, *binaries, *locations, *nodes, *threads; /* UINT32_MAX: not known yet */
};
/* Of the stacks, or of the threads. Returns 0 or -ENOMEM. */
int day_mapping_init(struct day_mapping *mapping, const struct profile *profile, bool is_of_stacks);
/* Forgets all, for the next generation. */
void day_mapping_clear(struct day_mapping *mapping);
void day_mapping_done(struct day_mapping *mapping);

/*
 * Finds or adds; returns 0, -ENOMEM, or -E2BIG: a bound is reached, and the next generation must be
 * begun.
 */
int day_dictionary_node(struct day_dictionary *dictionary, struct day_mapping *mapping,
	uint32_t profile_node, uint32_t *ret_node);
int day_dictionary_thread(struct day_dictionary *dictionary, struct day_mapping *mapping,
	uint32_t profile_thread, uint32_t *ret_thread);
/* A thread of other tables, without what tells it from others of its comm, exe and cgroup. */
int day_dictionary_folded_thread(struct day_dictionary *dictionary, const struct day_tables *from,
	uint32_t from_thread, uint32_t *ret_thread);
