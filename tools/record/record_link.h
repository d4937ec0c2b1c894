/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The front's side of its engine: the process, what it is served (supervise/engine_servers.h), and
 * what is said between the two. What it says is not believed, but followed only where it was to
 * come. One owner, one thread.
 */
#pragma once

#include "base/fault.h"
#include "supervise/engine_servers.h"
#include "tools/record/record_message.h"

#include <stddef.h>

struct record_engine_process;

struct record_link {
	struct record_engine_process *engine; /* NULL: it was not started */
	struct engine_servers servers;
	bool has_told; /* the engine, the user, of what went wrong */
};

/* Descriptors that record_link_serve() polls for itself. */
enum { RECORD_LINK_FDS = 1 + ENGINE_SERVERS };

/* Starts the engine, as record_engine_process_start() tells; it is not served yet. */
int record_link_start(struct record_link *link, int (*run)(const void *context),
	const void *context, struct fault *fault);

/* From now on it can be served. This process may have as many descriptors as possible then. */
int record_link_connect(struct record_link *link, struct fault *fault);

/* Kills the engine, if it lives, and ends what it was served. */
void record_link_done(struct record_link *link);

/* Returns 0, also where the engine is gone, since that is heard; or -errno. */
int record_link_tell(struct record_link *link, const struct record_message *message, int passed_fd);
int record_link_tell_word(struct record_link *link, enum record_word word);

/*
 * Serves the engine once, while the first `count` of `fds` are polled for as well; there is room
 * for RECORD_LINK_FDS behind them. Returns 1 and what the engine says; 0: something else may be
 * there, or the time has passed; -ECANCELED: it has failed and said so; or another -errno with
 * `fault`, which tells how it has ended where it has.
 */
int record_link_serve(struct record_link *link, struct pollfd *fds, size_t count, int timeout_ms,
	struct record_message *ret_message, struct fault *fault);

/* Is it this word that was to come? Returns 0 or -EPROTO with `fault`. */
int record_link_check(
	const struct record_message *message, enum record_word word, struct fault *fault);

/* Serves the engine until it says that. Returns 0 or as the above; or -EINTR with `fault`, where
 * `interrupt_fd` (-1: none) is readable before: it may have hung. */
int record_link_expect(struct record_link *link, int interrupt_fd, enum record_word word,
	struct record_message *ret_message, struct fault *fault);

/* Its work is done: serves it until it has ended, however it does. */
int record_link_part(struct record_link *link, struct fault *fault);
