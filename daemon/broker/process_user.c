/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/process_user.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The line comes after a name of at most 64 bytes, escaped, and eight short lines. */
enum { STATUS_BYTES = 1024 };

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
