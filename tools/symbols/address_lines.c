/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/address_lines.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

void address_lines_init(struct address_lines *lines, int fd)
{
	lines->fd = fd;
	lines->start = lines->end = 0;
	lines->count = 0;
	lines->is_skipping = lines->is_at_end = false;
}

/* The first line of the buffer, if it is complete or of the maximum length. */
static bool find_line(const struct address_lines *lines, const char **ret_line, size_t *ret_size,
	size_t *ret_taken)
{
	const char *first = lines->buffer + lines->start;
	size_t size = lines->end - lines->start;
	const char *newline = size > 0 ? memchr(first, '\n', size) : NULL;
	size_t length = newline ? (size_t)(newline - first) : size;

	if (!newline && size < ADDRESS_LINE_BYTES_MAX && !(lines->is_at_end && size > 0))
		return false;
	*ret_line = first;
	*ret_size = length < ADDRESS_LINE_BYTES_MAX ? length : ADDRESS_LINE_BYTES_MAX;
	*ret_taken = length + (newline ? 1 : 0);
	return true;
}

/* Drops the rest of a long line from the buffer. */
static void skip(struct address_lines *lines)
{
	const char *first = lines->buffer + lines->start;
	size_t size = lines->end - lines->start;
	const char *newline = size > 0 ? memchr(first, '\n', size) : NULL;

	lines->start = newline ? (size_t)(newline + 1 - lines->buffer) : lines->end;
	lines->is_skipping = !newline;
}

static int fill(struct address_lines *lines)
{
	ssize_t size;

	memmove(lines->buffer, lines->buffer + lines->start, lines->end - lines->start);
	lines->end -= lines->start;
	lines->start = 0;
	do
		size = read(
			lines->fd, lines->buffer + lines->end, sizeof(lines->buffer) - lines->end);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	lines->end += (size_t)size;
	lines->is_at_end = size == 0;
	if (lines->is_skipping)
		skip(lines);
	return 0;
}

bool address_lines_has_next(const struct address_lines *lines)
{
	const char *line;
	size_t size, taken;

	return !lines->is_skipping && find_line(lines, &line, &size, &taken);
}

int address_lines_next(struct address_lines *lines, const char **ret_line, size_t *ret_size)
{
	const char *line;
	size_t size, taken;
	int r;

	while (lines->is_skipping || !find_line(lines, &line, &size, &taken)) {
		if (lines->is_at_end)
			return 0;
		r = fill(lines);
		if (r < 0)
			return r;
	}
	/* Without its newline the rest is still to come. */
	lines->is_skipping = line[taken - 1] != '\n' && !lines->is_at_end;
	lines->start += taken;
	lines->count++;
	*ret_line = line;
	*ret_size = size;
	return 1;
}
