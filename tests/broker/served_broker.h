/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A broker as tests have it: in their own process, or behind the socket of a server in another. */
#pragma once

#include "broker/broker.h"
#include "broker/broker_server.h"
#include "tests/harness/descriptors.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum broker_place { BROKER_HERE, BROKER_SERVED };

static const enum broker_place broker_here = BROKER_HERE;
static const enum broker_place broker_served = BROKER_SERVED;

/* A test whose state is its place at first. */
#define IN_PLACE(name, test, set_up, tear_down, place)          \
	{                                                       \
		name, test, set_up, tear_down, (void *)&(place) \
	}

#define IN_BOTH_PLACES(test, set_up, tear_down)                \
	IN_PLACE(#test, test, set_up, tear_down, broker_here), \
		IN_PLACE(#test " (served)", test, set_up, tear_down, broker_served)

struct placed_broker {
	struct broker *broker;
	pid_t server;	    /* 0: none */
	size_t descriptors; /* that were open before */
};

/* Serves until the other side is gone. The exit status reports leaked descriptors. */
static inline _Noreturn void serve_broker(int fd, const struct broker_options *options)
{
	/* As the service has it, with more time than a loaded machine needs. */
	struct broker_options apart = options ? *options : (struct broker_options){ 0 };
	size_t descriptors = open_descriptors();
	struct broker_server *server;
	int r;

	apart.request_timeout_ns = 30 * BROKER_REQUEST_TIMEOUT_NS;
	r = broker_server_new(fd, &apart, &server);

	if (r < 0)
		_exit(2);
	while (r == 0) {
		struct pollfd waited = { .fd = broker_server_poll_fd(server), .events = POLLIN };

		if (poll(&waited, 1, -1) < 0 && errno != EINTR)
			_exit(3);
		r = broker_server_run(server);
	}
	broker_server_free(server);
	if (r != -EPIPE || open_descriptors() != descriptors - 1)
		_exit(4);
	/* Nor children. */
	_exit(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD ? 0 : 5);
}

static inline void placed_broker_start(
	struct placed_broker *placed, enum broker_place place, const struct broker_options *options)
{
	int pair[2];

	placed->server = 0;
	placed->descriptors = open_descriptors();
	if (place == BROKER_HERE) {
		assert_int_equal(broker_new(options, &placed->broker), 0);
		return;
	}
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	placed->server = fork();
	assert_true(placed->server >= 0);
	if (placed->server == 0) {
		(void)close(pair[0]);
		serve_broker(pair[1], options);
	}
	assert_int_equal(close(pair[1]), 0);
	assert_int_equal(broker_connect(pair[0], &placed->broker), 0);
}

/* Checks that everything that was opened is closed again. */
static inline void placed_broker_stop(struct placed_broker *placed)
{
	int status;

	broker_free(placed->broker);
	assert_int_equal(open_descriptors(), placed->descriptors);
	if (placed->server == 0)
		return;
	assert_int_equal(waitpid(placed->server, &status, 0), placed->server);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}
