/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The reader takes a fold instead of its windows if the query needs no single processes and selects
 * all of these windows, which the number of samples shows. Accounts and times always come from the
 * windows.
 */
#include "base/array.h"
#include "store/accounts_blob.h"
#include "store/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { DAY_WINDOWS_MAX = 1 << 17 };

/* --- the day's windows and folds --- */

static int add_window(
	struct read_windows *windows, const struct day_window *window, struct reading *reading)
{
	struct read_window taken = {
		.id = window->id,
		.fold = window->fold,
		.generations = { window->generations[0], window->generations[1] },
		.start_ns = window->start_ns,
		.end_ns = window->end_ns,
		.monotonic_ns = window->monotonic_ns,
		.period_ns = window->period_ns,
		.samples = window->samples,
		.cpu_count = window->cpu_count,
		.source = PILOTLIGHT_SOURCES,
		.is_supplement = window->is_supplement,
		.counts_time = !window->is_supplement &&
			       event_choice_counts_time(&reading->events, window->event),
	};
	int r;

	(void)event_source_index(window->event, &taken.source);
	if (accounts_blob_read(&taken.accounts, window->accounts, window->accounts_size) < 0) {
		reading->is_damaged = true;
		return 0;
	}
	r = ARRAY_RESERVE(windows->items, &windows->capacity, windows->count + 1, DAY_WINDOWS_MAX);
	if (r == 0)
		windows->items[windows->count++] = taken;
	return r == -E2BIG ? -EBADMSG : r;
}

static int take_window(struct reading *reading, const struct day_window *window)
{
	struct profile *profile = reading->profile;
	int r = 0;

	if (!event_choice_takes(&reading->events, window->event) ||
		(reading->live_start_ns > 0 && window->start_ns != reading->live_start_ns))
		return 0;
	if (profile->event == 0)
		r = profile_add_string(profile, event_choice_name(&reading->events, window->event),
			&profile->event);
	return r < 0 ? r : add_window(&reading->windows, window, reading);
}

/* Needs no check of the event: no selected window refers to a fold of another event. */
static int take_fold(struct reading *reading, const struct day_window *fold)
{
	return add_window(&reading->folds, fold, reading);
}

/* Of those that overlap the time. A fold of windows that are not all selected is not used. */
static bool is_selected(const struct store_selection *selection, const struct day_window *window)
{
	return !selection->by_end || window->end_ns <= selection->end_ns;
}

/* Finds the last window instead of taking any. */
static int look_at_window(struct reading *reading, const struct day_window *window)
{
	if (event_choice_takes(&reading->events, window->event) &&
		window->start_ns > reading->live_start_ns)
		reading->live_start_ns = window->start_ns;
	return 0;
}

typedef int (*take_function)(struct reading *reading, const struct day_window *window);

static int list(struct reading *reading, enum day_statement name, take_function take)
{
	const struct store_selection *selection = reading->selection;
	struct day_window window;
	sqlite3_stmt *statement;
	int r = day_database_windows(reading->database, name, selection->start_ns,
		selection->end_ns, &statement, reading->fault);

	if (r < 0)
		return r;
	while ((r = day_database_step(reading->database, statement, reading->fault)) == 1) {
		r = day_database_get_window(reading->database, statement, &window, reading->fault);
		if (r == 0)
			r = is_selected(selection, &window) ? take(reading, &window) : 0;
		else
			reading->is_damaged = true;
		if (r < 0 && r != -EBADMSG)
			break;
	}
	(void)sqlite3_reset(statement);
	return r;
}

static int compare_folds(const void *a, const void *b)
{
	const struct read_window *first = a, *second = b;

	if (first->fold != second->fold)
		return first->fold < second->fold ? -1 : 1;
	return (first->id > second->id) - (first->id < second->id);
}

int reading_list_day(struct reading *reading)
{
	struct read_windows *windows = &reading->windows;
	int r;

	windows->count = reading->folds.count = 0;
	r = list(reading, DAY_WINDOWS, take_window);
	/* Folds have no times. */
	if (r == 0 && reading->selection->merges_threads && !reading->selection->wants_processes &&
		!reading->take_row && !reading->selection->is_exact && !reading->selection->spans &&
		!reading->selection->takes_spans && !reading->selection->takes_times &&
		!reading->times.take)
		r = list(reading, DAY_FOLDS, take_fold);
	if (r == 0 && windows->count > 0)
		qsort(windows->items, windows->count, sizeof(*windows->items), compare_folds);
	return r;
}

