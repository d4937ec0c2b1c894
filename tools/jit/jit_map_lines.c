/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/jit/jit_map_lines.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int jit_map_lines_init(struct jit_map_lines *lines, int fd, bool is_from_start)
{
	uint64_t at = 0;
	bool is_skipping = false;

	if (!is_from_start) {
		struct stat status;
		char last;

		if (fstat(fd, &status) < 0)
			return -errno;
		at = (uint64_t)status.st_size;
		/* The file ends within a line: skip the rest of it. */
		is_skipping = at > 0 && pread(fd, &last, 1, (off_t)(at - 1)) == 1 && last != '\n';
	}
	lines->fd = fd;
	lines->at = at;
	lines->used = 0;
	lines->is_skipping = is_skipping;
	return 0;
}

static int take_line(const char *bytes, size_t size, jit_map_line_function function, void *context)
{
	struct perf_map_line line;

	return perf_map_line_parse(bytes, size, &line) < 0 ? 0 : function(context, &line);
}

/* Parses and removes all complete lines of the buffer. */
static int take_lines(struct jit_map_lines *lines, jit_map_line_function function, void *context)
{
	size_t start = 0;
	int r = 0;

	while (r == 0 && start < lines->used) {
		const char *line = lines->bytes + start;
		const char *newline = memchr(line, '\n', lines->used - start);

		if (!newline)
			break;
		if (!lines->is_skipping)
			r = take_line(line, (size_t)(newline - line), function, context);
		lines->is_skipping = false;
		start += (size_t)(newline - line) + 1;
	}
	lines->used -= start;
	memmove(lines->bytes, lines->bytes + start, lines->used);
	return r;
}

/* A line that is too long loses only the end of its name. */
static int take_long_line(
	struct jit_map_lines *lines, jit_map_line_function function, void *context)
{
	int r = lines->is_skipping ? 0 : take_line(lines->bytes, lines->used, function, context);

	lines->is_skipping = true;
	lines->used = 0;
	return r;
}

int jit_map_lines_run(
	struct jit_map_lines *lines, bool is_final, jit_map_line_function function, void *context)
{
	struct stat status;
	int r = 0;

	if (fstat(lines->fd, &status) < 0)
		return -errno;
	if ((uint64_t)status.st_size < lines->at) {
		lines->at = lines->used = 0;
		lines->is_skipping = false;
	}
	while (r == 0) {
		ssize_t n = pread(lines->fd, lines->bytes + lines->used,
			sizeof(lines->bytes) - lines->used, (off_t)lines->at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		lines->at += (uint64_t)n;
		lines->used += (size_t)n;
		r = take_lines(lines, function, context);
		if (r == 0 && lines->used == sizeof(lines->bytes))
			r = take_long_line(lines, function, context);
	}
	if (r == 0 && is_final && lines->used > 0)
		r = take_long_line(lines, function, context);
	return r;
}
