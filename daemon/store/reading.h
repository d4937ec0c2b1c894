/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Private to the reader: store_read.c reads what store_plan.c has chosen, day by day. */
#pragma once

#include "base/hash_index.h"
#include "store/event_choice.h"
#include "store/generation_reader.h"
#include "store/reader_days.h"
#include "store/sample_sum.h"
#include "store/times_blob.h"
#include "store/window_blob.h"

struct read_window {
	int64_t id, fold, generations[DAY_PARTS];
	uint64_t start_ns, end_ns, monotonic_ns, period_ns, samples;
	struct accounts accounts;
	uint32_t cpu_count;
	enum pilotlight_source source; /* PILOTLIGHT_SOURCES: none has the event */
	bool is_supplement;
	bool counts_time; /* one of several windows of a time does */
};

struct read_windows {
	struct read_window *items;
	size_t count, capacity;
};

/* Rows to read, and the windows that they belong to: one window, or those of a fold. */
struct read_body {
	const struct read_window *window;
	const struct read_window *of;
	size_t of_count;
	bool is_fold, failed;
};

/* The times of samples that are read (read_times.c). */
struct time_reading {
	store_time_function take; /* instead of summing the samples; NULL: sum them */
	void *context;
	struct row_times decoded;
	/* State of the current window. */
	struct times_reader reader;
	struct row_times all; /* of each row: an item whose count is their number, then they */
	size_t next;	      /* row, among them */
	struct row_times row; /* borrows those of the row */
	bool is_by_thread;    /* the rows are threads */
	struct row_spans spans;
	bool has_reader;
	bool is_cut;	    /* only a part of the window is selected: that of its slices */
	uint64_t slices_ns; /* CLOCK_REALTIME at which its slice 0 begins */
	uint64_t slice_ns;  /* the width of its slices */
	uint64_t kept;	    /* samples in that part */
};

/* Counts of a sample in a span or at a time, which the profile has once the sums are flushed. */
struct pending_span {
	struct pilotlight_thread_context ids;
	uint64_t time_ns; /* 0: in a span */
	uint64_t value;
	uint32_t thread, node; /* the profile's; the generation's */
};

struct pending_spans {
	struct pending_span *items;
	size_t count, capacity;
};

struct reading {
	const struct store_selection *selection;
	struct event_choice events;
	struct profile *profile;
	struct store_found found;
	struct hash_index binary_index;
	struct generation_reader parts[DAY_PARTS + 1]; /* including DAY_FOLDED */
	struct window_rows rows;
	struct sample_sum sum;
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC, of the pending sums */
	uint64_t live_start_ns;	    /* of what lives: the start of the window to take; 0: all */
	struct time_reading times;
	store_row_function take_row; /* instead of summing the samples; NULL: sum them */
	void *row_context;
	struct pending_spans spans;

	/* State of the current day. */
	struct day_database *database;
	struct read_windows windows, folds;
	struct read_body *bodies;
	size_t body_count;
	bool is_damaged; /* parts of the day are damaged */
	struct fault *fault;
};

/* Lists the selected windows of the day, and its folds. Returns 0, -ENOMEM, -EBADMSG or another
 * -errno with reading->fault. */
int reading_list_day(struct reading *reading);

/* Chooses which bodies to read: folds in place of all their windows. Returns 0 or -ENOMEM. */
int reading_plan_day(struct reading *reading);

/* Plans the windows of folds that turned out to be damaged. Returns 0 or -ENOMEM. */
int reading_plan_again(struct reading *reading);

/*
 * Opens the times of a window, whose rows have been read, if they are needed. Damaged ones count as
 * missing, and as damage of the day. Returns 0 or -errno.
 */
int reading_open_times(struct reading *reading, const struct read_body *body);
/* Does the current window need times to select samples, but has none? */
bool reading_lacks_times(const struct reading *reading);
/*
 * Reads the times of the next row, of which `is_wanted` says whether it is selected. Sets its count
 * to that in the selected part of the window, or to 0 if its times are taken instead. Returns 0 or
 * -errno.
 */
int reading_take_times(struct reading *reading, const struct read_window *window,
	struct window_row *row, bool is_wanted);
bool reading_needs_times(const struct reading *reading);
/*
 * Appends the spans of the row that was read last to reading->spans, if the profile takes them, or
 * its times. Returns 0, -ENOMEM, or -E2BIG if they must be flushed first.
 */
int reading_take_spans(struct reading *reading, const struct read_window *window,
	const struct window_row *row, uint32_t thread);

/* Of what lives, finds the window to take. Returns 0 or -errno with `fault`. */
int reading_choose_live(const char *folder, struct reading *reading, struct fault *fault);
