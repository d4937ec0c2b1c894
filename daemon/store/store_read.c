/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merges windows into one profile, day by day and generation by generation, so memory holds one
 * dictionary at a time. Samples and accounts are summed as nanoseconds, since windows may have
 * different periods. At the end they become samples of the shortest period. The windows of several
 * sources become a profile of wall-clock time in the same way.
 *
 * Of what lives, whose amounts do not add up, only the last selected window is taken.
 *
 * The reader takes a fold instead of its windows if the query needs no single processes and selects
 * all of these windows, which the number of samples shows. Accounts and times always come from the
 * windows.
 */
#include "base/array.h"
#include "base/clock.h"
#include "store/accounts_blob.h"
#include "store/event_choice.h"
#include "store/generation_reader.h"
#include "store/reader_days.h"
#include "store/sample_sum.h"
#include "store/window_blob.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	DAY_WINDOWS_MAX = 1 << 17,
	SUMS_MAX = (1 << 18) - 1, /* fills half of a table of 8 MiB */
	ROWS_AHEAD = 6,
};

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

	/* State of the current day. */
	struct day_database *database;
	struct read_windows windows, folds;
	struct read_body *bodies;
	size_t body_count;
	bool is_damaged; /* parts of the day are damaged */
	struct fault *fault;
};

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

