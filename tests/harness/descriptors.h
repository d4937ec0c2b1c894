/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions on the descriptors of a test's own process. */
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* How many descriptors this process has open. */
static inline size_t open_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	if (!folder)
		abort();
	while (readdir(folder))
		count++;
	(void)closedir(folder);
	return count;
}

/* The number of this process's next descriptor. */
static inline int next_descriptor(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	return fd;
}

/* Leaves room for `more` descriptors, if the open ones have low numbers. */
static inline struct rlimit limit_descriptors(int more)
{
	struct rlimit before, limit;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)(next_descriptor() + more);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}

static inline void make_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}
