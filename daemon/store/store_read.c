/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merges windows into one profile, day by day and generation by generation, so memory holds one
 * dictionary at a time. Samples and accounts are summed as nanoseconds, since windows may have
 * different periods. At the end they become samples of the shortest period. The windows of several
 * sources become a profile of wall-clock time in the same way.
 *
 * Of what lives, whose amounts do not add up, only the last selected window is summed.
 */
#include "base/array.h"
#include "base/clock.h"
#include "store/reading.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	SUMS_MAX = (1 << 18) - 1, /* fills half of a table of 8 MiB */
	ROWS_AHEAD = 6,
};

/* --- samples --- */

/* After the samples that they are of. */
static void flush_spans(struct reading *reading)
{
	const struct generation_reader *stacks = &reading->parts[DAY_STACKS];

	for (size_t i = 0; i < reading->spans.count; i++) {
		const struct pending_span *span = &reading->spans.items[i];
		const struct profile_sample sample = {
			.count = span->value,
			.thread = span->thread,
			.node = generation_reader_node(stacks, span->node),
		};

		if (span->time_ns > 0)
			profile_note_stamp(reading->profile, &sample, span->time_ns);
		else
			profile_note_span(reading->profile, &sample, &span->ids);
	}
	reading->spans.count = 0;
}

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
	if (r == 0)
		flush_spans(reading);
	sample_sum_clear(&reading->sum);
	reading->first_ns = UINT64_MAX;
	reading->last_ns = 0;
	return r;
}

static uint64_t value_of(const struct window_row *row, const struct read_window *window)
{
	uint64_t value;

	return __builtin_mul_overflow(row->count, window->period_ns, &value) ? UINT64_MAX : value;
}

static int sum_row(struct reading *reading, uint32_t thread, const struct window_row *row,
	const struct read_window *window)
{
	const uint64_t value = value_of(row, window);
	int r;

	r = sample_sum_add(&reading->sum, thread, row->node, value, SUMS_MAX);
	if (r != -E2BIG)
		return r;
	r = flush(reading);
	return r < 0 ? r : sample_sum_add(&reading->sum, thread, row->node, value, SUMS_MAX);
}

/* A row of more spans or times than fit goes without. */
static int take_spans(struct reading *reading, const struct read_window *window,
	const struct window_row *row, uint32_t thread)
{
	int r = reading_take_spans(reading, window, row, thread);

	if (r != -E2BIG)
		return r;
	r = flush(reading);
	if (r == 0)
		r = reading_take_spans(reading, window, row, thread);
	return r == -E2BIG ? 0 : r;
}

static struct generation_reader *thread_part(struct reading *reading, const struct read_body *body)
{
	return &reading->parts[body->is_fold ? DAY_FOLDED : DAY_THREADS];
}

static int take_row(struct reading *reading, const struct read_window *window, uint32_t thread,
	const struct window_row *row)
{
	const struct day_tables *tables = &reading->parts[DAY_STACKS].tables;
	const uint32_t location = tables->nodes.items[row->node].location;
	const struct store_row taken = {
		.start_ns = window->start_ns,
		.value_ns = value_of(row, window),
		.thread = thread,
		.is_kernel =
			row->node != PROFILE_ROOT &&
			tables->binaries.items[tables->locations.items[location].binary].kind ==
				BINARY_KERNEL,
	};

	return reading->take_row(reading->row_context, &taken);
}

static void widen(struct reading *reading, const struct read_window *window)
{
	uint64_t last_ns = window->monotonic_ns + (window->end_ns - window->start_ns);

	if (window->monotonic_ns < reading->first_ns)
		reading->first_ns = window->monotonic_ns;
	if (last_ns > reading->last_ns)
		reading->last_ns = last_ns;
}

