/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Windows become one profile: day by day, generation by generation, so that one dictionary at a
 * time is in memory. Samples are summed up as nanoseconds of CPU time, since windows may differ in
 * their periods, and become samples of the shortest period at the end.
 */
#include "base/array.h"
#include "base/clock.h"
#include "store/accounts_blob.h"
#include "store/generation_reader.h"
#include "store/reader_days.h"
#include "store/sample_sum.h"
#include "store/window_blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	DAY_WINDOWS_MAX = 1 << 17,
	SUMS_MAX = 1 << 18,
	ROWS_AHEAD = 6,
};

struct read_window {
	int64_t id, generations[DAY_PARTS];
	uint64_t start_ns, end_ns, monotonic_ns, period_ns;
	struct accounts accounts;
	uint32_t cpu_count;
	bool is_supplement;
};

struct reading {
	const struct store_selection *selection;
	struct profile *profile;
	struct store_found found;
	struct hash_index binary_index;
	struct generation_reader parts[DAY_PARTS];
	struct window_rows rows;
	struct sample_sum sum;
	uint64_t first_ns, last_ns; /* CLOCK_MONOTONIC, of what is summed up */
	bool has_event;

	/* Of the day. */
	struct day_database *database;
	struct read_window *windows;
	size_t count, capacity;
	bool is_damaged; /* some of it */
	struct fault *fault;
};

/* --- what there is --- */

static int is_wanted(struct reading *reading, const struct day_window *window, bool *ret_wanted)
{
	struct profile *profile = reading->profile;
	const char *event = reading->selection->event;
	int r;

	if (!event && reading->has_event)
		event = string_pool_get(&profile->strings, profile->event);
	if (event && strcmp(event, window->event) != 0) {
		reading->found.has_other_events = true;
		*ret_wanted = false;
		return 0;
	}
	if (!reading->has_event) {
		r = profile_add_string(profile, window->event, &profile->event);
		if (r < 0)
			return r;
		reading->has_event = true;
	}
	*ret_wanted = true;
	return 0;
}

static int take_window(struct reading *reading, const struct day_window *window)
{
	struct read_window taken = {
		.id = window->id,
		.generations = { window->generations[0], window->generations[1] },
		.start_ns = window->start_ns,
		.end_ns = window->end_ns,
		.monotonic_ns = window->monotonic_ns,
		.period_ns = window->period_ns,
		.cpu_count = window->cpu_count,
		.is_supplement = window->is_supplement,
	};
	bool is_selected = false;
	int r = is_wanted(reading, window, &is_selected);

	if (r < 0 || !is_selected)
		return r;
	if (accounts_blob_read(&taken.accounts, window->accounts, window->accounts_size) < 0) {
		reading->is_damaged = true;
		return 0;
	}
	r = ARRAY_RESERVE(
		reading->windows, &reading->capacity, reading->count + 1, DAY_WINDOWS_MAX);
	if (r == 0)
		reading->windows[reading->count++] = taken;
	return r == -E2BIG ? -EBADMSG : r;
}

static int compare_generations(const void *a, const void *b)
{
	const struct read_window *first = a, *second = b;

	for (enum day_part i = 0; i < DAY_PARTS; i++)
		if (first->generations[i] != second->generations[i])
			return first->generations[i] < second->generations[i] ? -1 : 1;
	return (first->id > second->id) - (first->id < second->id);
}

static int list_windows(struct reading *reading)
{
	const struct store_selection *selection = reading->selection;
	struct day_window window;
	sqlite3_stmt *statement;
	int r = day_database_windows(reading->database, selection->start_ns, selection->end_ns,
		&statement, reading->fault);

	reading->count = 0;
	if (r < 0)
		return r;
	while ((r = day_database_step(reading->database, statement, reading->fault)) == 1) {
		r = day_database_get_window(reading->database, statement, &window, reading->fault);
		if (r == 0)
			r = take_window(reading, &window);
		else
			reading->is_damaged = true;
		if (r < 0 && r != -EBADMSG)
			break;
	}
	(void)sqlite3_reset(statement);
	if (r == 0 && reading->count > 0)
		qsort(reading->windows, reading->count, sizeof(*reading->windows),
			compare_generations);
	return r;
}

