/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "config/memory_limit.h"

#include "base/cleanup.h"
#include "base/line_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { LINE_BYTES = PATH_MAX + 64, FILE_BYTES = 64 << 10, NUMBER_BYTES = 32 };

/* Cgroup version 1 shows an unset limit as the largest number of pages. */
static const uint64_t NO_LIMIT_LEAST = 1ULL << 62;

struct hierarchy {
	const char *mount, *file;
};

static const struct hierarchy version_2 = { "/sys/fs/cgroup", "memory.max" };
static const struct hierarchy version_1 = { "/sys/fs/cgroup/memory", "memory.limit_in_bytes" };

static uint64_t read_limit(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char text[NUMBER_BYTES];
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	unsigned long long limit;

	if (size <= 0 || text[0] < '0' || text[0] > '9')
		return UINT64_MAX;
	text[size] = '\0';
	errno = 0;
	limit = strtoull(text, NULL, 10);
	return errno || limit >= NO_LIMIT_LEAST ? UINT64_MAX : limit;
}

/* Returns the lowest limit of the cgroup `path` and its ancestors. */
static uint64_t least_limit(const char *root, const struct hierarchy *hierarchy, char *path)
{
	uint64_t least = UINT64_MAX;

	for (;;) {
		char *slash = strrchr(path, '/');
		char file[PATH_MAX + 256];
		uint64_t limit;

		if (snprintf(file, sizeof(file), "%s%s%s/%s", root, hierarchy->mount, path,
			    hierarchy->file) >= (int)sizeof(file))
			return least;
		limit = read_limit(file);
		if (limit < least)
			least = limit;
		if (!slash)
			return least;
		*slash = '\0';
	}
}

/* Returns whether the hierarchy, such as "5:cpu,memory:/path", has the memory controller. */
static bool has_memory(const char *controllers, size_t size)
{
	static const char memory[] = "memory";

	for (;;) {
		const char *comma = memchr(controllers, ',', size);
		size_t word = comma ? (size_t)(comma - controllers) : size;

		if (word == sizeof(memory) - 1 && memcmp(controllers, memory, word) == 0)
			return true;
		if (!comma)
			return false;
		controllers += word + 1;
		size -= word + 1;
	}
}

static uint64_t limit_of_line(const char *root, const char *line, size_t size)
{
	const char *controllers = memchr(line, ':', size), *path;
	char copy[LINE_BYTES];
	size_t left;

	if (!controllers)
		return UINT64_MAX;
	controllers++;
	left = size - (size_t)(controllers - line);
	path = memchr(controllers, ':', left);
	if (!path || path + 1 == line + size || path[1] != '/')
		return UINT64_MAX;
	left = size - (size_t)(path + 1 - line);
	memcpy(copy, path + 1, left);
	copy[left] = '\0';
	if (path == controllers)
		return least_limit(root, &version_2, copy);
	if (has_memory(controllers, (size_t)(path - controllers)))
		return least_limit(root, &version_1, copy);
	return UINT64_MAX;
}

uint64_t memory_limit_read(const char *root)
{
	char file[PATH_MAX];
	_cleanup_close_ int fd = -1;
	struct line_reader reader;
	uint64_t least = UINT64_MAX;
	const char *line;
	size_t size;

	if (snprintf(file, sizeof(file), "%s/proc/self/cgroup", root) >= (int)sizeof(file))
		return least;
	fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || line_reader_init(&reader, fd, LINE_BYTES, FILE_BYTES) < 0)
		return least;
	while (line_reader_next(&reader, &line, &size) > 0) {
		uint64_t limit = limit_of_line(root, line, size);

		if (limit < least)
			least = limit;
	}
	line_reader_done(&reader);
	return least;
}