static int sum_rows(struct reading *reading, const struct read_body *body)
{
	const struct read_window *window = body->window;
	struct generation_reader *threads = thread_part(reading, body);
	const bool *node_is_wanted = reading->parts[DAY_STACKS].node_is_wanted;
	uint32_t thread = UINT32_MAX, profile_thread = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < reading->rows.count; i++) {
		struct window_row *row = &reading->rows.items[i];
		bool is_wanted;

		if (row->thread != thread) {
			thread = row->thread;
			r = generation_reader_thread(threads, thread, &profile_thread);
			if (r < 0)
				return r;
		}
		/* Most following rows belong to the same thread. */
		if (i + ROWS_AHEAD < reading->rows.count)
			sample_sum_expect(&reading->sum, profile_thread, row[ROWS_AHEAD].node);
		is_wanted = profile_thread != THREAD_NOT_WANTED &&
			    (!node_is_wanted || node_is_wanted[row->node]);
		if (reading_needs_times(reading))
			r = reading_take_times(reading, window, row, is_wanted);
		if (r < 0 || !is_wanted || row->count == 0)
			continue;
		widen(reading, window);
		r = reading->take_row ? take_row(reading, window, profile_thread, row)
				      : sum_row(reading, profile_thread, row, window);
		if (r == 0)
			r = take_spans(reading, window, row, profile_thread);
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

/* What was lost of a part of a window is not known, so its accounts are those of its samples. */
static void count_part(struct reading *reading, const struct read_window *window)
{
	const struct accounts kept = {
		.fired = reading->times.kept,
		.stored[PILOTLIGHT_PATH_RING] = reading->times.kept,
		.events[PILOTLIGHT_EVENT_SURVEYED] =
			window->accounts.events[PILOTLIGHT_EVENT_SURVEYED],
	};

	accounts_add_weighted(&reading->profile->accounts, &kept, window->period_ns);
}

/* Samples of a slice count whole, so its time does. */
static struct read_window selected_part(
	const struct reading *reading, const struct read_window *window)
{
	const struct store_selection *selection = reading->selection;
	const uint64_t slice_ns = reading->times.slice_ns;
	const uint64_t after_ns = (slice_ns - selection->end_ns % slice_ns) % slice_ns;
	struct read_window part = *window;

	if (!reading->times.is_cut)
		return part;
	if (part.start_ns < selection->start_ns - selection->start_ns % slice_ns)
		part.start_ns = selection->start_ns - selection->start_ns % slice_ns;
	if (part.end_ns > selection->end_ns && part.end_ns - selection->end_ns > after_ns)
		part.end_ns = selection->end_ns + after_ns;
	part.accounts = (struct accounts){ 0 };
	return part;
}

/* Returns 1 if any of the rows that were read is selected, 0 if none is, or -errno. */
static int has_wanted_rows(struct reading *reading, const struct read_body *body)
{
	struct generation_reader *threads = thread_part(reading, body);
	const bool *node_is_wanted = reading->parts[DAY_STACKS].node_is_wanted;

	for (size_t i = 0; i < reading->rows.count; i++) {
		const struct window_row *row = &reading->rows.items[i];
		uint32_t thread;
		int r = generation_reader_thread(threads, row->thread, &thread);

		if (r < 0)
			return r;
		if (row->count > 0 && thread != THREAD_NOT_WANTED &&
			(!node_is_wanted || node_is_wanted[row->node]))
			return 1;
	}
	return 0;
}

static void note_coarse(struct store_found *found, const struct read_window *window)
{
	if (found->coarse_windows++ == 0 || window->start_ns < found->coarse_start_ns) {
		found->coarse_start_ns = window->start_ns;
		found->coarse_end_ns = window->end_ns;
	}
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
	r = reading_open_times(reading, from);
	if (r < 0)
		return r;
	if (reading_lacks_times(reading) && !reading->selection->spans) {
		r = has_wanted_rows(reading, from);
		if (r == 1)
			note_coarse(&reading->found, from->window);
		if (r < 0 || (r == 1 && !reading->times.take))
			return r < 0 ? r : 0;
	}
	for (size_t i = 0; i < from->of_count; i++) {
		const struct read_window part = selected_part(reading, &from->of[i]);

		count_window(reading, &part);
	}
	/* Nothing of it is known to be of a span. */
	if (reading->selection->spans && reading_lacks_times(reading)) {
		reading->found.lacks_spans = true;
		return 0;
	}
	r = sum_rows(reading, from);
	if (r == 0 && reading->times.is_cut)
		count_part(reading, from->window);
	return r;
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
	r = reading_list_day(reading);
	if (r == 0)
		r = reading_plan_day(reading);
	if (r == 0)
		r = read_plan(reading);
	if (r == 0)
		r = reading_plan_again(reading);
	if (r == 0)
		r = read_plan(reading);
	if (r == 0)
		r = flush(reading);
	for (size_t i = 0; i < ARRAY_SIZE(reading->parts); i++)
		generation_reader_done(&reading->parts[i]);
	return r == 0 && reading->is_damaged ? -EBADMSG : r;
}

static void describe_events(const struct event_choice *events, struct store_found *found)
{
	found->has_other_events = events->has_others;
	found->is_partial = events->is_partial;
}

static void reading_done(struct reading *reading)
{
	hash_index_done(&reading->binary_index);
	sample_sum_done(&reading->sum);
	times_reader_done(&reading->times.reader);
	free(reading->times.decoded.items);
	free(reading->times.all.items);
	free(reading->times.spans.items);
	free(reading->spans.items);
	free(reading->windows.items);
	free(reading->folds.items);
	free(reading->bodies);
	free(reading->rows.items);
}

static int read_days(const char *folder, struct reading *reading, struct fault *fault)
{
	const struct store_selection *selection = reading->selection;
	int r;

	event_choice_init(&reading->events, selection->event);
	for (enum day_part i = 0; i <= DAY_FOLDED; i++)
		reading->parts[i] = (struct generation_reader){
			.selection = selection,
			.profile = reading->profile,
			.binary_index = &reading->binary_index,
			.part = i,
		};
	/* Rows tell their window. */
	r = reading->take_row ? 0 : reading_choose_live(folder, reading, fault);
	if (r == 0)
		r = store_reader_each_day(folder, selection->start_ns, selection->end_ns, read_day,
			reading, &reading->found.days_damaged, fault);
	reading_done(reading);
	return r;
}

static int read_with(const char *folder, struct reading *reading, size_t profile_bytes,
	struct profile **ret_profile, struct store_found *ret_found, struct fault *fault)
{
	_cleanup_(profile_freep) struct profile *profile = NULL;
	int r = profile_new(profile_bytes, &profile);

	if (r < 0)
		return r;
	profile->keeps_spans = reading->selection->takes_spans;
	reading->profile = profile;
	reading->first_ns = UINT64_MAX;
	r = read_days(folder, reading, fault);
	if (r < 0)
		return r;
	profile_divide(profile);
	profile_sort_stamps(profile);
	profile->start_ns = reading->found.start_ns;
	profile->end_ns = reading->found.end_ns;
	describe_events(&reading->events, &reading->found);
	*ret_found = reading->found;
	*ret_profile = TAKE_PTR(profile);
	return 0;
}

int store_reader_read(const char *folder, const struct store_selection *selection,
	size_t profile_bytes, struct profile **ret_profile, struct store_found *ret_found,
	struct fault *fault)
{
	struct reading reading = { .selection = selection };

	return read_with(folder, &reading, profile_bytes, ret_profile, ret_found, fault);
}

int store_reader_times(const char *folder, const struct store_selection *selection,
	size_t profile_bytes, store_time_function function, void *context,
	struct profile **ret_profile, struct store_found *ret_found, struct fault *fault)
{
	struct reading reading = {
		.selection = selection,
		.times = { .take = function, .context = context },
	};

	if (selection->spans)
		return fault_set(
			fault, -EINVAL, "samples of a trace or a span have no times; leave it out");
	return read_with(folder, &reading, profile_bytes, ret_profile, ret_found, fault);
}

int store_reader_rows(const char *folder, const struct store_selection *selection,
	size_t profile_bytes, store_row_function function, void *context,
	struct profile **ret_profile, struct fault *fault)
{
	struct reading reading = {
		.selection = selection,
		.take_row = function,
		.row_context = context,
	};
	struct store_found found;

	return read_with(folder, &reading, profile_bytes, ret_profile, &found, fault);
}
