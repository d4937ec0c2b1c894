/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Children that run in a unit of their own, as another user and with another network than the
 * broker: those that fetch files, and those that send batches to receivers. For each kind systemd
 * listens at a socket that only the broker's user may connect to, and starts for each connection
 * one process of this program, as `fetch-service` or `send-service`. The
 * broker sends it the child's socket and the socket that reports its end, for a sender also the
 * configuration, and is done: it never
 * waits for that unit. The service then does for the child what a broker does (broker_children.h).
 *
 * A unit costs less than the other ways to another user. The broker would need CAP_SETUID and the
 * network for its whole life, and user namespaces are closed on many machines.
 */
#pragma once

#include "broker/broker.h"

#include <stdint.h>

enum { CHILD_SERVICE_VERSION = 2, CHILD_SERVICE_SOCKETS = 2, CHILD_SERVICE_FDS };

/* The only message on a connection, with the two sockets, and for a sender maybe a third file. */
struct child_service_request {
	uint32_t version;
	uint32_t kind; /* enum broker_child */
};

/*
 * Has the service at the socket `path` start a child. `fds`, which are borrowed, are the child's
 * socket, the socket for its end, and the configuration or 0. A child that fails to start is
 * reported as ended there. Returns 0; -ENETDOWN no service listens; -EAGAIN too many connections
 * are waiting; or -errno.
 */
int child_service_start(const char *path, enum broker_child kind, const int fds[CHILD_SERVICE_FDS]);

/*
 * Receives the message on a connection, and its descriptors, which the caller owns. Returns 0;
 * -EBADMSG it is no request for a child of that kind; -ETIMEDOUT; -EPIPE the sender is gone; or
 * -errno.
 */
int child_service_receive(
	int connection_fd, enum broker_child kind, int ret_fds[CHILD_SERVICE_FDS]);

/*
 * The main function of the services: starts one child, and returns when it has ended. argv[0] is
 * the name of the service. The connection is at descriptor 3. Returns an exit status.
 */
int child_service_main(int argc, char **argv);
