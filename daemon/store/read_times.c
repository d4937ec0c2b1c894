/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cuts windows by the times of their samples, or hands these times on. */
#include "base/array.h"
#include "store/reading.h"

#include <errno.h>

enum {
	SPANS_PENDING_MAX = 1 << 14,
	/* Of a window, with one more for each row: writers have fewer. */
	DECODED_MAX = 1 << 21,
};

static bool is_cut(const struct store_selection *selection, const struct read_window *window)
{
	return selection->is_exact &&
	       (window->start_ns < selection->start_ns || window->end_ns > selection->end_ns);
}

/* Of the reading's rows, before any of the thread's is changed. */
static int begin_thread(struct reading *reading, const struct window_row *row)
{
	const struct window_row *end = reading->rows.items + reading->rows.count;
	const uint32_t thread = row->thread;
	uint64_t counts = 0;

	for (; row < end && row->thread == thread; row++)
		if (__builtin_add_overflow(counts, row->count, &counts))
			return -EBADMSG;
	return times_reader_begin_thread(&reading->times.reader, counts);
}

static int keep_row(struct time_reading *times)
{
	struct row_times *all = &times->all;
	int r = ARRAY_RESERVE(
		all->items, &all->capacity, all->count + 1 + times->decoded.count, DECODED_MAX);

	if (r < 0)
		return r == -E2BIG ? -EBADMSG : r;
	all->items[all->count++] = (struct row_time){ .count = times->decoded.count };
	for (size_t i = 0; i < times->decoded.count; i++)
		all->items[all->count++] = times->decoded.items[i];
	return 0;
}

static int decode_row(struct reading *reading, const struct window_row *row)
{
	struct time_reading *times = &reading->times;
	int r = 0;

	if (times->is_by_thread) {
		r = times_reader_next_thread(&times->reader, row->count, &times->decoded);
		return r == 0 ? keep_row(times) : r;
	}
	if (row == reading->rows.items || row[-1].thread != row->thread)
		r = begin_thread(reading, row);
	if (r == 0)
		r = times_reader_next(&times->reader, row, &times->decoded);
	if (r == 0)
		r = keep_row(times);
	return r == 0 ? times_reader_next_spans(&times->reader, row, &times->spans) : r;
}

/* A row for each thread. Too many counts are damage to the times. */
static void merge_rows(struct window_rows *rows)
{
	struct window_row *last = rows->items;

	for (size_t i = 1; i < rows->count; i++) {
		const struct window_row *row = &rows->items[i];

		if (row->thread != last->thread)
			*++last = *row;
		else if (__builtin_add_overflow(last->count, row->count, &last->count))
			last->count = UINT64_MAX;
	}
	if (rows->count > 0)
		rows->count = (size_t)(last - rows->items) + 1;
}

/* Reads them to their end first: half of a damaged window's rows must not count. Times are kept,
 * since decoding takes long; spans are read again. */
static int open_checked(struct reading *reading, const void *blob, size_t size)
{
	struct time_reading *times = &reading->times;
	struct times_reader *reader = &times->reader;
	int r = times_reader_init(reader, blob, size);
	const struct column_reader columns = reader->columns;

	times->all.count = times->next = 0;
	/* Whose code it was is asked only if a binary is selected. */
	times->is_by_thread = r == 0 && reader->has_threads && times->take &&
			      !reading->parts[DAY_STACKS].node_is_wanted;
	if (times->is_by_thread)
		merge_rows(&reading->rows);
	for (size_t i = 0; r == 0 && i < reading->rows.count; i++)
		r = decode_row(reading, &reading->rows.items[i]);
	if (r == 0)
		r = times->is_by_thread ? times_reader_finish_threads(reader)
					: times_reader_finish(reader);
	reader->columns = columns;
	return r;
}

static int next_row(struct reading *reading, const struct window_row *row)
{
	struct time_reading *times = &reading->times;
	struct row_time *head = &times->all.items[times->next];

	times->row = (struct row_times){ .items = head + 1, .count = head->count };
	times->next += 1 + times->row.count;
	if (times->is_by_thread)
		return 0;
	return times_reader_next_spans(&times->reader, row, &times->spans);
}

int reading_open_times(struct reading *reading, const struct read_body *body)
{
	struct time_reading *times = &reading->times;
	const void *blob;
	size_t size;
	int r;

	times_reader_done(&times->reader);
	times->has_reader = false;
	times->kept = 0;
	times->slice_ns = PROFILE_SLICE_NS;
	times->is_cut = !body->is_fold && is_cut(reading->selection, body->window);
	if (!reading_needs_times(reading))
		return 0;
	r = day_database_get_times(
		reading->database, body->window->id, &blob, &size, reading->fault);
	if (r < 0 || !blob)
		return r;
	r = open_checked(reading, blob, size);
	if (r == -EBADMSG || r == -EPROTONOSUPPORT) {
		reading->is_damaged = true;
		return 0;
	}
	if (r < 0)
		return r;
	times->has_reader = true;
	times->slice_ns = times->reader.slice_ns;
	times->slices_ns = body->window->start_ns - body->window->start_ns % times->slice_ns;
	return 0;
}

static bool selects_by_times(const struct reading *reading)
{
	return reading->times.is_cut || reading->times.take;
}

