/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/state_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int state_file_map(const char *path, size_t bytes, void **ret_memory)
{
	_cleanup_close_ int fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	void *memory;
	int r;

	if (fd < 0 || ftruncate(fd, (off_t)bytes) < 0)
		return -errno;
	/* On a full disk, a write into a hole of a mapped file is a SIGBUS. */
	r = -posix_fallocate(fd, 0, (off_t)bytes);
	if (r < 0)
		return r;
	memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	*ret_memory = memory;
	return 0;
}
