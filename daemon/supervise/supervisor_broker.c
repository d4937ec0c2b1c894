/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A broker's process that serves one engine, which has started it. */
#include "supervise/supervisor.h"

#include "base/log.h"
#include "supervise/engine_servers.h"
#include "supervise/role_process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int supervisor_start_broker(int *ret_broker_fd, int *ret_capture_fd, struct fault *fault)
{
	_cleanup_close_ int broker_fd = -1, capture_fd = -1, broker_side = -1, capture_side = -1;
	char *const arguments[] = { "pilotlight", "broker", NULL };
	int broker_pair[2], capture_pair[2], r;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, broker_pair) < 0)
		return fault_set(fault, -errno, "the broker has no socket: %s", strerror(errno));
	broker_fd = broker_pair[0];
	broker_side = broker_pair[1];
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, capture_pair) < 0)
		return fault_set(fault, -errno, "the broker has no socket: %s", strerror(errno));
	capture_fd = capture_pair[0];
	capture_side = capture_pair[1];
	r = role_process_start(
		&(struct role_process_options){
			.arguments = arguments,
			.environment = environ,
			.descriptors =
				(const struct role_descriptor[]){
					{ broker_side, ENGINE_BROKER_FD },
					{ capture_side, ENGINE_CAPTURE_FD },
				},
			.descriptor_count = 2,
			.keeps_privileges = true,
		},
		&pid);
	if (r < 0)
		return fault_set(fault, r, "the broker cannot be started: %s", strerror(-r));
	*ret_broker_fd = TAKE_FD(broker_fd);
	*ret_capture_fd = TAKE_FD(capture_fd);
	return 0;
}

static int serve(void)
{
	_cleanup_(engine_servers_done) struct engine_servers servers = { 0 };
	int broker_fd = ENGINE_BROKER_FD, capture_fd = ENGINE_CAPTURE_FD;
	int r = engine_servers_init(&servers);

	if (r == 0)
		r = engine_servers_connect(&servers, &broker_fd, &capture_fd);
	while (r == 0 && !engine_servers_are_idle(&servers)) {
		struct pollfd fds[ENGINE_SERVERS];

		engine_servers_want(&servers, fds);
		if (poll(fds, ENGINE_SERVERS, -1) >= 0)
			engine_servers_run(&servers, fds);
		else if (errno != EINTR)
			r = -errno;
	}
	return r;
}

int supervisor_serve_main(int argc, char **argv)
{
	int r;

	(void)argv;
	if (argc > 1 || fcntl(ENGINE_BROKER_FD, F_SETFD, FD_CLOEXEC) < 0 ||
		fcntl(ENGINE_CAPTURE_FD, F_SETFD, FD_CLOEXEC) < 0) {
		log_error("a broker is started by the program that needs it, not by hand");
		return EXIT_FAILURE;
	}
	r = serve();
	if (r < 0)
		log_error("the broker cannot go on: %s", strerror(-r));
	return r < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
