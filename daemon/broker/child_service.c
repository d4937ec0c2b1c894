/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "broker/child_service.h"

#include "base/cleanup.h"
#include "broker/broker_socket.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

static int connect_to(const char *path, int *ret_fd)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	_cleanup_close_ int fd = -1;

	if (strlen(path) >= sizeof(address.sun_path))
		return -ENAMETOOLONG;
	memcpy(address.sun_path, path, strlen(path));
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == ENOENT || errno == ECONNREFUSED ? -ENETDOWN : -errno;
	*ret_fd = TAKE_FD(fd);
	return 0;
}

int child_service_start(const char *path, enum broker_child kind, const int fds[2])
{
	const struct child_service_request request = {
		.version = CHILD_SERVICE_VERSION,
		.kind = kind,
	};
	_cleanup_close_ int fd = -1;
	int r = connect_to(path, &fd);

	return r == 0 ? broker_socket_send(fd, &request, sizeof(request), fds, CHILD_SERVICE_FDS)
		      : r;
}
