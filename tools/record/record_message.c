/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/record/record_message.h"

#include "base/cleanup.h"
#include "broker/broker_socket.h"

#include <errno.h>

/* The kernel's largest error number. */
enum { ERRNO_MAX = 4095 };

int record_message_send(int fd, const struct record_message *message, int passed_fd)
{
	return broker_socket_send(fd, message, sizeof(*message), &passed_fd, passed_fd >= 0);
}

int record_message_receive(int fd, struct record_message *ret_message, int *ret_fd)
{
	struct record_message message;
	struct broker_message received;
	int r;

	r = broker_socket_receive(fd, &message, sizeof(message), ret_fd != NULL, &received);
	/* A side that ends with messages unread resets the socket, which is reported before the
	 * messages that it has sent. */
	if (r == -EPIPE)
		r = broker_socket_receive(fd, &message, sizeof(message), ret_fd != NULL, &received);
	if (r < 0)
		return r;
	_cleanup_close_ int passed_fd = received.fd_count > 0 ? received.fds[0] : -1;

	if (received.size != sizeof(message) || received.has_lost_fds || message.type == 0 ||
		message.type >= RECORD_MESSAGE_TYPES || message.number < -ERRNO_MAX)
		return -EBADMSG;
	if (ret_fd)
		*ret_fd = TAKE_FD(passed_fd);
	*ret_message = message;
	return 0;
}
