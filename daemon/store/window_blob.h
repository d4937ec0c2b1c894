/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The body of a window: rows of (thread, node, count), sorted by thread and node, each pair once.
 * Ids refer to the dictionary of the window's generation. Columns of version 1 (column_blob.h):
 *
 *	0  the numbers of rows and of runs; a run is the rows of one thread
 *	1  per run, its thread: distance above the last run's thread + 1
 *	2  per run, its rows - 1
 *	3  per row, its node: for a run's first row the signed difference to the first node of the
 *	   run before, for others the distance above the node before + 1
 *	4  per row, its count - 1
 *
 * Writer and reader stream, so merging needs no rows in memory.
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
	uint32_t run_node; /* the run's first node */
};

void window_writer_init(struct window_writer *writer);
void window_writer_done(struct window_writer *writer);

/* Adds a row. Rows must ascend strictly; the caller sums equal ones first. */
void window_writer_add(struct window_writer *writer, const struct window_row *row);

/* Returns as column_writer_finish(); also -E2BIG beyond WINDOW_ROWS_MAX rows. */
int window_writer_finish(
	struct window_writer *writer, int level, uint8_t **ret_blob, size_t *ret_size);

struct window_reader {
	struct column_reader columns;
	uint64_t rows_left, runs_left, run_left;
	uint64_t thread, node, run_node;
	uint32_t thread_limit, node_limit;
	bool is_first;
};

/* Opens a blob. Ids must be below the limits. Returns as column_reader_init(). */
int window_reader_init(struct window_reader *reader, const void *blob, size_t size,
	uint32_t thread_limit, uint32_t node_limit);
void window_reader_done(struct window_reader *reader);

/* Returns 1 and a row, 0 at the end, or -EBADMSG. */
int window_reader_next(struct window_reader *reader, struct window_row *ret_row);

/* The counts of a row that was just read, and of those of its thread that follow. UINT64_MAX: more,
 * or damage. */
uint64_t window_reader_thread_counts(
	const struct window_reader *reader, const struct window_row *row);

/* Reads all rows at once. The caller owns the array and may pass it again for the next window. */
struct window_rows {
	struct window_row *items;
	size_t count, capacity;
};
int window_rows_read(struct window_rows *rows, struct window_reader *reader);
