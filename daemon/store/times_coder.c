/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "store/times_coder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	LEVELS = 14, /* of magnitude; larger ones share the last */
	GAP_CLASSES = 7,
	COUNT_CLASSES = 3,
	NEAR_CLASSES = 3, /* of gaps, for counts */
	ROOM_CLASSES = 14,
	/* Slices of threads and of rows in total: bytes do not bound them. A minute of 128 CPUs at
	 * 99 Hz has fewer. */
	WORK_MAX = 1 << 21,
};

/* The chances of a number's magnitude, and of its second bit. */
struct number_model {
	struct coded_bit more[LEVELS], upper[LEVELS];
};

struct times_coder {
	struct range_coder range, own_rows;
	struct range_coder *rows; /* of what there is per row: own_rows, or range in version 2 */
	uint16_t *used;		  /* slices, ascending */
	size_t used_count, work;

	/* Of the thread, what no row has taken yet. */
	struct row_times slots;
	uint64_t left, untimed_left;
	size_t cursor; /* among slots: where the last row began */
	size_t first;  /* the thread's first slice among those used */

	struct coded_bit is_earlier;
	struct number_model used_gap, earlier, later, untimed, row_untimed, taken;
	struct number_model gaps[GAP_CLASSES][COUNT_CLASSES];
	struct number_model counts[COUNT_CLASSES][NEAR_CLASSES];
	struct number_model picks[2][ROOM_CLASSES];
};

static size_t at_most(size_t value, size_t most)
{
	return value < most ? value : most;
}

static unsigned int bits_of(uint64_t value)
{
	return value > 0 ? 64 - (unsigned int)__builtin_clzll(value) : 0;
}

/* Codes a value below the limit, which takes no space below 1. */
static uint64_t code_number(
	struct range_coder *range, struct number_model *model, uint64_t limit, uint64_t value)
{
	uint64_t low, high;
	unsigned int level = 0;

	if (limit <= 1)
		return 0;
	value++;
	while (level + 1 < bits_of(limit) &&
		range_coder_bit(
			range, &model->more[at_most(level, LEVELS - 1)], value >> level > 1))
		level++;
	low = 1ULL << level;
	high = 2 * low - 1 < limit ? 2 * low - 1 : limit;
	if (high - low >= low / 2 && level > 0) {
		const uint64_t middle = low + low / 2;

		if (range_coder_bit(
			    range, &model->upper[at_most(level, LEVELS - 1)], value >= middle))
			low = middle;
		else
			high = middle - 1;
	}
	return low + range_coder_below(range, high - low + 1, value - low) - 1;
}

/* At least one. Each leaves room for those that follow. */
static void code_used(struct times_coder *coder)
{
	uint32_t next = 0;

	for (size_t i = 0; i < coder->used_count; i++) {
		const size_t following = coder->used_count - i - 1;

		next += (uint32_t)code_number(&coder->range, &coder->used_gap,
			TIMES_SLICE_MAX - next - following, (uint64_t)coder->used[i] - next);
		coder->used[i] = (uint16_t)next++;
	}
}

static int new_coder(size_t count, struct times_coder **ret_coder)
{
	_cleanup_(times_coder_freep) struct times_coder *coder = calloc(1, sizeof(*coder));

	if (!coder)
		return -ENOMEM;
	coder->used = calloc(count, sizeof(*coder->used));
	if (!coder->used)
		return -ENOMEM;
	coder->used_count = count;
	*ret_coder = TAKE_PTR(coder);
	return 0;
}

int times_coder_new_writer(struct column_writer *to, unsigned int column,
	const struct times_used *used, struct times_coder **ret_coder)
{
	_cleanup_(times_coder_freep) struct times_coder *coder = NULL;
	size_t count = 0;
	int r;

	for (size_t i = 0; i < sizeof(used->bits); i++)
		count += (size_t)__builtin_popcount(used->bits[i]);
	assert(count > 0);
	r = new_coder(count, &coder);
	if (r < 0)
		return r;
	count = 0;
	for (uint32_t slice = 0; slice < TIMES_SLICE_MAX; slice++)
		if (used->bits[slice / 8] & 1 << slice % 8)
			coder->used[count++] = (uint16_t)slice;
	range_coder_init_writer(&coder->range, to, column);
	range_coder_init_writer(&coder->own_rows, to, column + 1);
	coder->rows = &coder->own_rows;
	(void)range_coder_below(&coder->range, TIMES_SLICE_MAX, count - 1);
	code_used(coder);
	*ret_coder = TAKE_PTR(coder);
	return 0;
}

