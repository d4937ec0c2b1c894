/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "query/timeline_parts.h"

#include "base/array.h"
#include "query/thread_group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	PARTS_MAX = 6,
	AMOUNTS_MAX = 1 << 20, /* 8 MiB: 2,400 distinct threads in the strip of a wide screen */
	KINDS = 2,
};

/* The rows are the kernel and the rest, or the threads of the profile. */
struct collecting {
	const struct timeline *timeline;
	enum timeline_by by;
	double *amounts; /* by row and bucket */
	size_t rows, capacity;
	uint64_t start_ns; /* of the last window, and its bucket */
	size_t bucket;
};

bool timeline_by_find(const char *name, enum timeline_by *ret_by)
{
	static const char *const names[] = {
		[TIMELINE_BY_KIND] = "kind",
		[TIMELINE_BY_UNIT] = "unit",
		[TIMELINE_BY_COMM] = "comm",
	};

	for (size_t i = TIMELINE_BY_KIND; i < ARRAY_SIZE(names); i++)
		if (strcmp(name, names[i]) == 0) {
			*ret_by = (enum timeline_by)i;
			return true;
		}
	return false;
}

/* The last bucket that begins at that time or before it: each begins with a window. */
static size_t find_bucket(const struct timeline *timeline, uint64_t start_ns)
{
	size_t low = 0, high = timeline->count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (timeline->buckets[middle].start_ns <= start_ns)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static int make_row(struct collecting *collecting, size_t row)
{
	const size_t buckets = collecting->timeline->count;
	int r = ARRAY_RESERVE(
		collecting->amounts, &collecting->capacity, (row + 1) * buckets, AMOUNTS_MAX);

	for (; r == 0 && collecting->rows <= row; collecting->rows++)
		memset(collecting->amounts + collecting->rows * buckets, 0,
			buckets * sizeof(*collecting->amounts));
	return r;
}

/* Threads that have no room are among the others. */
static int add_part(void *context, const struct store_row *read)
{
	struct collecting *collecting = context;
	const struct timeline *timeline = collecting->timeline;
	const size_t row = collecting->by == TIMELINE_BY_KIND ? !read->is_kernel : read->thread;
	int r;

	if (row >= AMOUNTS_MAX / timeline->count)
		return 0;
	if (read->start_ns != collecting->start_ns)
		collecting->bucket = find_bucket(timeline, read->start_ns);
	collecting->start_ns = read->start_ns;
	/* What lives is that of the bucket's last window, as in the whole. */
	if (timeline->source->is_live &&
		read->start_ns != timeline->buckets[collecting->bucket].last_ns)
		return 0;
	r = make_row(collecting, row);
	if (r == 0)
		collecting->amounts[row * timeline->count + collecting->bucket] +=
			(double)read->value_ns;
	return r;
}

static double sum(const double *amounts, size_t count)
{
	double total = 0;

	for (size_t i = 0; i < count; i++)
		total += amounts[i];
	return total;
}

/* Threads of one group become its first one's row. */
static int merge_groups(struct collecting *collecting, const struct profile *profile)
{
	const size_t buckets = collecting->timeline->count;
	_cleanup_free_ double **firsts = calloc(profile->strings.count, sizeof(*firsts));

	if (!firsts)
		return -ENOMEM;
	for (size_t i = 0; i < collecting->rows; i++) {
		double *amounts = collecting->amounts + i * buckets;
		double **first = &firsts[profile->threads.items[i].comm];

		for (size_t j = 0; *first && j < buckets; j++) {
			(*first)[j] += amounts[j];
			amounts[j] = 0;
		}
		if (!*first)
			*first = amounts;
	}
	return 0;
}

static const char *name_of(
	const struct collecting *collecting, const struct profile *profile, size_t row)
{
	static const char *const kinds[KINDS] = { "kernel", "user" };

	return collecting->by == TIMELINE_BY_KIND
		       ? kinds[row]
		       : string_pool_get(&profile->strings, profile->threads.items[row].comm);
}

/* Takes the greatest row that is left. */
static int take_greatest(struct collecting *collecting, const struct profile *profile, double unit,
	struct timeline *timeline)
{
	const size_t buckets = timeline->count;
	struct timeline_part *part = &timeline->parts[timeline->part_count];
	double most = 0, *amounts = NULL;

	for (size_t i = 0; i < collecting->rows; i++) {
		double total = sum(collecting->amounts + i * buckets, buckets);

		if (total <= most)
			continue;
		most = total;
		amounts = collecting->amounts + i * buckets;
		part->name = name_of(collecting, profile, i);
	}
	if (!amounts)
		return 0;
	part->amounts = calloc(buckets, sizeof(*part->amounts));
	if (!part->amounts)
		return -ENOMEM;
	for (size_t i = 0; i < buckets; i++)
		part->amounts[i] = amounts[i] * unit;
	memset(amounts, 0, buckets * sizeof(*amounts));
	timeline->part_count++;
	return 0;
}

int timeline_read_parts(const char *folder, const struct store_selection *asked,
	enum timeline_by by, size_t bytes, struct timeline *timeline, struct fault *fault)
{
	const double unit = timeline_is_of_time(timeline->source) ? 1e-9 : 1;
	struct collecting collecting = { .timeline = timeline, .by = by };
	struct store_selection selection = *asked;
	int r = 0;

	selection.merges_threads = true;
	timeline->parts = calloc(PARTS_MAX, sizeof(*timeline->parts));
	if (!timeline->parts)
		return -ENOMEM;
	if (timeline->count > 0)
		r = store_reader_rows(
			folder, &selection, bytes, add_part, &collecting, &timeline->names, fault);
	if (r == 0 && collecting.rows > 0 && by != TIMELINE_BY_KIND) {
		r = thread_group_name(timeline->names,
			by == TIMELINE_BY_UNIT ? THREAD_GROUP_UNIT : THREAD_GROUP_COMM);
		if (r == 0)
			r = merge_groups(&collecting, timeline->names);
	}
	for (int i = 0; r == 0 && i < PARTS_MAX; i++)
		r = take_greatest(&collecting, timeline->names, unit, timeline);
	free(collecting.amounts);
	return r;
}
