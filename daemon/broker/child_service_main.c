/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "broker/broker_children.h"
#include "broker/broker_socket.h"
#include "broker/child_service.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

enum {
	CONNECTION_NUMBER = 3, /* sd_listen_fds(3) */
	PATIENCE_MS = 10000,   /* the broker sends at once */
};

static int receive(int fds[CHILD_SERVICE_FDS])
{
	struct pollfd connection = { .fd = CONNECTION_NUMBER, .events = POLLIN };
	struct broker_message message = { 0 };
	struct child_service_request request;
	int r;

	if (poll(&connection, 1, PATIENCE_MS) <= 0)
		return -ETIMEDOUT;
	r = broker_socket_receive(
		CONNECTION_NUMBER, &request, sizeof(request), CHILD_SERVICE_FDS, &message);
	if (r < 0)
		return r;
	/* No other child is meant to have this unit's network. */
	if (message.size != sizeof(request) || message.fd_count != CHILD_SERVICE_FDS ||
		request.version != CHILD_SERVICE_VERSION ||
		request.kind != BROKER_CHILD_SYMBOL_FETCH) {
		broker_message_close(&message);
		return -EBADMSG;
	}
	memcpy(fds, message.fds, sizeof(message.fds[0]) * CHILD_SERVICE_FDS);
	return 0;
}

/* `fds` are consumed. */
static int serve(struct broker_children *children, int fds[CHILD_SERVICE_FDS])
{
	int r = broker_children_adopt(children, BROKER_CHILD_SYMBOL_FETCH, fds);
	struct epoll_event event;

	while (r == 0 && broker_children_are_running(children)) {
		if (epoll_wait(children->epoll_fd, &event, 1, -1) < 0 && errno != EINTR)
			r = -errno;
		broker_children_run(children);
	}
	return r;
}

int child_service_main(int argc, char **argv)
{
	_cleanup_close_ int epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	struct broker_children children;
	int fds[CHILD_SERVICE_FDS];
	int r;

	(void)argc;
	(void)argv;
	(void)prctl(PR_SET_NAME, "fetch-service", 0, 0, 0);
	if (epoll_fd < 0 || sandbox_drop_privileges(SANDBOX_ROOT_FAILS) < 0 || receive(fds) < 0)
		return EXIT_FAILURE;
	(void)close(CONNECTION_NUMBER);
	r = broker_children_init(&children, NULL, epoll_fd);
	if (r == 0)
		r = serve(&children, fds);
	broker_children_done(&children);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
