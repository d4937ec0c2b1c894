/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The server of capture's privileged side: receives the requests of
 * include/pilotlight/capture_message.h on one socket. It holds programs, maps, events and rings
 * beyond the life of an engine, and the next engine takes them over. The client is not trusted
 * (I8): the server never receives descriptors that it sends, checks all its numbers, and drops an
 * answer that it does not receive. Used by one thread, whose loop polls.
 */
#pragma once

#include "base/cleanup.h"

struct capture_limits;
struct cgroup_choice;
struct capture_grant;
struct capture_server;

/*
 * Loads nothing yet. Borrows `event_service`, the socket of a service that opens events where the
 * kernel refuses them to this process; NULL: none. Returns 0 or -errno.
 */
int capture_server_new(const char *event_service, struct capture_server **ret_server);
void capture_server_free(struct capture_server *server);
DEFINE_CLEANUP(struct capture_server, capture_server_free);

/* What clients may have breakpoints for; copied, but not what it points to. At first nothing. */
void capture_server_grant(struct capture_server *server, const struct capture_grant *grant);

/* As capture_session_limit(). Until then the limits are those of the messages. */
void capture_server_limit(struct capture_server *server, const struct capture_limits *limits);

/* As capture_session_choose(). */
void capture_server_choose(struct capture_server *server, const struct cgroup_choice *choice);

/*
 * Serves `fd` instead of an earlier socket, which it closes. Takes ownership of `fd` on success.
 * Returns 0 or -errno.
 */
int capture_server_connect(struct capture_server *server, int fd);

/* Readable when capture_server_run() has something to do; borrowed. */
int capture_server_poll_fd(const struct capture_server *server);

/*
 * Serves one request, so that the thread's other work goes on; loading the programs may take long.
 * Returns 0; -EPIPE: the client is gone and the socket is closed; or -errno of receiving.
 */
int capture_server_run(struct capture_server *server);
