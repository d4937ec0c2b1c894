/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the supervisor knows while it runs; for the files of its own alone. */
#pragma once

#include "base/fault.h"
#include "supervise/engine_process.h"
#include "supervise/engine_servers.h"
#include "supervise/engine_watch.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct supervisor {
	struct engine_process_options engine_options;
	struct engine_servers servers;
	struct engine_watch watch;
	struct engine_process *engine; /* NULL between two */
	char **environment;	       /* the array is owned, the strings are the process's */
	int signal_fd;

	bool is_ready;	     /* the engine: signals find a handler */
	bool was_ever_ready; /* this one or one before it: the service works here */
	bool owes_reload;    /* it is to be told, once it is ready */
	bool owes_reloading; /* the manager waits to be told that it reloads */
	bool has_warned;     /* of this engine's notices */
	bool is_stopping;
	bool is_over;
	int result; /* once it is over */

	/* Notices that were looked at in the second that began then. */
	uint64_t notices_since_ns;
	unsigned int notice_count;
};

/* Tells the service manager what the engine tells. */
void supervisor_take_notices(struct supervisor *supervisor);

/* May the engine speak now? Until `ret_next_ns` it may not. */
bool supervisor_hears_notices(
	struct supervisor *supervisor, uint64_t now_ns, uint64_t *ret_next_ns);

/* SIGHUP came. */
void supervisor_reload(struct supervisor *supervisor);

/* For a manager that waits for a reload, of an engine that is gone: the next one reads the
 * configuration anyway. */
void supervisor_settle_reload(struct supervisor *supervisor);
