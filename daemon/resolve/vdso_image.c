/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/vdso_image.h"

#include "base/cleanup.h"
#include "process/maps_line.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>

static int find_end(uint64_t start, uint64_t *ret_end)
{
	_cleanup_fclose_ FILE *maps = fopen("/proc/self/maps", "re");
	_cleanup_free_ char *line = NULL;
	struct maps_line mapping;
	size_t capacity = 0;
	ssize_t size;

	if (!maps)
		return -errno;
	while ((size = getline(&line, &capacity, maps)) > 0) {
		if (line[size - 1] == '\n')
			size--;
		if (maps_line_parse(line, (size_t)size, &mapping) == 0 && mapping.start == start) {
			*ret_end = mapping.end;
			return 0;
		}
	}
	return -ENOENT;
}

int vdso_image_open(int *ret_fd, uint64_t *ret_mapping_bytes)
{
	_cleanup_close_ int fd = -1;
	uint64_t start = getauxval(AT_SYSINFO_EHDR), end = 0;
	int r;

	if (!start)
		return -ENOENT;
	r = find_end(start, &end);
	if (r < 0)
		return r;
	fd = memfd_create("vdso", MFD_CLOEXEC);
	if (fd < 0)
		return -errno;
	/* The owner check refuses files that anyone may write to. */
	if (fchmod(fd, S_IRUSR | S_IWUSR) < 0)
		return -errno;
	for (uint64_t at = start; at < end;) {
		ssize_t n = write(fd, (const void *)(uintptr_t)at, end - at);

		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		at += (uint64_t)n;
	}
	*ret_fd = TAKE_FD(fd);
	*ret_mapping_bytes = end - start;
	return 0;
}
