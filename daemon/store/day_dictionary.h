/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The dictionary of the generation being written: its tables, with an index over each to find
 * elements that earlier windows already added. Only the writer has one. It rebuilds the dictionary
 * from the day's blobs when it opens the day. About 5.5 MiB at its bounds.
 */
#pragma once

#include "base/hash_index.h"
#include "store/day_tables.h"
#include "store/id_index.h"

struct day_dictionary {
	struct day_tables tables;
	struct hash_index binaries, threads;
	struct id_index locations, nodes;
	bool is_frozen; /* new elements are refused with -EDQUOT; existing ones are still found */
};

/* Returns 0 or -ENOMEM. */
int day_dictionary_init(struct day_dictionary *dictionary);
void day_dictionary_done(struct day_dictionary *dictionary);
size_t day_dictionary_bytes(const struct day_dictionary *dictionary);
/* The bytes of all elements, before compression and without indexes. It only grows. */
uint64_t day_dictionary_content_bytes(const struct day_dictionary *dictionary);

/*
 * Indexes the elements that day_tables_read() has added since `from`. Returns 0, -ENOMEM, or
 * -EBADMSG if an element occurs twice.
 */
int day_dictionary_index(struct day_dictionary *dictionary, const struct day_mark *from);

/* Maps the ids of one profile to those of one generation's dictionary. Filled on demand. */
struct day_mapping {
	const struct profile *profile;
	uint32_t *strings, *binaries, *locations, *nodes, *threads; /* UINT32_MAX: not yet known */
};
/* Prepares the maps for stacks or for threads. Returns 0 or -ENOMEM. */
int day_mapping_init(struct day_mapping *mapping, const struct profile *profile, bool is_of_stacks);
/* Clears the maps for the next generation. */
void day_mapping_clear(struct day_mapping *mapping);
void day_mapping_done(struct day_mapping *mapping);

/*
 * Finds or adds an element. Returns 0; -ENOMEM; -E2BIG: a bound is reached, and the caller must
 * begin the next generation; or -EDQUOT: it is new, and the dictionary is frozen.
 */
int day_dictionary_node(struct day_dictionary *dictionary, struct day_mapping *mapping,
	uint32_t profile_node, uint32_t *ret_node);
int day_dictionary_thread(struct day_dictionary *dictionary, struct day_mapping *mapping,
	uint32_t profile_thread, uint32_t *ret_thread);
/* A stack of one synthetic frame, and a thread that has nothing but a name and its owner. */
int day_dictionary_synthetic_node(
	struct day_dictionary *dictionary, const char *text, uint32_t *ret_node);
int day_dictionary_nameless_thread(
	struct day_dictionary *dictionary, const char *comm, uint32_t owner, uint32_t *ret_thread);
/* Finds or adds a thread of other tables, reduced to its comm, exe, cgroup, claims and owner. */
int day_dictionary_folded_thread(struct day_dictionary *dictionary, const struct day_tables *from,
	uint32_t from_thread, uint32_t *ret_thread);
