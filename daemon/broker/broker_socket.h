/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Messages of the broker and its clients over a SOCK_SEQPACKET pair, sent and received at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Is `fd` such a socket? Returns 0; -EPROTOTYPE another one; -ENOTSOCK or -EBADF. */
int broker_socket_check(int fd);

/*
 * `passed_fd` goes with the message; -1: none does. Never waits: -EAGAIN where the other side does
 * not take what was sent before. -EPIPE: the other side is gone. Or what sendmsg() failed with.
 */
int broker_socket_send(int fd, const void *bytes, size_t size, int passed_fd);

/* The same with any number of descriptors, up to BROKER_SOCKET_FDS_MAX. */
enum { BROKER_SOCKET_FDS_MAX = 2 };
int broker_socket_send_all(
	int fd, const void *bytes, size_t size, const int *passed_fds, size_t passed_count);

struct broker_message {
	size_t size; /* of all of it, of which what there was no room for is lost */
	/* O_CLOEXEC, owned by whoever receives the message; -1: none, or none further. */
	int passed_fd, second_fd;
	bool has_lost_fds; /* more came than were taken */
};

/*
 * At most `fds_max` descriptors are taken, which is BROKER_SOCKET_FDS_MAX or less; the kernel
 * closes the others, and those for which this process has no number left. Never waits: -EAGAIN
 * where there is no message. -EPIPE: the other side is gone. Or what recvmsg() failed with.
 */
int broker_socket_receive(
	int fd, void *bytes, size_t room, size_t fds_max, struct broker_message *ret_message);

/* The next message, which stays where it is, and none of its descriptors. Else the same. */
int broker_socket_peek(int fd, void *bytes, size_t room, struct broker_message *ret_message);
