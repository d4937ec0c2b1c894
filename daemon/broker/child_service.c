/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/child_service.h"

#include "base/cleanup.h"
#include "broker/broker_socket.h"

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
