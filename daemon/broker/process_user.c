/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/process_user.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* The line comes after a name of at most 64 bytes, escaped, and eight short lines. */
enum { STATUS_BYTES = 1024 };

/* The kernel nests no more of them. */
enum { NAMESPACE_LEVELS = 33 };

int process_user_read(int process_fd, uid_t *ret_user)
{
	_cleanup_close_ int fd = openat(process_fd, "status", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	char text[STATUS_BYTES];
	unsigned int effective;
	const char *line;
	ssize_t size;

	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	do
		size = read(fd, text, sizeof(text) - 1);
	while (size < 0 && errno == EINTR);
	if (size < 0)
		return -errno;
	text[size] = '\0';
	/* The kernel escapes newlines in the name, so a name cannot fake this line. */
	line = strstr(text, "\nUid:\t");
	if (!line || sscanf(line, "\nUid:\t%*u\t%u\t", &effective) != 1)
		return -EBADMSG;
	*ret_user = effective;
	return 0;
}

static bool is_namespace(int fd, const struct stat *ours)
{
	struct stat theirs;

	return fstat(fd, &theirs) == 0 && theirs.st_dev == ours->st_dev &&
	       theirs.st_ino == ours->st_ino;
}

static int read_creator(int namespace_fd, uid_t *ret_user)
{
	uid_t user;

	if (ioctl(namespace_fd, NS_GET_OWNER_UID, &user) < 0)
		return -errno;
	if (user == 0)
		return -ENODATA;
	*ret_user = user;
	return 0;
}

int process_user_find_creator(int process_fd, uid_t *ret_user)
{
	_cleanup_close_ int fd = openat(process_fd, "ns/user", O_RDONLY | O_CLOEXEC);
	struct stat ours;

	if (fd < 0 || stat("/proc/self/ns/user", &ours) < 0)
		return -errno;
	if (is_namespace(fd, &ours))
		return -ENODATA;
	for (int i = 0; i < NAMESPACE_LEVELS; i++) {
		int parent = ioctl(fd, NS_GET_PARENT);

		if (parent < 0)
			return -errno;
		if (is_namespace(parent, &ours)) {
			(void)close(parent);
			return read_creator(fd, ret_user);
		}
		(void)close(fd);
		fd = parent;
	}
	return -ELOOP;
}
