/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a child (child_process.h) is told, by one message on its socket: a table of numbers with the
 * descriptors that belong there (SCM_RIGHTS), and the request's bytes behind it. It is sent by
 * whoever owns the child, which need not be who has started it, and before the child is there or
 * after; the kernel keeps it.
 *
 * The child should have given up its privileges before it receives anything: who has started it may
 * have more of them than who sends.
 */
#pragma once

#include <stddef.h>

enum {
	CHILD_SOCKET_NUMBER = 3, /* where the child finds its socket */
	CHILD_DESCRIPTORS_MAX = 8,
	CHILD_DESCRIPTOR_NUMBER_MAX = 15,
	CHILD_REQUEST_BYTES_MAX = 64 << 10,
};

/* The child finds a copy of `fd` at `number`, CHILD_SOCKET_NUMBER + 1 to
 * CHILD_DESCRIPTOR_NUMBER_MAX; fd -1: nothing. */
struct child_descriptor {
	int fd; /* borrowed */
	int number;
};

/*
 * Never waits. Returns 0, -EPIPE the child is gone, or what sendmsg() failed with. `request_bytes`
 * may be 0.
 */
int child_request_send(int socket_fd, const struct child_descriptor *descriptors, size_t count,
	const void *request, size_t request_bytes);

/*
 * The child's side: waits for the request, which has just `request_bytes`, and puts its descriptors
 * (O_CLOEXEC) at their numbers. Once, by a process of one thread with free numbers there. Returns
 * 0; -EPIPE the owner is gone; -EPROTO it is malformed; -EMFILE there is no room for the
 * descriptors; -EEXIST a number is taken; -ENOMEM; or another -errno. After a failure none of its
 * descriptors is open.
 */
int child_request_receive(void *ret_request, size_t request_bytes);
