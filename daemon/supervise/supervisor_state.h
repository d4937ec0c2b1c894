/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of a running supervisor, private to supervisor*.c. */
#pragma once

#include "base/fault.h"
#include "supervise/engine_process.h"
#include "supervise/engine_servers.h"
#include "supervise/engine_watch.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct supervisor_options;

struct supervisor {
	const struct supervisor_options *options; /* borrowed */
	struct engine_process_options engine_options;
	struct engine_servers servers;
	struct engine_watch watch;
	struct engine_process *engine; /* NULL between two engines */
	char **environment;	       /* owned array of borrowed strings (environ) */
	int signal_fd;

	bool is_ready;		 /* the engine handles signals now */
	bool was_ever_ready;	 /* this engine or an earlier one: the service works here */
	bool sends_sighup_later; /* send SIGHUP once the engine is ready */
	bool awaits_reloading;	 /* the manager waits for RELOADING=1 */
	bool has_warned;	 /* about malformed notices of this engine */
	bool is_stopping;
	bool is_over;
	int result; /* valid once is_over */

	/* The rate limit: notices received in the second that began at notices_since_ns. */
	uint64_t notices_since_ns;
	unsigned int notice_count;
};

/* Forwards the engine's notices to the service manager. */
void supervisor_handle_notices(struct supervisor *supervisor);

/* Does the rate limit allow another notice now? False: not before `*ret_next_ns`. */
bool supervisor_may_read_notices(
	struct supervisor *supervisor, uint64_t now_ns, uint64_t *ret_next_ns);

/* Limits what engines may capture to what the configuration says now. */
void supervisor_read_limits(struct supervisor *supervisor);

/* Handles SIGHUP. */
void supervisor_reload(struct supervisor *supervisor);

/* Ends a pending reload after the engine ended. The next engine reads the configuration anyway, and
 * the manager must not keep waiting. */
void supervisor_end_reload(struct supervisor *supervisor);