bool reading_needs_times(const struct reading *reading)
{
	return selects_by_times(reading) || reading->selection->spans ||
	       reading->selection->takes_spans || reading->selection->takes_times;
}

bool reading_lacks_times(const struct reading *reading)
{
	return (selects_by_times(reading) || reading->selection->spans) &&
	       !reading->times.has_reader;
}

static uint64_t value_of(uint64_t count, uint64_t period_ns)
{
	uint64_t value;

	return __builtin_mul_overflow(count, period_ns, &value) ? UINT64_MAX : value;
}

static void add_value(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

/* A slice is selected if a part of it is. */
static bool is_selected(const struct reading *reading, uint64_t start_ns)
{
	const struct store_selection *selection = reading->selection;

	return start_ns < selection->end_ns &&
	       start_ns + reading->times.slice_ns > selection->start_ns;
}

/* Returns how many counts have a selected time; `ret_timed`: have a time. */
static uint64_t take_row(
	struct reading *reading, const struct read_window *window, uint64_t *ret_timed)
{
	struct time_reading *times = &reading->times;
	uint64_t kept = 0, timed = 0;

	for (size_t i = 0; i < times->row.count; i++) {
		const struct row_time *time = &times->row.items[i];
		uint64_t start_ns = times->slices_ns + time->slice * times->slice_ns;

		timed += time->count;
		if (!is_selected(reading, start_ns))
			continue;
		kept += time->count;
		if (times->take)
			times->take(times->context, start_ns, times->slice_ns,
				value_of(time->count, window->period_ns));
	}
	*ret_timed = timed;
	return kept;
}

/* Returns how many counts are of the selected spans. */
static uint64_t take_spans(const struct reading *reading)
{
	const struct time_reading *times = &reading->times;
	uint64_t kept = 0;

	for (size_t i = 0; i < times->spans.count; i++) {
		const struct row_span *span = &times->spans.items[i];

		if (span_choice_takes(reading->selection->spans, &times->reader.ids[span->span]))
			kept += span->count;
	}
	return kept;
}

int reading_take_times(struct reading *reading, const struct read_window *window,
	struct window_row *row, bool is_wanted)
{
	struct time_reading *times = &reading->times;
	uint64_t kept = 0, timed = 0;
	int r = 0;

	if (times->has_reader)
		r = next_row(reading, row);
	if (r < 0 || !is_wanted)
		return r;
	if (reading->selection->spans) {
		row->count = take_spans(reading);
		return 0;
	}
	if (!selects_by_times(reading))
		return 0;
	if (times->has_reader)
		kept = take_row(reading, window, &timed);
	add_value(&reading->found.timed_ns, value_of(kept, window->period_ns));
	add_value(&reading->found.untimed_ns, value_of(row->count - timed, window->period_ns));
	times->kept += kept;
	row->count = times->take ? 0 : kept;
	return 0;
}

/* The window began after its first slice did, and its last may end after it. */
static uint64_t time_in_window(uint64_t start_ns, const struct read_window *window)
{
	if (start_ns < window->start_ns)
		return window->start_ns;
	return start_ns < window->end_ns ? start_ns : window->end_ns - 1;
}

static int take_stamps(struct reading *reading, const struct read_window *window,
	const struct window_row *row, uint32_t thread)
{
	const struct time_reading *times = &reading->times;
	struct pending_spans *pending = &reading->spans;
	int r = ARRAY_RESERVE(pending->items, &pending->capacity, pending->count + times->row.count,
		SPANS_PENDING_MAX);

	for (size_t i = 0; r == 0 && i < times->row.count; i++) {
		const struct row_time *time = &times->row.items[i];
		const uint64_t start_ns = times->slices_ns + time->slice * times->slice_ns;

		if (!times->is_cut || is_selected(reading, start_ns))
			pending->items[pending->count++] = (struct pending_span){
				.time_ns = time_in_window(start_ns, window),
				.value = value_of(time->count, window->period_ns),
				.thread = thread,
				.node = row->node,
			};
	}
	return r;
}

int reading_take_spans(struct reading *reading, const struct read_window *window,
	const struct window_row *row, uint32_t thread)
{
	const struct store_selection *selection = reading->selection;
	const struct time_reading *times = &reading->times;
	struct pending_spans *pending = &reading->spans;
	int r = 0;

	if (selection->takes_times)
		return times->has_reader ? take_stamps(reading, window, row, thread) : 0;
	/* Which of the counts in a part of a window are of a span is not known. */
	if (!selection->takes_spans || !times->has_reader || selects_by_times(reading))
		return 0;
	r = ARRAY_RESERVE(pending->items, &pending->capacity, pending->count + times->spans.count,
		SPANS_PENDING_MAX);
	for (size_t i = 0; r == 0 && i < times->spans.count; i++) {
		const struct row_span *span = &times->spans.items[i];
		const struct pilotlight_thread_context *ids = &times->reader.ids[span->span];

		if (!selection->spans || span_choice_takes(selection->spans, ids))
			pending->items[pending->count++] = (struct pending_span){
				.ids = *ids,
				.value = value_of(span->count, window->period_ns),
				.thread = thread,
				.node = row->node,
			};
	}
	return r;
}
