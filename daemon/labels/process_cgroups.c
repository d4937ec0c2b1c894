/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "labels/process_cgroups.h"

#include "base/cleanup.h"
#include "base/line_reader.h"
#include "process/maps_line.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	LINE_BYTES_MAX = PATH_MAX + 1024,
	CGROUP_BYTES_MAX = 256 * 1024,
};

/* A line "NUMBER:CONTROLLER,CONTROLLER…:PATH"; the path may contain colons. */
struct line {
	const char *controllers;
	size_t controllers_size;
	const char *path;
	size_t path_size;
	bool is_unified;
};

static bool split_line(const char *text, size_t size, struct line *ret_line)
{
	const char *end = text + size;
	const char *first = memchr(text, ':', size), *second;
	struct line line;

	if (!first)
		return false;
	second = memchr(first + 1, ':', (size_t)(end - first - 1));
	if (!second || second + 1 == end || second[1] != '/' || memchr(text, '\0', size))
		return false;
	line = (struct line){
		.controllers = first + 1,
		.controllers_size = (size_t)(second - first - 1),
		.path = second + 1,
		.path_size = (size_t)(end - second - 1),
		.is_unified = first - text == 1 && text[0] == '0' && second == first + 1,
	};
	(void)maps_line_strip_deleted(line.path, &line.path_size);
	if (line.path_size >= PATH_MAX || (!line.is_unified && line.controllers_size == 0))
		return false;
	*ret_line = line;
	return true;
}

static bool has_controller(const struct line *line, const char *name)
{
	const char *at = line->controllers, *end = at + line->controllers_size;
	size_t size = strlen(name);

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		const char *stop = comma ? comma : end;

		if ((size_t)(stop - at) == size && memcmp(at, name, size) == 0)
			return true;
		at = stop + 1;
	}
	return false;
}

static void copy_path(char copy[PATH_MAX], const struct line *line)
{
	memcpy(copy, line->path, line->path_size);
	copy[line->path_size] = '\0';
}

static void take_line(struct process_cgroups *cgroups, const struct line *line)
{
	if (line->is_unified) {
		copy_path(cgroups->unified, line);
		return;
	}
	cgroups->has_v1 = true;
	if (has_controller(line, "name=systemd"))
		copy_path(cgroups->systemd, line);
	else if (!cgroups->other[0] && line->path_size > 1)
		copy_path(cgroups->other, line);
	if (has_controller(line, "perf_event"))
		cgroups->has_perf_event_v1 = true;
}

int process_cgroups_read(int fd, struct process_cgroups *ret_cgroups)
{
	_cleanup_(line_reader_done) struct line_reader reader = { .fd = -1 };
	_cleanup_free_ struct process_cgroups *cgroups = calloc(1, sizeof(*cgroups));
	struct line line;
	const char *text;
	size_t size;
	int r;

	if (!cgroups)
		return -ENOMEM;
	r = line_reader_init(&reader, fd, LINE_BYTES_MAX, CGROUP_BYTES_MAX);
	if (r < 0)
		return r;
	while ((r = line_reader_next(&reader, &text, &size)) > 0)
		if (split_line(text, size, &line))
			take_line(cgroups, &line);
	if (r == 0)
		*ret_cgroups = *cgroups;
	return r;
}

static bool is_below_root(const char *path)
{
	return path[0] && path[1];
}

const char *process_cgroups_path(const struct process_cgroups *cgroups)
{
	if (is_below_root(cgroups->systemd))
		return cgroups->systemd;
	if (is_below_root(cgroups->unified))
		return cgroups->unified;
	if (is_below_root(cgroups->other))
		return cgroups->other;
	return cgroups->systemd[0] ? cgroups->systemd : cgroups->unified;
}