/* --- samples --- */

/* What is summed up goes into the profile. */
static int flush(struct reading *reading)
{
	struct generation_reader *stacks = &reading->parts[DAY_STACKS];
	int r = 0;

	for (size_t i = 0; r == 0 && i < reading->sum.capacity; i++) {
		const struct sample_sum_slot *slot = &reading->sum.slots[i];
		struct profile_sample sample = {
			.count = slot->value,
			.first_ns = reading->first_ns,
			.last_ns = reading->last_ns,
		};

		if (slot->key == 0)
			continue;
		sample.thread = sample_sum_thread(slot);
		r = generation_reader_node(stacks, sample_sum_node(slot), &sample.node);
		if (r == 0)
			r = profile_add_sample(reading->profile, &sample);
	}
	sample_sum_clear(&reading->sum);
	reading->first_ns = UINT64_MAX;
	reading->last_ns = 0;
	return r;
}

static int sum_row(
	struct reading *reading, uint32_t thread, const struct window_row *row, uint64_t period_ns)
{
	uint64_t value;
	int r;

	if (__builtin_mul_overflow(row->count, period_ns, &value))
		value = UINT64_MAX;
	r = sample_sum_add(&reading->sum, thread, row->node, value, SUMS_MAX);
	if (r != -E2BIG)
		return r;
	r = flush(reading);
	return r < 0 ? r : sample_sum_add(&reading->sum, thread, row->node, value, SUMS_MAX);
}

static int sum_rows(struct reading *reading, const struct read_window *window)
{
	const bool *node_is_wanted = reading->parts[DAY_STACKS].node_is_wanted;
	uint64_t last_ns = window->monotonic_ns + (window->end_ns - window->start_ns);
	uint32_t thread = UINT32_MAX, profile_thread = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < reading->rows.count; i++) {
		const struct window_row *row = &reading->rows.items[i];

		if (row->thread != thread) {
			thread = row->thread;
			r = generation_reader_thread(
				&reading->parts[DAY_THREADS], thread, &profile_thread);
			if (r < 0)
				return r;
		}
		/* Most rows that follow are of the same thread. */
		if (i + ROWS_AHEAD < reading->rows.count)
			sample_sum_expect(&reading->sum, profile_thread, row[ROWS_AHEAD].node);
		if (profile_thread == THREAD_NOT_WANTED ||
			(node_is_wanted && !node_is_wanted[row->node]))
			continue;
		if (window->monotonic_ns < reading->first_ns)
			reading->first_ns = window->monotonic_ns;
		if (last_ns > reading->last_ns)
			reading->last_ns = last_ns;
		r = sum_row(reading, profile_thread, row, window->period_ns);
	}
	return r;
}

static void count_window(struct reading *reading, const struct read_window *window)
{
	struct store_found *found = &reading->found;
	struct profile *profile = reading->profile;

	if (window->is_supplement)
		found->supplements++;
	else
		found->windows++;
	if (found->start_ns == 0 || window->start_ns < found->start_ns)
		found->start_ns = window->start_ns;
	if (window->end_ns > found->end_ns)
		found->end_ns = window->end_ns;
	if (profile->period_ns == 0 || window->period_ns < profile->period_ns)
		profile->period_ns = window->period_ns;
	if (window->cpu_count > profile->cpu_count)
		profile->cpu_count = window->cpu_count;
	accounts_add(&profile->accounts, &window->accounts);
}

/* -EBADMSG: the window is damaged, and nothing of it was counted. */
static int read_window(struct reading *reading, const struct read_window *window)
{
	struct window_reader reader;
	const void *body;
	size_t size;
	int r = day_database_get_body(reading->database, window->id, &body, &size, reading->fault);

	if (r < 0)
		return r;
	r = window_reader_init(&reader, body, size,
		(uint32_t)reading->parts[DAY_THREADS].tables.threads.count,
		(uint32_t)reading->parts[DAY_STACKS].tables.nodes.count);
	if (r < 0)
		return r == -EPROTONOSUPPORT ? -EBADMSG : r;
	r = window_rows_read(&reading->rows, &reader);
	window_reader_done(&reader);
	if (r < 0)
		return r;
	count_window(reading, window);
	return sum_rows(reading, window);
}

