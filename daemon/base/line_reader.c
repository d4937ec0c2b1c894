/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/line_reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int line_reader_init(struct line_reader *reader, int fd, size_t line_bytes_max, size_t limit_bytes)
{
	char *buffer = malloc(line_bytes_max + 1);

	if (!buffer)
		return -ENOMEM;
	*reader = (struct line_reader){
		.fd = fd,
		.buffer = buffer,
		.capacity = line_bytes_max + 1,
		.remaining_bytes = limit_bytes,
	};
	return 0;
}

void line_reader_done(struct line_reader *reader)
{
	free(reader->buffer);
	*reader = (struct line_reader){ .fd = -1, .is_at_end = true };
}

/* Reads more behind what is there. The buffer has room, or what is there is a line too long. */
static int fill(struct line_reader *reader)
{
	ssize_t size;

	if (reader->start > 0) {
		memmove(reader->buffer, reader->buffer + reader->start,
			reader->end - reader->start);
		reader->end -= reader->start;
		reader->start = 0;
	}
	if (reader->end == reader->capacity)
		reader->is_skipping = true;
	if (reader->is_skipping)
		reader->end = 0;
	do
		size = read(
			reader->fd, reader->buffer + reader->end, reader->capacity - reader->end);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	if ((size_t)size > reader->remaining_bytes)
		return -E2BIG;
	reader->remaining_bytes -= (size_t)size;
	reader->end += (size_t)size;
	reader->is_at_end = size == 0;
	return 0;
}

int line_reader_next(struct line_reader *reader, const char **ret_line, size_t *ret_size)
{
	size_t searched = 0;

	for (;;) {
		char *first = reader->buffer + reader->start;
		size_t size = reader->end - reader->start;
		char *newline =
			size > searched ? memchr(first + searched, '\n', size - searched) : NULL;
		bool was_skipping = reader->is_skipping;
		int r;

		if (newline || (reader->is_at_end && size > 0)) {
			*ret_size = newline ? (size_t)(newline - first) : size;
			*ret_line = first;
			reader->start += *ret_size + (newline ? 1 : 0);
			reader->is_skipping = false;
			searched = 0;
			if (!was_skipping)
				return 1;
			continue;
		}
		if (reader->is_at_end)
			return 0;
		r = fill(reader);
		if (r < 0)
			return r;
		searched = reader->is_skipping ? 0 : size;
	}
}
