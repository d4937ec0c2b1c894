/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/child_service.h"

#include "base/cleanup.h"
#include "broker/broker_socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

enum { PATIENCE_MS = 10000 }; /* the broker sends at once */

int child_service_start(const char *path, enum broker_child kind, const int fds[CHILD_SERVICE_FDS])
{
	const struct child_service_request request = {
		.version = CHILD_SERVICE_VERSION,
		.kind = kind,
	};
	_cleanup_close_ int fd = -1;
	int r = broker_socket_connect(path, &fd);

	return r == 0 ? broker_socket_send(fd, &request, sizeof(request), fds,
				fds[CHILD_SERVICE_SOCKETS] > 0 ? CHILD_SERVICE_FDS
							       : CHILD_SERVICE_SOCKETS)
		      : r;
}

int child_service_receive(int connection_fd, enum broker_child kind, int ret_fds[CHILD_SERVICE_FDS])
{
	struct pollfd connection = { .fd = connection_fd, .events = POLLIN };
	const size_t fds_max =
		kind == BROKER_CHILD_SINK_SEND ? CHILD_SERVICE_FDS : CHILD_SERVICE_SOCKETS;
	struct broker_message message = { 0 };
	struct child_service_request request;
	int r;

	if (poll(&connection, 1, PATIENCE_MS) <= 0)
		return -ETIMEDOUT;
	r = broker_socket_receive(connection_fd, &request, sizeof(request), fds_max, &message);
	if (r < 0)
		return r;
	/* No other child is meant to have this unit's network. */
	if (message.size != sizeof(request) || message.fd_count < CHILD_SERVICE_SOCKETS ||
		request.version != CHILD_SERVICE_VERSION || request.kind != kind) {
		broker_message_close(&message);
		return -EBADMSG;
	}
	for (size_t i = 0; i < CHILD_SERVICE_FDS; i++)
		ret_fds[i] = i < message.fd_count ? message.fds[i] : 0;
	return 0;
}
