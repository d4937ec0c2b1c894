/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The children that a broker has started for its client (broker_start_child()). Only
 * BROKER_CHILDREN_MAX run at a time (I4), and each has a time limit that the client cannot extend.
 * Used by one thread, which polls the epoll descriptor that it passes in. Starting a child clears
 * this process's ambient capabilities, because no child needs any.
 *
 * For each child the client holds one end of a SOCK_SEQPACKET pair. The broker reports the child's
 * end there, once (struct pilotlight_child_end). The client may send a scheduling policy there
 * (enum pilotlight_child_priority). Any other message, and closing or shutting down that socket,
 * kills the child. The broker never waits for the client; messages that do not fit into the socket
 * are lost.
 *
 * If the options name a socket for fetchers or senders, a service there starts them and does all of
 * this (child_service.h). Those do not count here; the service limits their number and time.
 *
 * Senders read a copy of the configuration that was valid when the engine began. A mistake in its
 * files, or a change that is not loaded yet, does not reach them.
 */
#pragma once

#include "broker/broker.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

enum { BROKER_CHILDREN_MAX = 8 };

struct broker_children_counters {
	uint64_t started;
	uint64_t refused; /* at the limit, or starting failed */
	uint64_t killed;  /* by the broker: at the client's request, because the client was gone, or
			     by timeout */
	uint64_t without_service[BROKER_CHILDREN]; /* of the refused: no service listens */
};

struct broker_children {
	int epoll_fd;  /* borrowed */
	char *program; /* owned; NULL: this one */
	/* Owned; of the service that starts a kind. NULL: it is started here. */
	char *sockets[BROKER_CHILDREN];
	int config_fd; /* owned; for senders; 0: none */
	uint64_t timeout_ns;
	struct broker_child_process {
		pid_t pid; /* 0: the slot is free */
		int pidfd, timer_fd, end_fd;
		bool is_killed;
	} processes[BROKER_CHILDREN_MAX];
	struct broker_children_counters counters;
};

/* `options` may be NULL. Returns 0 or -errno; call broker_children_done() in either case. */
int broker_children_init(
	struct broker_children *children, const struct broker_options *options, int epoll_fd);

/* Kills the running children and waits up to 500 ms for each. */
void broker_children_done(struct broker_children *children);

/*
 * Returns 0 and two sockets that the caller owns: the client's end of the child's socket, and the
 * client's end of the socket that reports the child's end. -EAGAIN as many children run as are
 * allowed; -EINVAL no such kind; -ENETDOWN no service for fetchers listens; or -errno of starting.
 */
int broker_children_start(struct broker_children *children, uint32_t kind, int ret_fds[2]);

/*
 * Starts a child of another broker, which has sent its ends of the two sockets. Consumes them.
 * Returns 0 or -errno as above.
 */
int broker_children_adopt(struct broker_children *children, enum broker_child kind, int fds[2]);

bool broker_children_are_running(const struct broker_children *children);

/*
 * Reaps and reports ended children, applies the clients' messages, and kills children that are due.
 */
void broker_children_run(struct broker_children *children);
