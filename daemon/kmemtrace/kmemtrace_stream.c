/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_stream.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BUFFER_BYTES = 4 * (PILOTLIGHT_KMEMTRACE_SIZE_MAX + 1) };

struct kmemtrace_stream {
	int fd;
	char *name;
	bool has_all; /* the file has ended, or what follows is no event */
	bool is_damaged;
	uint64_t offset; /* of the first byte in the buffer that is not parsed */
	size_t at, end;	 /* bytes of the buffer that are not parsed */
	size_t ahead_count;
	struct kmemtrace_event ahead[KMEMTRACE_AHEAD]; /* a heap, the least first */
	unsigned char buffer[BUFFER_BYTES];
};

int kmemtrace_stream_new(int fd, const char *name, struct kmemtrace_stream **ret_stream)
{
	_cleanup_(kmemtrace_stream_freep) struct kmemtrace_stream *stream =
		calloc(1, sizeof(*stream));

	if (!stream) {
		(void)close(fd);
		return -ENOMEM;
	}
	stream->fd = fd;
	stream->name = strdup(name);
	if (!stream->name)
		return -ENOMEM;
	*ret_stream = TAKE_PTR(stream);
	return 0;
}

void kmemtrace_stream_free(struct kmemtrace_stream *stream)
{
	if (!stream)
		return;
	(void)close(stream->fd);
	free(stream->name);
	free(stream);
}

static bool is_less(const struct kmemtrace_stream *stream, size_t a, size_t b)
{
	return kmemtrace_is_before(stream->ahead[a].sequence, stream->ahead[b].sequence);
}

static void swap(struct kmemtrace_stream *stream, size_t a, size_t b)
{
	struct kmemtrace_event event = stream->ahead[a];

	stream->ahead[a] = stream->ahead[b];
	stream->ahead[b] = event;
}

static void push(struct kmemtrace_stream *stream, const struct kmemtrace_event *event)
{
	size_t at = stream->ahead_count++;

	stream->ahead[at] = *event;
	while (at > 0 && is_less(stream, at, (at - 1) / 2)) {
		swap(stream, at, (at - 1) / 2);
		at = (at - 1) / 2;
	}
}

void kmemtrace_stream_pop(struct kmemtrace_stream *stream)
{
	size_t at = 0;

	stream->ahead[0] = stream->ahead[--stream->ahead_count];
	for (;;) {
		size_t least = at, child = 2 * at + 1;

		if (child < stream->ahead_count && is_less(stream, child, least))
			least = child;
		if (child + 1 < stream->ahead_count && is_less(stream, child + 1, least))
			least = child + 1;
		if (least == at)
			return;
		swap(stream, at, least);
		at = least;
	}
}

/* Parses until the look-ahead is full or the buffer has no whole event. */
static void parse(struct kmemtrace_stream *stream)
{
	struct kmemtrace_event event;

	while (stream->ahead_count < KMEMTRACE_AHEAD) {
		int size = kmemtrace_event_parse(
			stream->buffer + stream->at, stream->end - stream->at, &event);

		if (size < 0)
			stream->has_all = stream->is_damaged = true;
		if (size <= 0)
			return;
		push(stream, &event);
		stream->at += (size_t)size;
		stream->offset += (size_t)size;
	}
}

/* A FIFO that no writer has opened yet reads as ended, but has not hung up. */
static bool lacks_writer(int fd)
{
	struct pollfd poll_fd = { .fd = fd };
	struct stat status;

	if (fstat(fd, &status) < 0 || !S_ISFIFO(status.st_mode))
		return false;
	return poll(&poll_fd, 1, 0) == 0;
}

/* Returns the number of bytes read, or -errno. */
static ssize_t read_more(struct kmemtrace_stream *stream)
{
	size_t left = stream->end - stream->at;
	ssize_t n;

	memmove(stream->buffer, stream->buffer + stream->at, left);
	stream->at = 0;
	stream->end = left;
	n = read(stream->fd, stream->buffer + left, sizeof(stream->buffer) - left);
	if (n < 0)
		return -errno;
	stream->end += (size_t)n;
	return n;
}

int kmemtrace_stream_fill(struct kmemtrace_stream *stream)
{
	parse(stream);
	while (!stream->has_all && stream->ahead_count < KMEMTRACE_AHEAD) {
		ssize_t n = read_more(stream);

		if (n == -EINTR)
			continue;
		if (n < 0)
			return (int)n;
		if (n == 0 && lacks_writer(stream->fd))
			return -EAGAIN;
		if (n == 0) {
			stream->has_all = true;
			stream->is_damaged = stream->end > stream->at;
			return 0;
		}
		parse(stream);
	}
	return 0;
}

const struct kmemtrace_event *kmemtrace_stream_peek(const struct kmemtrace_stream *stream)
{
	return stream->ahead_count > 0 ? &stream->ahead[0] : NULL;
}

bool kmemtrace_stream_has_ended(const struct kmemtrace_stream *stream)
{
	return stream->has_all && stream->ahead_count == 0;
}

bool kmemtrace_stream_is_damaged(const struct kmemtrace_stream *stream, uint64_t *ret_offset)
{
	if (stream->is_damaged)
		*ret_offset = stream->offset;
	return stream->is_damaged;
}

int kmemtrace_stream_fd(const struct kmemtrace_stream *stream)
{
	return stream->fd;
}

const char *kmemtrace_stream_name(const struct kmemtrace_stream *stream)
{
	return stream->name;
}
