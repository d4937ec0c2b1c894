/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/binary_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

enum { ANCESTORS_MAX = 4 }; /* tries their mount namespaces if the process is gone */

void binary_file_done(struct binary_file *file)
{
	if (file->fd >= 0)
		(void)close(TAKE_FD(file->fd));
}

/*
 * Checks that this is the mapped file: by its build-id, or by its inode. A file found by path only,
 * through another process's root or our own, must match the device as well.
 */
static int check_file(int fd, const struct binary_whereabouts *where,
	const struct build_id *expected, bool is_by_path, const struct elf_image *image)
{
	struct stat status;

	if (expected)
		return build_id_equal(&image->build_id, expected) ? 0 : -ESTALE;
	if (fstat(fd, &status) < 0)
		return -errno;
	if (where->inode && status.st_ino != where->inode)
		return -ESTALE;
	if (is_by_path && (!where->inode || major(status.st_dev) != where->device_major ||
				  minor(status.st_dev) != where->device_minor))
		return -ESTALE;
	return 0;
}

/* Through the process itself, through its ancestors' mount namespaces, and through our own. */
enum { OPEN_WAYS = 1 + ANCESTORS_MAX + 1 };

int binary_file_open(struct broker *broker, const struct process_table *processes,
	const struct binary_whereabouts *where, const struct build_id *expected,
	struct binary_file *ret_file)
{
	struct broker_process process = where->process;
	int r = -ESRCH;

	for (int way = 0; way < OPEN_WAYS; way++) {
		_cleanup_close_ int fd = -1;
		struct file_owner owner;
		struct elf_image image;

		if (process.pid <= 0)
			way = OPEN_WAYS - 1;
		if (way == OPEN_WAYS - 1)
			r = broker_open_path(broker, where->path, &fd);
		else
			r = broker_open_mapping(broker, &process, way == 0 ? where->start : 0,
				way == 0 ? where->end : 0, where->path, &fd);
		process.pid = process_table_parent(processes, process.pid, where->time_ns);
		process.start_ns = 0;
		/* The other ways would fail, too. */
		if (r == -ETIMEDOUT || r == -EAGAIN)
			return r;
		if (r == 0)
			r = elf_image_read(fd, &image);
		if (r == 0)
			r = check_file(fd, where, expected, way > 0, &image);
		if (r == 0)
			r = file_owner_read(fd, &owner);
		if (r < 0)
			continue;
		*ret_file =
			(struct binary_file){ .fd = TAKE_FD(fd), .image = image, .owner = owner };
		return 0;
	}
	return r;
}
