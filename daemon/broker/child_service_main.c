/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "broker/broker_children.h"
#include "broker/child_service.h"
#include "sandbox/sandbox.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

enum { CONNECTION_NUMBER = 3 }; /* sd_listen_fds(3) */

/* `fds` are consumed. */
static int serve(
	struct broker_children *children, enum broker_child kind, int fds[CHILD_SERVICE_FDS])
{
	int r = broker_children_adopt(children, kind, fds);
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
	const bool sends = argc > 0 && strcmp(argv[0], "send-service") == 0;
	const enum broker_child kind = sends ? BROKER_CHILD_SINK_SEND : BROKER_CHILD_SYMBOL_FETCH;
	struct broker_options options = { 0 };
	struct broker_children children;
	int fds[CHILD_SERVICE_FDS];
	int r;

	(void)prctl(PR_SET_NAME, sends ? "send-service" : "fetch-service", 0, 0, 0);
	if (epoll_fd < 0 || sandbox_drop_privileges(SANDBOX_ROOT_FAILS) < 0 ||
		child_service_receive(CONNECTION_NUMBER, kind, fds) < 0)
		return EXIT_FAILURE;
	(void)close(CONNECTION_NUMBER);
	options.config_fd = fds[CHILD_SERVICE_SOCKETS];
	r = broker_children_init(&children, &options, epoll_fd);
	if (options.config_fd > 0)
		(void)close(options.config_fd);
	if (r == 0)
		r = serve(&children, kind, fds);
	broker_children_done(&children);
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
