/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Like broker_socket.h, but for messages with many descriptors: the answers of a capture_server. */
#pragma once

#include "pilotlight/capture_message.h"

#include <stdbool.h>
#include <stddef.h>

/*
 * Sends the message with `count` descriptors, at most PILOTLIGHT_CAPTURE_FDS; never waits. Returns
 * 0 or -errno as broker_socket_send() does.
 */
int capture_socket_send(int fd, const void *bytes, size_t size, const int *fds, size_t count);

struct capture_message {
	size_t size; /* of the whole message, even if it was longer than the room for it */
	int fds[PILOTLIGHT_CAPTURE_FDS]; /* O_CLOEXEC, owned by the receiver */
	size_t fd_count;
	bool has_lost_fds; /* more descriptors came than there was room or numbers for */
};

/* Never waits. Returns 0 or -errno as broker_socket_receive() does. */
int capture_socket_receive(int fd, void *bytes, size_t room, struct capture_message *ret_message);
void capture_message_close(struct capture_message *message);
