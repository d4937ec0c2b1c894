/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_merge.h"

#include "base/array.h"

#include <errno.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>

enum { GAPS_BETWEEN_POLLS = 64 };

struct merged_stream {
	struct kmemtrace_stream *stream; /* owned */
	bool is_dry;			 /* a FIFO that had no more when last read */
};

struct kmemtrace_merge {
	struct merged_stream *streams;
	size_t count, capacity;
	struct pollfd *polls; /* one for each stream, and one for the stop */
	size_t poll_capacity;
	bool has_waited; /* no dry FIFO became readable when it last waited */
	unsigned gaps;	 /* since the dry FIFOs were last polled */
	bool has_next;
	int32_t next; /* the sequence number that continues the order */
	struct kmemtrace_merge_counters counters;
};

int kmemtrace_merge_new(struct kmemtrace_merge **ret_merge)
{
	struct kmemtrace_merge *merge = calloc(1, sizeof(*merge));

	if (!merge)
		return -ENOMEM;
	*ret_merge = merge;
	return 0;
}

void kmemtrace_merge_free(struct kmemtrace_merge *merge)
{
	if (!merge)
		return;
	for (size_t i = 0; i < merge->count; i++)
		kmemtrace_stream_free(merge->streams[i].stream);
	free(merge->streams);
	free(merge->polls);
	free(merge);
}

int kmemtrace_merge_add(struct kmemtrace_merge *merge, struct kmemtrace_stream *stream)
{
	int r = ARRAY_RESERVE(
		merge->streams, &merge->capacity, merge->count + 1, KMEMTRACE_STREAMS_MAX);

	if (r == 0)
		r = ARRAY_RESERVE(merge->polls, &merge->poll_capacity, merge->count + 2,
			KMEMTRACE_STREAMS_MAX + 1);
	if (r < 0) {
		kmemtrace_stream_free(stream);
		return r;
	}
	merge->streams[merge->count++] = (struct merged_stream){ .stream = stream };
	return 0;
}

static int fill(struct kmemtrace_merge *merge)
{
	for (size_t i = 0; i < merge->count; i++) {
		struct merged_stream *merged = &merge->streams[i];
		int r;

		if (merged->is_dry)
			continue;
		r = kmemtrace_stream_fill(merged->stream);
		if (r < 0 && r != -EAGAIN)
			return r;
		merged->is_dry = r == -EAGAIN;
	}
	return 0;
}

/* The stream with the least number ahead, or NULL. */
static struct kmemtrace_stream *least(const struct kmemtrace_merge *merge, bool *ret_has_dry)
{
	struct kmemtrace_stream *best = NULL;
	bool has_dry = false;

	for (size_t i = 0; i < merge->count; i++) {
		struct kmemtrace_stream *stream = merge->streams[i].stream;
		const struct kmemtrace_event *event = kmemtrace_stream_peek(stream);

		has_dry |= merge->streams[i].is_dry;
		if (event && (!best || kmemtrace_is_before(event->sequence,
					       kmemtrace_stream_peek(best)->sequence)))
			best = stream;
	}
	*ret_has_dry = has_dry;
	return best;
}

/* Waits for a dry FIFO. Returns 0 or -errno. */
static int wait_for_dry(struct kmemtrace_merge *merge, int stop_fd, int timeout_ms)
{
	size_t count = merge->count;
	int r;

	for (size_t i = 0; i < count; i++)
		merge->polls[i] = (struct pollfd){
			.fd = merge->streams[i].is_dry
				      ? kmemtrace_stream_fd(merge->streams[i].stream)
				      : -1,
			.events = POLLIN,
		};
	merge->polls[count] = (struct pollfd){ .fd = stop_fd, .events = POLLIN };
	r = poll(merge->polls, count + 1, timeout_ms);
	if (r < 0)
		return -errno;
	if (merge->polls[count].revents)
		return -EINTR;
	merge->has_waited = r == 0;
	merge->gaps = 0;
	for (size_t i = 0; i < count; i++)
		if (merge->polls[i].revents)
			merge->streams[i].is_dry = false;
	return 0;
}

/*
 * At a gap: has it waited for the dry FIFOs? Afterwards it looks at them now and then, since a busy
 * stream never makes it wait.
 */
static bool accepts_gap(struct kmemtrace_merge *merge)
{
	return merge->has_waited && merge->gaps++ < GAPS_BETWEEN_POLLS;
}

static bool continues(const struct kmemtrace_merge *merge, const struct kmemtrace_event *event)
{
	return merge->has_next && !kmemtrace_is_before(merge->next, event->sequence);
}

static void count(struct kmemtrace_merge *merge, const struct kmemtrace_event *event)
{
	struct kmemtrace_merge_counters *counters = &merge->counters;

	counters->events++;
	if (merge->has_next && kmemtrace_is_before(event->sequence, merge->next)) {
		counters->late++;
		if (counters->missing > 0)
			counters->missing--;
		return;
	}
	if (merge->has_next)
		counters->missing += (uint32_t)event->sequence - (uint32_t)merge->next;
	merge->has_next = true;
	merge->next = (int32_t)((uint32_t)event->sequence + 1);
}

int kmemtrace_merge_next(
	struct kmemtrace_merge *merge, int stop_fd, struct kmemtrace_event *ret_event)
{
	for (;;) {
		struct kmemtrace_stream *stream;
		bool has_dry;
		int r = fill(merge);

		if (r < 0)
			return r;
		stream = least(merge, &has_dry);
		if (stream && (!has_dry || continues(merge, kmemtrace_stream_peek(stream)) ||
				      accepts_gap(merge))) {
			*ret_event = *kmemtrace_stream_peek(stream);
			kmemtrace_stream_pop(stream);
			count(merge, ret_event);
			return 1;
		}
		if (!has_dry)
			return 0;
		r = wait_for_dry(merge, stop_fd,
			!stream		    ? -1
			: merge->has_waited ? 0
					    : KMEMTRACE_WAIT_MS);
		if (r < 0)
			return r;
	}
}

void kmemtrace_merge_counters(
	const struct kmemtrace_merge *merge, struct kmemtrace_merge_counters *ret_counters)
{
	*ret_counters = merge->counters;
}

const struct kmemtrace_stream *kmemtrace_merge_stream(
	const struct kmemtrace_merge *merge, size_t index)
{
	return index < merge->count ? merge->streams[index].stream : NULL;
}
