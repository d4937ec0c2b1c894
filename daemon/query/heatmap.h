/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How many samples each small part of a second had, after FlameScope: a column for each second, in
 * rows of 20 ms. Of a selection of more than an hour, a column is of several seconds, and its rows
 * of as many times 20 ms. Only samples whose times the history keeps have a place
 * (store_reader_times()); how much has none is counted.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/fault.h"
#include "base/output.h"
#include "store/store.h"

#include <stddef.h>
#include <stdint.h>

enum { HEATMAP_ROWS = 50, HEATMAP_COLUMNS_MAX = 3600 };

struct heatmap {
	uint64_t start_ns;	 /* CLOCK_REALTIME, of the first column: a multiple of column_ns */
	uint64_t column_ns;	 /* a row has a HEATMAP_ROWS-th of it */
	size_t columns;		 /* 0: the history has nothing of that time */
	uint64_t *cells;	 /* counts times their period; [column * HEATMAP_ROWS + row] */
	struct profile *profile; /* without samples: it has the event, period, time and accounts */
	struct store_found found;
};

/*
 * Reads the selection. Returns 0, -ENOMEM, -E2BIG (`profile_bytes` do not suffice) or another
 * -errno with `fault`.
 */
int heatmap_read(const char *folder, const struct store_selection *asked, size_t profile_bytes,
	struct heatmap *ret_heatmap, struct fault *fault);
void heatmap_done(struct heatmap *heatmap);

/* Samples of the profile's period in a cell, rounded to the nearest; or of any amount. */
uint64_t heatmap_count(const struct heatmap *heatmap, size_t column, size_t row);
uint64_t heatmap_samples(const struct heatmap *heatmap, uint64_t value_ns);

/*
 * Writes one JSON object: version (1), event, unit ("seconds", "bytes" or "count"), from and column
 * in seconds, rows, columns, period_ns (what a sample stands for, in nanoseconds or in the unit),
 * timed and untimed in samples, and cells: their samples, column by column, each from its beginning
 * on.
 */
void heatmap_write_json(const struct heatmap *heatmap, struct output *output);
