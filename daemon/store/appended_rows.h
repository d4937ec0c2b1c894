/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The rows of a window that is being appended, each with the sample of the profile that it is of.
 */
#pragma once

#include "aggregate/profile.h"

#include <stddef.h>
#include <stdint.h>

struct appended_row {
	uint32_t thread, node; /* of the day's dictionary */
	uint32_t sample;       /* of the profile */
};

struct appended_rows {
	struct appended_row *items;
	size_t count, capacity;
};

struct appended_blobs {
	uint8_t *body;
	uint8_t *times; /* times_blob.h; NULL: no sample has a time */
	size_t body_size, times_size;
	uint64_t samples;
	uint64_t untimed; /* samples whose times there was no room for */
};

/* Writes the rows, which it sorts, and the times of their samples. Returns as
 * column_writer_finish(). */
int appended_rows_write(struct appended_rows *rows, const struct profile *profile, int level,
	struct appended_blobs *ret_blobs);
void appended_blobs_done(struct appended_blobs *blobs);