int times_coder_new_reader(const uint8_t *bytes, size_t size, const uint8_t *row_bytes,
	size_t row_size, struct times_coder **ret_coder)
{
	_cleanup_(times_coder_freep) struct times_coder *coder = NULL;
	struct range_coder range;
	size_t count;
	int r;

	range_coder_init_reader(&range, bytes, size);
	count = (size_t)range_coder_below(&range, TIMES_SLICE_MAX, 0) + 1;
	if (range.is_damaged)
		return -EBADMSG;
	r = new_coder(count, &coder);
	if (r < 0)
		return r;
	coder->slots.capacity = at_most(count, ROW_TIMES_MAX);
	coder->slots.items = reallocarray(NULL, coder->slots.capacity, sizeof(*coder->slots.items));
	if (!coder->slots.items)
		return -ENOMEM;
	coder->range = range;
	coder->rows = &coder->range;
	if (row_bytes) {
		coder->rows = &coder->own_rows;
		range_coder_init_reader(coder->rows, row_bytes, row_size);
	}
	code_used(coder);
	*ret_coder = TAKE_PTR(coder);
	return 0;
}

void times_coder_free(struct times_coder *coder)
{
	if (!coder)
		return;
	free(coder->used);
	free(coder->slots.items);
	free(coder);
}

size_t times_coder_bytes(const struct times_coder *coder)
{
	return sizeof(*coder) + coder->used_count * sizeof(*coder->used) +
	       coder->slots.capacity * sizeof(*coder->slots.items);
}

void times_coder_finish_writing(struct times_coder *coder)
{
	range_coder_finish_writing(&coder->range);
	range_coder_finish_writing(coder->rows);
}

bool times_coder_is_whole(const struct times_coder *coder)
{
	return times_coder_has_whole_threads(coder) && range_coder_is_whole(coder->rows);
}

bool times_coder_has_whole_threads(const struct times_coder *coder)
{
	return coder->left == 0 && coder->untimed_left == 0 && range_coder_is_whole(&coder->range);
}

