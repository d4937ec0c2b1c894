/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A capture as tests have it: all in their own process, or by way of a server in another one, which
 * serves one engine after the other. */
#pragma once

#include "capture/capture.h"
#include "capture/capture_server.h"
#include "tests/capture/capture_messages.h"
#include "tests/harness/privilege.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* Sends new clients' sockets to the server's process; 0: there is none. */
struct capture_place {
	pid_t server;
	int control;
};

static inline int receive_socket(int control)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} room;
	char byte;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &room,
		.msg_controllen = sizeof(room),
	};
	int fd;

	if (recvmsg(control, &message, MSG_CMSG_CLOEXEC) != 1 || !CMSG_FIRSTHDR(&message))
		return -1;
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(fd));
	return fd;
}

/* Until the test has closed its end. */
static inline _Noreturn void serve_captures(int control)
{
	struct capture_server *server;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (capture_server_new(NULL, &server) < 0)
		_exit(2);
	for (;;) {
		struct pollfd waited[2] = {
			{ .fd = control, .events = POLLIN },
			{ .fd = capture_server_poll_fd(server), .events = POLLIN },
		};
		int fd;

		if (poll(waited, 2, -1) < 0 && errno != EINTR)
			_exit(3);
		if (waited[1].revents)
			(void)capture_server_run(server);
		if (!waited[0].revents)
			continue;
		fd = receive_socket(control);
		if (fd < 0)
			break;
		if (capture_server_connect(server, fd) < 0)
			_exit(4);
	}
	capture_server_free(server);
	_exit(0);
}

static inline void start_server(struct capture_place *place)
{
	int pair[2];

	make_pair(pair);
	place->server = fork();
	assert_true(place->server >= 0);
	if (place->server == 0) {
		(void)close(pair[0]);
		serve_captures(pair[1]);
	}
	assert_int_equal(close(pair[1]), 0);
	place->control = pair[0];
}

static inline void stop_server(struct capture_place *place)
{
	int status;

	if (place->server == 0)
		return;
	assert_int_equal(close(place->control), 0);
	assert_int_equal(waitpid(place->server, &status, 0), place->server);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
	place->server = 0;
}

/* A socket whose other end is served from now on, in the place of the one before. */
static inline int call_server(const struct capture_place *place)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control = { .header = { .cmsg_len = CMSG_LEN(sizeof(int)),
			      .cmsg_level = SOL_SOCKET,
			      .cmsg_type = SCM_RIGHTS } };
	char byte = 0;
	struct iovec part = { .iov_base = &byte, .iov_len = 1 };
	struct msghdr message = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	int pair[2];

	make_pair(pair);
	memcpy(CMSG_DATA(&control.header), &pair[1], sizeof(pair[1]));
	assert_int_equal(sendmsg(place->control, &message, 0), 1);
	assert_int_equal(close(pair[1]), 0);
	return pair[0];
}

/*
 * Opens the capture through the server, if there is one. Returns the result of capture_open() or
 * capture_connect().
 */
static inline int place_capture(const struct capture_place *place,
	const struct capture_settings *settings, struct capture **ret_capture, struct fault *fault)
{
	int fd, r;

	if (place->server == 0)
		return capture_open(settings, ret_capture, fault);
	fd = call_server(place);
	r = capture_connect(fd, settings, ret_capture, fault);
	if (r < 0)
		assert_int_equal(close(fd), 0);
	return r;
}

static inline void skip_without_bpf(void)
{
	if (privilege_lacks_bpf()) {
		print_message("skipped: %s\n", privilege_lacks_bpf());
		skip();
	}
}
