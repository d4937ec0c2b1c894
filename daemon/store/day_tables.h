/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tables that the windows of one generation refer to: strings, binaries, locations with their
 * names, nodes of the stack tree, threads. A day has two such dictionaries, one for stacks and one
 * for threads: a host may start new processes all day that run the same code. Ids are positions.
 * Elements never change or go, so a window's rows stay valid for the life of the generation. The
 * elements that a window adds are written with it, as a blob from one mark to the next.
 *
 * A generation is bounded (I4): at its bounds the writer begins the next one, with empty tables.
 *
 * The source lists the columns of the blob (version 1, column_blob.h) in order. Ids are stored as
 * differences, since most are first used in the order of their creation. A blob of a day of version
 * 1 (day_database.h) lacks the last two columns: its threads have no owner. One without claims
 * lacks the last. A day that was continued by a later version may have blobs of all kinds.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/string_pool.h"

#include <stddef.h>
#include <stdint.h>

/*
 * With the indexes of day_dictionary: about 5.5 MiB for stacks and 1 MiB for threads. A day of a
 * host should fit, since each generation repeats the whole dictionary. Four CPUs that compile and
 * run an ordinary desktop make 183,000 nodes and 62,000 locations.
 */
enum {
	DAY_STRING_BYTES_MAX = 1 << 19,
	DAY_STRINGS_MAX = 3 << 12,
	DAY_BINARIES_MAX = 1 << 11,
	DAY_LOCATIONS_MAX = 1 << 16,
	DAY_FRAMES_MAX = 1 << 14,
	DAY_NODES_MAX = 3 << 16,
	DAY_THREADS_MAX = 3 << 12,
	DAY_START_UNIT_NS = 1000000, /* process starts are kept to the millisecond */
	DAY_FRAME_DEPTH_MAX = 64,
};

/* The `address` of a BINARY_SYNTHETIC location is 0, since its frame identifies it. */
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

/* The size of each table at some time. */
struct day_mark {
	uint32_t strings, binaries, frames, locations, nodes, threads;
};

/* Returns 0 or -ENOMEM. */
int day_tables_init(struct day_tables *tables);
void day_tables_done(struct day_tables *tables);
struct day_mark day_tables_mark(const struct day_tables *tables);
size_t day_tables_bytes(const struct day_tables *tables);

/* Add without a search for an equal element. Return 0, -ENOMEM, or -E2BIG at the bound. */
int day_tables_add_binary(struct day_tables *tables, const struct profile_binary *binary);
int day_tables_add_location(struct day_tables *tables, const struct day_location *location,
	const struct profile_frame *frames);
int day_tables_add_node(struct day_tables *tables, const struct profile_node *node);
int day_tables_add_thread(struct day_tables *tables, const struct profile_thread *thread);

/* Writes the elements added since `from`. Returns as column_writer_finish(). */
int day_tables_write(const struct day_tables *tables, const struct day_mark *from, int level,
	uint8_t **ret_blob, size_t *ret_size);

/*
 * Adds the elements of a blob, which must begin where the tables end. Checks everything in it (I8).
 * Returns 0, -ENOMEM, -EBADMSG or -EPROTONOSUPPORT. On failure the tables hold a part of the blob;
 * the elements from before stay readable.
 */
int day_tables_read(struct day_tables *tables, const void *blob, size_t size);
