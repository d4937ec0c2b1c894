/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions by which a test plays either side of a broker's socket, and may send malformed
 * messages.
 */
#pragma once

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { PASSED_FDS_MAX = 8 };

/* With `fds` copies of the descriptor `fd`. */
static inline void send_message(int socket_fd, const void *bytes, size_t size, int fd, size_t fds)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int[PASSED_FDS_MAX]))];
	} control = { .bytes = { 0 } };
	struct iovec part = { .iov_base = (void *)bytes, .iov_len = size };
	struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1 };
	int passed[PASSED_FDS_MAX];

	assert_true(fds <= PASSED_FDS_MAX);
	for (size_t i = 0; i < PASSED_FDS_MAX; i++)
		passed[i] = fd;
	if (fds > 0) {
		message.msg_control = &control;
		message.msg_controllen = CMSG_SPACE(fds * sizeof(int));
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(fds * sizeof(int));
		memcpy(CMSG_DATA(&control.header), passed, fds * sizeof(int));
	}
	assert_int_equal(sendmsg(socket_fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL), size);
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