/* The position of a slice among those used. A reader's is ignored. */
static size_t find_used(const struct times_coder *coder, uint32_t slice)
{
	size_t first = 0, count = coder->range.is_reader ? 0 : coder->used_count;

	while (count > 0) {
		const size_t half = count / 2;

		if (coder->used[first + half] < slice) {
			first += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return first;
}

static size_t code_first(struct times_coder *coder, size_t position)
{
	const size_t before = coder->first;
	bool is_earlier = position < before;

	if (before > 0)
		is_earlier = range_coder_bit(&coder->range, &coder->is_earlier, is_earlier);
	else
		is_earlier = false;
	if (is_earlier)
		return before - 1 -
		       code_number(&coder->range, &coder->earlier, before, before - 1 - position);
	return before + code_number(&coder->range, &coder->later, coder->used_count - before,
				position - before);
}

/* The slices of a thread, whose counts are all that are left. */
static int code_slots(struct times_coder *coder)
{
	struct row_times *slots = &coder->slots;
	size_t position = 0, gap_class = 0, count_class = 0;
	uint64_t open = coder->left;

	for (size_t i = 0; open > 0; i++) {
		struct row_time slot = { 0 };
		size_t wanted;

		if (!coder->range.is_reader)
			slot = slots->items[i];
		wanted = find_used(coder, slot.slice);
		if (i == 0) {
			coder->first = position = code_first(coder, wanted);
		} else {
			const size_t gap = (size_t)code_number(&coder->range,
				&coder->gaps[gap_class][count_class],
				coder->used_count - position - 1, wanted - position - 1);

			position += gap + 1;
			gap_class = at_most(bits_of(gap + 1), GAP_CLASSES - 1);
		}
		/* The last slice has what is left. */
		if (position + 1 < coder->used_count)
			slot.count = 1 + code_number(&coder->range,
						 &coder->counts[count_class][at_most(
							 gap_class, NEAR_CLASSES - 1)],
						 open, slot.count - 1);
		else
			slot.count = open;
		count_class = (size_t)at_most(slot.count, COUNT_CLASSES - 1);
		open -= slot.count;
		if (++coder->work > WORK_MAX)
			return -E2BIG;
		if (!coder->range.is_reader)
			continue;
		slot.slice = coder->used[position];
		if (slots->count == slots->capacity)
			return -E2BIG;
		slots->items[slots->count++] = slot;
	}
	return 0;
}

int times_coder_thread(struct times_coder *coder, uint64_t counts, struct row_times *times)
{
	uint64_t timed = 0;

	if (coder->left > 0 || coder->untimed_left > 0 || counts > INT64_MAX)
		return -EBADMSG;
	if (times) {
		const struct row_times empty = coder->slots;

		coder->slots = *times;
		*times = empty;
		times->count = 0;
		for (size_t i = 0; i < coder->slots.count; i++)
			timed += coder->slots.items[i].count;
		assert(timed <= counts);
	} else {
		coder->slots.count = 0;
	}
	coder->untimed_left =
		code_number(&coder->range, &coder->untimed, counts + 1, counts - timed);
	coder->left = counts - coder->untimed_left;
	coder->cursor = 0;
	if (coder->left > TIMES_COUNT_MAX)
		return -E2BIG;
	return code_slots(coder);
}

const struct row_times *times_coder_skip_rows(struct times_coder *coder)
{
	assert(coder->rows != &coder->range);
	coder->left = coder->untimed_left = 0;
	return &coder->slots;
}

/*
 * Slots before `end` that a row has emptied. Those behind move over them when the next one is
 * emptied, and at the row's end: moving all for each one took a third of the time. find_slot() does
 * not mind, since a row passes a slot once: all that it has passed are on one side of what it looks
 * for.
 */
struct gap {
	size_t end, size;
};

static void move_slots(struct row_times *slots, struct gap *gap, size_t until)
{
	if (gap->size > 0)
		memmove(&slots->items[gap->end - gap->size], &slots->items[gap->end],
			(until - gap->end) * sizeof(*slots->items));
	gap->end = until;
}

static void close_gap(struct row_times *slots, struct gap *gap)
{
	move_slots(slots, gap, slots->count);
	slots->count -= gap->size;
	*gap = (struct gap){ 0 };
}

/* Removes what a row takes from a slot. */
static void take(struct times_coder *coder, size_t at, uint64_t count, struct gap *gap)
{
	struct row_time *slot = &coder->slots.items[at];

	slot->count -= count;
	coder->left -= count;
	if (slot->count > 0)
		return;
	move_slots(&coder->slots, gap, at);
	gap->end = at + 1;
	gap->size++;
}

/* The first slot that is not before a slice. */
static size_t find_slot(const struct row_times *slots, uint32_t slice)
{
	size_t first = 0, count = slots->count;

	while (count > 0) {
		const size_t half = count / 2;

		if (slots->items[first + half].slice < slice) {
			first += half + 1;
			count -= half + 1;
		} else {
			count = half;
		}
	}
	return first;
}

/* Codes which counts of the slots a row takes, around from the cursor on. */
static int code_picks(struct times_coder *coder, uint64_t timed, const struct slice_shift *shift,
	struct row_times *times)
{
	struct row_times *slots = &coder->slots;
	size_t at = coder->cursor, room = slots->count, next = 0;
	const bool is_reader = coder->range.is_reader;
	bool is_later = false, is_around = false; /* before the row's first slot */
	struct gap gap = { 0 };

	if (!is_reader)
		next = find_slot(times, slots->items[at].slice);
	for (; timed > 0; is_later = true) {
		struct row_time picked = { 0 };
		size_t distance = 0, room_class = 0;
		int r;

		if (room == 0)
			return -EBADMSG;
		if (!is_reader) {
			picked = times->items[next < times->count ? next : next - times->count];
			next++;
			distance = find_slot(slots, picked.slice) + slots->count - at;
			if (distance >= slots->count)
				distance -= slots->count;
		}
		if (timed < room)
			room_class = at_most(bits_of(room / timed), ROOM_CLASSES - 1);
		distance = (size_t)code_number(
			coder->rows, &coder->picks[is_later][room_class], room, distance);
		room -= distance + 1;
		at += distance;
		if (at >= slots->count) {
			at -= slots->count;
			is_around = is_later;
			close_gap(slots, &gap);
		}
		if (!is_later)
			coder->cursor = at;
		picked.slice = slots->items[at].slice;
		picked.count =
			1 + code_number(coder->rows, &coder->taken,
				    slots->items[at].count < timed ? slots->items[at].count : timed,
				    picked.count - 1);
		timed -= picked.count;
		take(coder, at++, picked.count, &gap);
		if (++coder->work > WORK_MAX)
			return -E2BIG;
		r = is_reader ? row_times_add_shifted(times, picked.slice, picked.count, shift) : 0;
		if (r < 0)
			return r;
	}
	if (is_around)
		coder->cursor -= gap.size;
	close_gap(slots, &gap);
	if (coder->cursor >= slots->count)
		coder->cursor = 0;
	return 0;
}

/* A row takes all that are left. */
static int take_all(
	struct times_coder *coder, const struct slice_shift *shift, struct row_times *times)
{
	int r = 0;

	for (size_t i = 0; coder->range.is_reader && r == 0 && i < coder->slots.count; i++)
		r = row_times_add_shifted(
			times, coder->slots.items[i].slice, coder->slots.items[i].count, shift);
	coder->left = 0;
	return r;
}

int times_coder_row(struct times_coder *coder, uint64_t counts, const struct slice_shift *shift,
	struct row_times *times)
{
	uint64_t timed = 0, untimed;

	for (size_t i = 0; !coder->range.is_reader && i < times->count; i++)
		timed += times->items[i].count;
	untimed = code_number(coder->rows, &coder->row_untimed,
		1 + (counts < coder->untimed_left ? counts : coder->untimed_left), counts - timed);
	timed = counts - untimed;
	if (timed > coder->left)
		return -EBADMSG;
	coder->untimed_left -= untimed;
	if (timed == 0)
		return 0;
	return timed < coder->left ? code_picks(coder, timed, shift, times)
				   : take_all(coder, shift, times);
}
