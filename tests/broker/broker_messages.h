/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions by which a test plays either side of a broker's socket, and may send malformed
 * messages.
 */
#pragma once

#include "tests/harness/descriptors.h"

#include <string.h>

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