/* Windows that have both dictionaries in common. */
static int read_windows(struct reading *reading, const struct read_window *windows, size_t count)
{
	int r = 0;

	for (enum day_part i = 0; r == 0 && i < DAY_PARTS; i++) {
		struct generation_reader *part = &reading->parts[i];

		if (part->strings && part->generation == windows->generations[i])
			continue;
		/* What is summed up has the nodes of the stacks that go. */
		if (i == DAY_STACKS)
			r = flush(reading);
		if (r == 0)
			r = generation_reader_load(
				part, reading->database, windows->generations[i], reading->fault);
	}
	for (size_t i = 0; r == 0 && i < count; i++) {
		r = read_window(reading, &windows[i]);
		if (r == -EBADMSG) {
			reading->is_damaged = true;
			r = 0;
		}
	}
	return r;
}

static bool has_same_generations(const struct read_window *a, const struct read_window *b)
{
	return memcmp(a->generations, b->generations, sizeof(a->generations)) == 0;
}

static int read_day(void *context, struct day_database *database, struct fault *fault)
{
	struct reading *reading = context;
	int r;

	reading->database = database;
	reading->fault = fault;
	reading->is_damaged = false;
	r = list_windows(reading);
	for (size_t i = 0, next; r == 0 && i < reading->count; i = next) {
		const struct read_window *first = &reading->windows[i];

		for (next = i + 1; next < reading->count &&
				   has_same_generations(first, &reading->windows[next]);
			next++)
			;
		r = read_windows(reading, first, next - i);
		if (r == -EBADMSG) {
			reading->is_damaged = true;
			r = 0;
		}
	}
	if (r == 0)
		r = flush(reading);
	for (enum day_part i = 0; i < DAY_PARTS; i++)
		generation_reader_done(&reading->parts[i]);
	return r == 0 && reading->is_damaged ? -EBADMSG : r;
}

/*
 * From nanoseconds to samples of the shortest period. What is left of each goes to the next one, so
 * that the total is right to one sample; no sample was of a shorter period, so none becomes 0.
 */
static void scale(struct profile *profile)
{
	uint64_t rest = 0;

	for (size_t i = 0; i < profile->samples.count; i++) {
		struct profile_sample *sample = &profile->samples.items[i];
		uint64_t sum = sample->count;

		if (__builtin_add_overflow(sum, rest, &sum))
			sum = UINT64_MAX;
		sample->count = sum / profile->period_ns;
		rest = sum % profile->period_ns;
	}
}

int store_reader_read(struct store_reader *reader, const struct store_selection *selection,
	size_t profile_bytes, struct profile **ret_profile, struct store_found *ret_found,
	struct fault *fault)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	struct reading reading = { .selection = selection, .first_ns = UINT64_MAX };
	int r = profile_new(profile_bytes, &profile);

	if (r < 0)
		return r;
	reading.profile = profile;
	for (enum day_part i = 0; i < DAY_PARTS; i++)
		reading.parts[i] = (struct generation_reader){
			.selection = selection,
			.profile = profile,
			.binary_index = &reading.binary_index,
			.part = i,
		};
	r = store_reader_each_day(reader, selection->start_ns, selection->end_ns, read_day,
		&reading, &reading.found.days_damaged, fault);
	hash_index_done(&reading.binary_index);
	sample_sum_done(&reading.sum);
	free(reading.windows);
	free(reading.rows.items);
	if (r < 0)
		return r;
	scale(profile);
	profile->start_ns = reading.found.start_ns;
	profile->end_ns = reading.found.end_ns;
	*ret_found = reading.found;
	*ret_profile = TAKE_PTR(profile);
	return 0;
}
