/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/regular_file.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* A rename elsewhere on the machine makes a walk with ".." fail with EAGAIN: openat2(2). */
enum { WALK_ATTEMPTS = 16 };

static int walk_to(int folder_fd, const char *path, enum regular_file_walk walk)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC };
	long fd;

	if (walk == REGULAR_FILE_PLAIN)
		how.resolve = RESOLVE_NO_MAGICLINKS;
	else if (walk == REGULAR_FILE_IN_ROOT)
		how.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_IN_ROOT;
	else if (walk == REGULAR_FILE_NO_LINKS)
		how.resolve = RESOLVE_NO_SYMLINKS;
	for (int i = 0; i < WALK_ATTEMPTS; i++) {
		fd = syscall(SYS_openat2, folder_fd, path, &how, sizeof(how));
		if (fd >= 0)
			return (int)fd;
		if (errno != EAGAIN && errno != EINTR)
			break;
	}
	return -errno;
}

/*
 * Files that the kernel makes up count as regular ones, and opening or closing some of them has
 * effects (tracefs's free_buffer empties the trace). Nobody maps code out of them.
 */
static bool is_of_the_kernel(int fd)
{
	static const unsigned long types[] = { PROC_SUPER_MAGIC, SYSFS_MAGIC, TRACEFS_MAGIC,
		DEBUGFS_MAGIC, BPF_FS_MAGIC, CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		SECURITYFS_MAGIC, SELINUX_MAGIC, EFIVARFS_MAGIC, PSTOREFS_MAGIC, BINFMTFS_MAGIC };
	struct statfs system;

	if (fstatfs(fd, &system) < 0)
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(types); i++)
		if ((unsigned long)system.f_type == types[i])
			return true;
	return false;
}

int regular_file_open(int folder_fd, const char *path, enum regular_file_walk walk, int *ret_fd)
{
	_cleanup_close_ int found_fd = walk_to(folder_fd, path, walk);
	struct stat status;
	char link[64];
	int fd;

	if (found_fd < 0)
		return found_fd;
	/* O_PATH has not opened it yet, which for a FIFO or a device could block or have effects.
	 */
	if (fstat(found_fd, &status) < 0)
		return -errno;
	if (!S_ISREG(status.st_mode) || status.st_size == 0)
		return -EINVAL;
	if (is_of_the_kernel(found_fd))
		return -EINVAL;
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", found_fd);
	fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}
