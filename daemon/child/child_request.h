/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The request to a child (child_process.h): one message on its socket with descriptors
 * (SCM_RIGHTS), a table of the numbers where they belong, and the request's bytes. The child's
 * owner sends it, which may be another process than the one that started the child. It may be sent
 * before the child runs; the kernel keeps it.
 *
 * The child should drop its privileges before it receives the request, because it may have more
 * privileges than the sender.
 */
#pragma once

#include <stddef.h>

enum {
	CHILD_SOCKET_NUMBER = 3,
	CHILD_DESCRIPTORS_MAX = 8,
	CHILD_DESCRIPTOR_NUMBER_MAX = 15,
	CHILD_REQUEST_BYTES_MAX = 64 << 10,
};

/*
 * The child gets a copy of `fd` at `number`, from CHILD_SOCKET_NUMBER + 1 to
 * CHILD_DESCRIPTOR_NUMBER_MAX; fd -1: none.
 */
struct child_descriptor {
	int fd; /* borrowed */
	int number;
};

/*
 * Never waits. Returns 0; -EPIPE the child is gone; or -errno of sendmsg(). `request_bytes` may be
 * 0.
 */
int child_request_send(int socket_fd, const struct child_descriptor *descriptors, size_t count,
	const void *request, size_t request_bytes);

/*
 * The child's side: waits for the request, which must have exactly `request_bytes`, and puts its
 * descriptors (O_CLOEXEC) at their numbers. Call it once, in a process of one thread. Returns 0;
 * -EPIPE the owner is gone; -EPROTO it is malformed; -EMFILE there is no room for the descriptors;
 * -EEXIST a number is in use; -ENOMEM; or another -errno. On failure all its descriptors are
 * closed.
 */
int child_request_receive(void *ret_request, size_t request_bytes);
