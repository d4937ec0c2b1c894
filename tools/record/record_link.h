/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front's side of its engine: a process that it forks, with three sockets beside the standard
 * descriptors and nothing else open; the servers behind two of them (supervise/engine_servers.h);
 * and the messages on the third. The engine is in the front's process group, so that a terminal
 * stops and continues both. The front does not trust its messages: only the expected one counts.
 * One owner, one thread.
 */
#pragma once

#include "base/fault.h"
#include "supervise/engine_servers.h"
#include "tools/record/record_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct record_link {
	pid_t pid; /* of the engine; 0: not started, or its end is known */
	int broker_fd, capture_fd, message_fd; /* -1: none, or passed on */
	struct engine_servers servers;
	bool has_reported; /* the engine has told the user why it failed */
};

/* Before anything else: one that record_link_done() may end. */
void record_link_init(struct record_link *link);

/* Descriptors that record_link_serve() polls for itself. */
enum { RECORD_LINK_FDS = 1 + ENGINE_SERVERS };

/*
 * Forks the engine, to be called before this process has anything that the engine must not have.
 * `run` is the engine and returns an exit status; blocked signals stay blocked. Returns 0 or -errno
 * with `fault`.
 */
int record_link_start(struct record_link *link, int (*run)(const void *context),
	const void *context, struct fault *fault);

/* Begins to serve it. From now on this process may raise its limit of descriptors. `grant` is
 * what the engine may have breakpoints for, as of capture_server_grant(). */
int record_link_connect(
	struct record_link *link, const struct capture_grant *grant, struct fault *fault);

/* Kills the engine, if it lives, and ends its servers. */
void record_link_done(struct record_link *link);

/* Returns 0, also if the engine is gone, which record_link_serve() reports; or -errno. */
int record_link_send(struct record_link *link, const struct record_message *message, int passed_fd);
int record_link_send_type(struct record_link *link, enum record_message_type type);

/*
 * Serves the engine once and polls the first `count` of `fds`; there is room for RECORD_LINK_FDS
 * behind them. Returns 1 and a message of the engine; 0: something else may be ready, or the time
 * has passed; -ECANCELED: it has failed and reported that; or another -errno with `fault`, which
 * says how the engine has ended.
 */
int record_link_serve(struct record_link *link, struct pollfd *fds, size_t count, int timeout_ms,
	struct record_message *ret_message, struct fault *fault);

/* Is this the message that must come now? Returns 0 or -EPROTO with `fault`. */
int record_link_check(
	const struct record_message *message, enum record_message_type type, struct fault *fault);

/* Serves the engine until it sends that. Returns as the above; -EINTR with `fault` if
 * `interrupt_fd` (-1: none) is readable first: the engine may hang. */
int record_link_expect(struct record_link *link, int interrupt_fd, enum record_message_type type,
	struct record_message *ret_message, struct fault *fault);

/* All is done: serves the engine until it ends, however it does. */
int record_link_finish(struct record_link *link, struct fault *fault);
