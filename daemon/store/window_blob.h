/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a window holds: rows of (thread, node, count), by thread and node, each pair once; ids are
 * of the dictionary of the window's generation. Columns of version 1 (column_blob.h):
 *
 *	0  rows, runs of rows of one thread
 *	1  of each run, its thread: how many above the last run's thread + 1
 *	2  of each run, its rows - 1
 *	3  of each row, its node: the run's first as a signed difference to the first node of the
 *	   run before, the others by how many they are above the node before + 1
 *	4  of each row, its count - 1
 *
 * Both ends stream, so that windows are merged without their rows in memory.
 */
#pragma once

#include "drain/accounts.h"
#include "store/column_blob.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 128 CPUs at 99 Hz write at most 127,000 in ten seconds. */
enum { WINDOW_ROWS_MAX = 1 << 20 };

struct window_row {
	uint64_t count;
	uint32_t thread, node;
};

struct window_writer {
	struct column_writer columns;
	uint64_t rows, runs, run_rows, samples;
	struct window_row last;
	uint32_t run_node; /* the first one of the run */
};

void window_writer_init(struct window_writer *writer);
void window_writer_done(struct window_writer *writer);

/* Rows in ascending order; one that is equal to the last is added to it by whoever adds rows. */
void window_writer_add(struct window_writer *writer, const struct window_row *row);

/* As column_writer_finish(); -E2BIG also where there are more than WINDOW_ROWS_MAX rows. */
int window_writer_finish(
	struct window_writer *writer, int level, uint8_t **ret_blob, size_t *ret_size);

struct window_reader {
	struct column_reader columns;
	uint64_t rows_left, runs_left, run_left;
	uint64_t thread, node, run_node;
	uint32_t thread_limit, node_limit;
	bool is_first;
};

/* Ids below the limits are valid. Returns as column_reader_init(). */
int window_reader_init(struct window_reader *reader, const void *blob, size_t size,
	uint32_t thread_limit, uint32_t node_limit);
void window_reader_done(struct window_reader *reader);

/* Returns 1 and a row, 0 at the end, or -EBADMSG. */
int window_reader_next(struct window_reader *reader, struct window_row *ret_row);

/* All rows at once; the array belongs to the caller, who may give it back for the next window. */
struct window_rows {
	struct window_row *items;
	size_t count, capacity;
};
int window_rows_read(struct window_rows *rows, struct window_reader *reader);
