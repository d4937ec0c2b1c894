/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sends and receives messages with descriptors over local SOCK_SEQPACKET sockets, without waiting.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BROKER_SOCKET_FDS_MAX = 32 };

/*
 * Returns 0 if `fd` is a local SOCK_SEQPACKET socket; -EPROTOTYPE another kind; -ENOTSOCK or
 * -EBADF.
 */
int broker_socket_check(int fd);

/*
 * Connects to the service that listens at the absolute `path`. The caller owns the socket. Returns
 * 0; -ENETDOWN nothing listens; -EAGAIN too many connections are waiting; -ENAMETOOLONG; or -errno.
 */
int broker_socket_connect(const char *path, int *ret_fd);

/*
 * Sends the message with `count` descriptors, at most BROKER_SOCKET_FDS_MAX. -EAGAIN: the socket's
 * buffer is full. -EPIPE: the other side is gone. Or -errno of sendmsg().
 */
int broker_socket_send(int fd, const void *bytes, size_t size, const int *fds, size_t count);

/*
 * Sends an answer. If its descriptors cannot be sent, because too many are in flight, the answer
 * goes without them, and `*result`, which is part of it, says why.
 */
int broker_socket_send_answer(
	int fd, const void *answer, size_t size, int32_t *result, const int *fds, size_t count);

struct broker_message {
	size_t size; /* of the whole message, even if it was longer than the room for it */
	int fds[BROKER_SOCKET_FDS_MAX]; /* O_CLOEXEC, owned by the receiver */
	size_t fd_count;
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

/* Closes the message's descriptors. */
void broker_message_close(struct broker_message *message);
