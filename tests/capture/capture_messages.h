/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions that the tests of capture's messages share. */
#pragma once

#include "capture/capture.h"
#include "pilotlight/capture_message.h"

#include <dirent.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

/* A well-formed request; of PILOTLIGHT_CAPTURE_OPEN with settings that are good. */
static inline struct pilotlight_capture_request request_of(uint32_t operation)
{
	struct pilotlight_capture_request request;

	memset(&request, 0, sizeof(request));
	request.version = PILOTLIGHT_CAPTURE_VERSION;
	request.operation = operation;
	request.number = 7;
	if (operation == PILOTLIGHT_CAPTURE_OPEN) {
		request.rate_hz = 99;
		request.map_budget_bytes = 4 << 20;
		request.wants_kernel = 1;
	}
	return request;
}

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

static inline void make_pair(int pair[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
}

/* Leaves room for `more` descriptors, if the open ones have low numbers. */
static inline struct rlimit limit_descriptors(int more)
{
	struct rlimit before, limit;
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(close(fd), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	limit = before;
	limit.rlim_cur = (rlim_t)(fd + more);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	return before;
}
