/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/heatmap.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Seconds of a column. */
static const uint64_t column_seconds[] = { 1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 1800, 3600, 7200,
	14400, 43200, 86400 };

/* Columns begin at multiples of their width, so that the same second is the same column. */
static void choose_columns(struct heatmap *heatmap, uint64_t start_ns, uint64_t end_ns)
{
	for (size_t i = 0; i < ARRAY_SIZE(column_seconds); i++) {
		const uint64_t width_ns = column_seconds[i] * NSEC_PER_SEC;
		const uint64_t first = start_ns / width_ns, last = (end_ns - 1) / width_ns;

		heatmap->column_ns = width_ns;
		heatmap->start_ns = first * width_ns;
		heatmap->columns = HEATMAP_COLUMNS_MAX;
		if (last - first < HEATMAP_COLUMNS_MAX) {
			heatmap->columns = (size_t)(last - first + 1);
			return;
		}
	}
}

/* Without columns, windows that were appended since the time was cut have no place. */
static void take_time(void *context, uint64_t start_ns, uint64_t slice_ns, uint64_t value_ns)
{
	struct heatmap *heatmap = context;
	uint64_t cell = 0;

	(void)slice_ns;
	if (heatmap->columns == 0)
		return;
	if (start_ns > heatmap->start_ns)
		cell = (start_ns - heatmap->start_ns) / (heatmap->column_ns / HEATMAP_ROWS);
	if (cell < heatmap->columns * HEATMAP_ROWS &&
		__builtin_add_overflow(heatmap->cells[cell], value_ns, &heatmap->cells[cell]))
		heatmap->cells[cell] = UINT64_MAX;
}

/* Cuts the time to that of the history, so that the columns are not wasted on time before it. */
static int cut_to_history(
	const char *folder, struct store_selection *selection, struct fault *fault)
{
	struct store_summary summary;
	int r = store_reader_summary(folder, &summary, fault);

	if (r < 0)
		return r;
	if (selection->start_ns < summary.first_ns)
		selection->start_ns = summary.first_ns;
	if (selection->end_ns > summary.last_ns)
		selection->end_ns = summary.last_ns;
	if (selection->end_ns <= selection->start_ns)
		selection->end_ns = selection->start_ns;
	return 0;
}

/* The windows reach beyond the time that is drawn. */
static void cut_profile(struct profile *profile, const struct store_selection *selection)
{
	if (profile->start_ns < selection->start_ns)
		profile->start_ns = selection->start_ns;
	if (profile->end_ns > selection->end_ns)
		profile->end_ns = selection->end_ns;
}

int heatmap_read(const char *folder, const struct store_selection *asked, size_t profile_bytes,
	struct heatmap *ret_heatmap, struct fault *fault)
{
	struct store_selection selection = *asked;
	struct heatmap heatmap = { 0 };
	int r = cut_to_history(folder, &selection, fault);

	if (r == 0 && selection.start_ns < selection.end_ns)
		choose_columns(&heatmap, selection.start_ns, selection.end_ns);
	if (r == 0) {
		heatmap.cells = calloc(heatmap.columns * HEATMAP_ROWS + 1, sizeof(*heatmap.cells));
		r = heatmap.cells ? 0 : -ENOMEM;
	}
	if (r == 0)
		r = store_reader_times(folder, &selection, profile_bytes, take_time, &heatmap,
			&heatmap.profile, &heatmap.found, fault);
	if (r < 0) {
		heatmap_done(&heatmap);
		return r;
	}
	cut_profile(heatmap.profile, &selection);
	*ret_heatmap = heatmap;
	return 0;
}

void heatmap_done(struct heatmap *heatmap)
{
	free(heatmap->cells);
	profile_free(heatmap->profile);
	*heatmap = (struct heatmap){ 0 };
}

uint64_t heatmap_samples(const struct heatmap *heatmap, uint64_t value_ns)
{
	const uint64_t period_ns = heatmap->profile->period_ns;

	if (period_ns == 0)
		return 0;
	return value_ns / period_ns + (value_ns % period_ns >= (period_ns + 1) / 2);
}

uint64_t heatmap_count(const struct heatmap *heatmap, size_t column, size_t row)
{
	return heatmap_samples(heatmap, heatmap->cells[column * HEATMAP_ROWS + row]);
}

static double seconds(uint64_t ns)
{
	return (double)ns / NSEC_PER_SEC;
}

void heatmap_write_json(const struct heatmap *heatmap, struct output *output)
{
	const struct profile *profile = heatmap->profile;
	const struct event_source *source =
		event_source_of(string_pool_get(&profile->strings, profile->event));
	const bool is_of_time = strcmp(source->unit, "nanoseconds") == 0;
	struct json json;

	json_init(&json, output);
	json_begin_object(&json);
	json_member_u64(&json, "version", 1);
	json_member_string(&json, "event", source->name);
	json_member_string(&json, "unit", is_of_time ? "seconds" : source->unit);
	json_key(&json, "from");
	json_seconds(&json, seconds(heatmap->start_ns));
	json_key(&json, "column");
	json_seconds(&json, seconds(heatmap->column_ns));
	json_member_u64(&json, "rows", HEATMAP_ROWS);
	json_member_u64(&json, "columns", heatmap->columns);
	json_member_u64(&json, "period_ns", profile->period_ns);
	json_member_u64(&json, "timed", heatmap_samples(heatmap, heatmap->found.timed_ns));
	json_member_u64(&json, "untimed", heatmap_samples(heatmap, heatmap->found.untimed_ns));
	json_key(&json, "cells");
	json_begin_array(&json);
	for (size_t i = 0; i < heatmap->columns; i++)
		for (size_t j = 0; j < HEATMAP_ROWS; j++)
			json_u64(&json, heatmap_count(heatmap, i, j));
	json_end_array(&json);
	json_end_object(&json);
	json_end_line(&json);
}
