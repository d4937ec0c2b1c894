/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends and receives messages with descriptors over a SOCK_SEQPACKET pair, without waiting. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/*
 * Returns 0 if `fd` is a local SOCK_SEQPACKET socket; -EPROTOTYPE another kind; -ENOTSOCK or
 * -EBADF.
 */
int broker_socket_check(int fd);

/*
 * Sends `passed_fd` with the message; -1: no descriptor. -EAGAIN: the socket's buffer is full.
 * -EPIPE: the other side is gone. Or -errno of sendmsg().
 */
int broker_socket_send(int fd, const void *bytes, size_t size, int passed_fd);

/* The same with up to BROKER_SOCKET_FDS_MAX descriptors. */
enum { BROKER_SOCKET_FDS_MAX = 2 };
int broker_socket_send_all(
	int fd, const void *bytes, size_t size, const int *passed_fds, size_t passed_count);

struct broker_message {
	size_t size; /* of the whole message, even if it was longer than the room for it */
	/* O_CLOEXEC, owned by the receiver; -1: none */
	int passed_fd, second_fd;
	bool has_lost_fds; /* more descriptors came than were received */
};

/*
 * Receives at most `fds_max` descriptors (up to BROKER_SOCKET_FDS_MAX). The kernel closes the
 * others, and those for which this process has no free number. -EAGAIN: no message is waiting.
 * -EPIPE: the other side is gone. Or -errno of recvmsg().
 */
int broker_socket_receive(
	int fd, void *bytes, size_t room, size_t fds_max, struct broker_message *ret_message);

/* Reads the next message without removing it, and without its descriptors. */
int broker_socket_peek(int fd, void *bytes, size_t room, struct broker_message *ret_message);