static int list_day(struct reading *reading)
{
	struct read_windows *windows = &reading->windows;
	int r;

	windows->count = reading->folds.count = 0;
	r = list(reading, DAY_WINDOWS, take_window);
	if (r == 0 && reading->selection->merges_threads && !reading->selection->wants_processes)
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

static int plan_day(struct reading *reading)
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

/* Plans the windows of folds that turned out to be damaged. */
static int plan_again(struct reading *reading)
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

/* --- samples --- */

/* Moves the sums into the profile. */
static int flush(struct reading *reading)
{
	struct generation_reader *stacks = &reading->parts[DAY_STACKS];
	const struct sample_sum_slot *slots = reading->sum.slots;
	int r = 0;

	for (size_t i = 0; i < reading->sum.capacity; i++)
		if (slots[i].key != 0)
			generation_reader_need(stacks, sample_sum_node(&slots[i]));
	if (reading->sum.count > 0)
		r = generation_reader_carry(stacks);
	for (size_t i = 0; r == 0 && i < reading->sum.capacity; i++) {
		struct profile_sample sample = {
			.count = slots[i].value,
			.first_ns = reading->first_ns,
			.last_ns = reading->last_ns,
		};

		if (slots[i].key == 0)
			continue;
		sample.thread = sample_sum_thread(&slots[i]);
		sample.node = generation_reader_node(stacks, sample_sum_node(&slots[i]));
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

static struct generation_reader *thread_part(struct reading *reading, const struct read_body *body)
{
	return &reading->parts[body->is_fold ? DAY_FOLDED : DAY_THREADS];
}

static int sum_rows(struct reading *reading, const struct read_body *body)
{
	const struct read_window *window = body->window;
	struct generation_reader *threads = thread_part(reading, body);
	const bool *node_is_wanted = reading->parts[DAY_STACKS].node_is_wanted;
	uint64_t last_ns = window->monotonic_ns + (window->end_ns - window->start_ns);
	uint32_t thread = UINT32_MAX, profile_thread = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < reading->rows.count; i++) {
		const struct window_row *row = &reading->rows.items[i];

		if (row->thread != thread) {
			thread = row->thread;
			r = generation_reader_thread(threads, thread, &profile_thread);
			if (r < 0)
				return r;
		}
		/* Most following rows belong to the same thread. */
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

/* A supplement covers the time of its window, so it adds none. Nor do further sources of "wall". */
static void count_time(struct profile *profile, const struct read_window *window)
{
	uint64_t cpu_ns;

	if (window->cpu_count > profile->cpu_count)
		profile->cpu_count = window->cpu_count;
	if (!window->counts_time)
		return;
	if (__builtin_mul_overflow(
		    window->end_ns - window->start_ns, (uint64_t)window->cpu_count, &cpu_ns) ||
		__builtin_add_overflow(profile->possible_cpu_ns, cpu_ns, &profile->possible_cpu_ns))
		profile->possible_cpu_ns = UINT64_MAX;
	if (__builtin_add_overflow(
		    profile->covered_ns, window->end_ns - window->start_ns, &profile->covered_ns))
		profile->covered_ns = UINT64_MAX;
}

static void count_window(struct reading *reading, const struct read_window *window)
{
	struct store_found *found = &reading->found;
	struct profile *profile = reading->profile;

	if (window->is_supplement) {
		found->supplements++;
	} else {
		found->windows++;
		if (window->source < PILOTLIGHT_SOURCES)
			found->source_ns[window->source] += window->end_ns - window->start_ns;
	}
	if (found->start_ns == 0 || window->start_ns < found->start_ns)
		found->start_ns = window->start_ns;
	if (window->end_ns > found->end_ns)
		found->end_ns = window->end_ns;
	if (profile->period_ns == 0 || window->period_ns < profile->period_ns)
		profile->period_ns = window->period_ns;
	if (window->period_ns > profile->longest_period_ns)
		profile->longest_period_ns = window->period_ns;
	count_time(profile, window);
	accounts_add_weighted(&profile->accounts, &window->accounts, window->period_ns);
}

/* Returns -EBADMSG if the body is damaged; nothing of it was then counted. */
static int read_body(struct reading *reading, const struct read_body *from)
{
	struct window_reader reader;
	const void *body;
	size_t size;
	int r = day_database_get_body(
		reading->database, from->window->id, &body, &size, reading->fault);

	if (r < 0)
		return r;
	r = window_reader_init(&reader, body, size,
		(uint32_t)thread_part(reading, from)->tables.threads.count,
		(uint32_t)reading->parts[DAY_STACKS].tables.nodes.count);
	if (r < 0)
		return r == -EPROTONOSUPPORT ? -EBADMSG : r;
	r = window_rows_read(&reading->rows, &reader);
	window_reader_done(&reader);
	if (r < 0)
		return r;
	for (size_t i = 0; i < from->of_count; i++)
		count_window(reading, &from->of[i]);
	return sum_rows(reading, from);
}

static int load_part(struct reading *reading, struct generation_reader *part, int64_t generation)
{
	int r = 0;

	if (part->strings && part->generation == generation)
		return 0;
	/* The sums refer to nodes of the generation that is about to be unloaded. */
	if (part->part == DAY_STACKS)
		r = flush(reading);
	return r < 0 ? r
		     : generation_reader_load(part, reading->database, generation, reading->fault);
}

/* Reads bodies that share both dictionaries. A damaged body fails alone. */
static int read_bodies(struct reading *reading, struct read_body *bodies, size_t count)
{
	const int64_t *generations = bodies->window->generations;
	int r = load_part(reading, &reading->parts[DAY_STACKS], generations[DAY_STACKS]);
	bool is_loaded;

	if (r == 0)
		r = load_part(reading, thread_part(reading, bodies), generations[DAY_THREADS]);
	is_loaded = r == 0;
	for (size_t i = 0; (r == 0 || r == -EBADMSG) && i < count; i++) {
		if (is_loaded)
			r = read_body(reading, &bodies[i]);
		bodies[i].failed = r == -EBADMSG;
		if (bodies[i].failed && !bodies[i].is_fold)
			reading->is_damaged = true;
	}
	return r == -EBADMSG ? 0 : r;
}

static bool has_same_generations(const struct read_body *a, const struct read_body *b)
{
	return a->is_fold == b->is_fold && memcmp(a->window->generations, b->window->generations,
						   sizeof(a->window->generations)) == 0;
}

static int read_plan(struct reading *reading)
{
	int r = 0;

	for (size_t i = 0, next; r == 0 && i < reading->body_count; i = next) {
		struct read_body *first = &reading->bodies[i];

		for (next = i + 1; next < reading->body_count &&
				   has_same_generations(first, &reading->bodies[next]);
			next++)
			;
		r = read_bodies(reading, first, next - i);
	}
	return r;
}

static int read_day(void *context, struct day_database *database, struct fault *fault)
{
	struct reading *reading = context;
	int r;

	reading->database = database;
	reading->fault = fault;
	reading->is_damaged = false;
	r = list_day(reading);
	if (r == 0)
		r = plan_day(reading);
	if (r == 0)
		r = read_plan(reading);
	if (r == 0)
		r = plan_again(reading);
	if (r == 0)
		r = read_plan(reading);
	if (r == 0)
		r = flush(reading);
	for (size_t i = 0; i < ARRAY_SIZE(reading->parts); i++)
		generation_reader_done(&reading->parts[i]);
	return r == 0 && reading->is_damaged ? -EBADMSG : r;
}

static int look_at_day(void *context, struct day_database *database, struct fault *fault)
{
	struct reading *reading = context;

	reading->database = database;
	reading->fault = fault;
	/* A damaged day is reported when it is read. */
	return list(reading, DAY_WINDOWS, look_at_window);
}

static int choose_live(const char *folder, struct reading *reading, struct fault *fault)
{
	const struct store_selection *selection = reading->selection;
	uint64_t days_damaged = 0;

	if (!reading->events.source || !reading->events.source->is_live)
		return 0;
	return store_reader_each_day(folder, selection->start_ns, selection->end_ns, look_at_day,
		reading, &days_damaged, fault);
}

static void describe_events(const struct event_choice *events, struct store_found *found)
{
	found->has_other_events = events->has_others;
	found->is_partial = events->is_partial;
}

int store_reader_read(const char *folder, const struct store_selection *selection,
	size_t profile_bytes, struct profile **ret_profile, struct store_found *ret_found,
	struct fault *fault)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	struct reading reading = { .selection = selection, .first_ns = UINT64_MAX };
	int r = profile_new(profile_bytes, &profile);

	if (r < 0)
		return r;
	reading.profile = profile;
	event_choice_init(&reading.events, selection->event);
	for (enum day_part i = 0; i <= DAY_FOLDED; i++)
		reading.parts[i] = (struct generation_reader){
			.selection = selection,
			.profile = profile,
			.binary_index = &reading.binary_index,
			.part = i,
		};
	r = choose_live(folder, &reading, fault);
	if (r == 0)
		r = store_reader_each_day(folder, selection->start_ns, selection->end_ns, read_day,
			&reading, &reading.found.days_damaged, fault);
	hash_index_done(&reading.binary_index);
	sample_sum_done(&reading.sum);
	free(reading.windows.items);
	free(reading.folds.items);
	free(reading.bodies);
	free(reading.rows.items);
	if (r < 0)
		return r;
	profile_divide(profile);
	profile->start_ns = reading.found.start_ns;
	profile->end_ns = reading.found.end_ns;
	describe_events(&reading.events, &reading.found);
	*ret_found = reading.found;
	*ret_profile = TAKE_PTR(profile);
	return 0;
}
