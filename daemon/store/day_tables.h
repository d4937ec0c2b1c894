/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the windows of one generation of a day are made of: strings, binaries, locations with their
 * names, nodes of the stack tree, threads. A day has two such dictionaries, for stacks and for
 * threads, since a host may have new processes all day long that do what the others did. Ids are
 * positions; nothing ever changes or goes, so that a window's rows stay right for as long as the
 * generation lives. What a window adds goes to disk with it, as a blob of the elements from one
 * mark to the next.
 *
 * A generation is bounded (I4): at its bounds the writer begins the next one, with empty tables.
 *
 * The columns of the blob of version 1 (column_blob.h) are in the source, by their order. Ids are
 * told as differences, since most are used first in the order in which they were made.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/string_pool.h"

#include <stddef.h>
#include <stdint.h>

/*
 * With the indexes of day_dictionary some 5.5 MiB for the stacks and 1 MiB for the threads. What a
 * host does in a day should fit: each generation has all of it again. Four CPUs that compile and do
 * what else people do, make 183,000 nodes and 62,000 locations.
 */
enum {
	DAY_STRING_BYTES_MAX = 1 << 19,
	DAY_STRINGS_MAX = 3 << 12,
	DAY_BINARIES_MAX = 1 << 11,
	DAY_LOCATIONS_MAX = 1 << 16,
	DAY_FRAMES_MAX = 1 << 14,
	DAY_NODES_MAX = 3 << 16,
	DAY_THREADS_MAX = 3 << 12,
	DAY_START_UNIT_NS = 1000000, /* processes' starts are kept to the millisecond */
	DAY_FRAME_DEPTH_MAX = 64,
};

/* `address`: of a BINARY_SYNTHETIC location, 0, since its frame is its identity. */
struct day_location {
	uint64_t address;
	uint32_t binary;
	uint32_t function;
	uint32_t first_frame;
	uint32_t frame_count;
};

struct day_tables {
	struct string_pool strings;
	PROFILE_TABLE(struct profile_binary) binaries;
	PROFILE_TABLE(struct profile_frame) frames;
	PROFILE_TABLE(struct day_location) locations;
	PROFILE_TABLE(struct profile_node) nodes; /* node 0 is the root */
	PROFILE_TABLE(struct profile_thread) threads;
};

/* How much of each table there was at some time. */
struct day_mark {
	uint32_t strings, binaries, frames, locations, nodes, threads;
};

/* Returns 0 or -ENOMEM. */
int day_tables_init(struct day_tables *tables);
void day_tables_done(struct day_tables *tables);
struct day_mark day_tables_mark(const struct day_tables *tables);
size_t day_tables_bytes(const struct day_tables *tables);

/* These return 0, -ENOMEM, or -E2BIG at the bound; they do not look for what is equal. */
int day_tables_add_binary(struct day_tables *tables, const struct profile_binary *binary);
int day_tables_add_location(struct day_tables *tables, const struct day_location *location,
	const struct profile_frame *frames);
int day_tables_add_node(struct day_tables *tables, const struct profile_node *node);
int day_tables_add_thread(struct day_tables *tables, const struct profile_thread *thread);

/* What has come since `from`. Returns as column_writer_finish(). */
int day_tables_write(const struct day_tables *tables, const struct day_mark *from, int level,
	uint8_t **ret_blob, size_t *ret_size);

/*
 * Adds what a blob has, which must begin where the tables end. Everything in it is checked (I8).
 * Returns 0, -ENOMEM, -EBADMSG or -EPROTONOSUPPORT; on failure the tables hold a part of it and are
 * good for reading what came before.
 */
int day_tables_read(struct day_tables *tables, const void *blob, size_t size);
