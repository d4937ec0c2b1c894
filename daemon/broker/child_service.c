/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/child_service.h"

#include "base/cleanup.h"
#include "broker/broker_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { PATIENCE_MS = 10000 }; /* the broker sends at once */

int child_service_start(const char *path, enum broker_child kind, const int fds[2])
{
	const struct child_service_request request = {
		.version = CHILD_SERVICE_VERSION,
		.kind = kind,
	};
	_cleanup_close_ int fd = -1;
	int r = broker_socket_connect(path, &fd);

	return r == 0 ? broker_socket_send(fd, &request, sizeof(request), fds, CHILD_SERVICE_FDS)
		      : r;
}

int child_service_receive(int connection_fd, enum broker_child kind, int ret_fds[CHILD_SERVICE_FDS])
{
	struct pollfd connection = { .fd = connection_fd, .events = POLLIN };
	struct broker_message message = { 0 };
	struct child_service_request request;
	int r;

	if (poll(&connection, 1, PATIENCE_MS) <= 0)
		return -ETIMEDOUT;
	r = broker_socket_receive(
		connection_fd, &request, sizeof(request), CHILD_SERVICE_FDS, &message);
	if (r < 0)
		return r;
	/* No other child is meant to have this unit's network. */
	if (message.size != sizeof(request) || message.fd_count != CHILD_SERVICE_FDS ||
		request.version != CHILD_SERVICE_VERSION || request.kind != kind) {
		broker_message_close(&message);
		return -EBADMSG;
	}
	memcpy(ret_fds, message.fds, sizeof(message.fds[0]) * CHILD_SERVICE_FDS);
	return 0;
}