/* --- the choice of windows or folds --- */

static const struct read_window *find_fold(const struct reading *reading, int64_t id)
{
	size_t low = 0, high = reading->folds.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (reading->folds.items[middle].id < id)
			low = middle + 1;
		else
			high = middle;
	}
	return low < reading->folds.count && reading->folds.items[low].id == id
		       ? &reading->folds.items[low]
		       : NULL;
}

/* Returns the fold of these windows if it holds exactly their samples. */
static const struct read_window *find_fold_of(
	const struct reading *reading, const struct read_window *windows, size_t count)
{
	const struct read_window *fold = find_fold(reading, windows->fold);
	uint64_t samples = 0;

	for (size_t i = 0; fold && i < count; i++)
		if (windows[i].period_ns != fold->period_ns ||
			__builtin_add_overflow(samples, windows[i].samples, &samples))
			return NULL;
	return fold && samples == fold->samples ? fold : NULL;
}

static void plan_windows(struct reading *reading, const struct read_window *windows, size_t count)
{
	for (size_t i = 0; i < count; i++)
		reading->bodies[reading->body_count++] = (struct read_body){
			.window = &windows[i],
			.of = &windows[i],
			.of_count = 1,
		};
}

static int compare_bodies(const void *a, const void *b)
{
	const struct read_body *first = a, *second = b;
	const struct read_window *one = first->window, *other = second->window;

	if (first->is_fold != second->is_fold)
		return first->is_fold ? -1 : 1;
	for (enum day_part i = 0; i < DAY_PARTS; i++)
		if (one->generations[i] != other->generations[i])
			return one->generations[i] < other->generations[i] ? -1 : 1;
	return (one->id > other->id) - (one->id < other->id);
}

static void sort_bodies(struct reading *reading)
{
	if (reading->body_count > 0)
		qsort(reading->bodies, reading->body_count, sizeof(*reading->bodies),
			compare_bodies);
}

int reading_plan_day(struct reading *reading)
{
	const struct read_windows *windows = &reading->windows;

	free(reading->bodies);
	reading->body_count = 0;
	reading->bodies = calloc(windows->count + 1, sizeof(*reading->bodies));
	if (!reading->bodies)
		return -ENOMEM;
	for (size_t i = 0, next; i < windows->count; i = next) {
		const struct read_window *first = &windows->items[i], *fold;

		for (next = i + 1;
			next < windows->count && windows->items[next].fold == first->fold; next++)
			;
		fold = first->fold > 0 ? find_fold_of(reading, first, next - i) : NULL;
		if (!fold)
			plan_windows(reading, first, next - i);
		else
			reading->bodies[reading->body_count++] = (struct read_body){
				.window = fold,
				.of = first,
				.of_count = next - i,
				.is_fold = true,
			};
	}
	sort_bodies(reading);
	return 0;
}

int reading_plan_again(struct reading *reading)
{
	_cleanup_free_ struct read_body *last = TAKE_PTR(reading->bodies);
	size_t count = reading->body_count;

	reading->body_count = 0;
	reading->bodies = calloc(reading->windows.count + 1, sizeof(*reading->bodies));
	if (!reading->bodies)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		if (last[i].is_fold && last[i].failed)
			plan_windows(reading, last[i].of, last[i].of_count);
	sort_bodies(reading);
	return 0;
}

/* --- what lives --- */

static int look_at_day(void *context, struct day_database *database, struct fault *fault)
{
	struct reading *reading = context;

	reading->database = database;
	reading->fault = fault;
	/* A damaged day is reported when it is read. */
	return list(reading, DAY_WINDOWS, look_at_window);
}

int reading_choose_live(const char *folder, struct reading *reading, struct fault *fault)
{
	const struct store_selection *selection = reading->selection;
	uint64_t days_damaged = 0;

	if (!reading->events.source || !reading->events.source->is_live)
		return 0;
	return store_reader_each_day(folder, selection->start_ns, selection->end_ns, look_at_day,
		reading, &days_damaged, fault);
}
