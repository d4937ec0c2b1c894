/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The supervisor runs in the broker's process, which holds the privileges and the BPF programs and
 * maps. It serves an engine's requests (broker/broker_server.h, capture/capture_server.h) and
 * starts the children that the engine may not start itself. As a service it also starts the engine,
 * and restarts it after it ends. The maps outlive an engine, so the next one drains what the last
 * one left in them. This process reads no file but its own state from the kernel and, for
 * read_limits(), the administrator's configuration (I6). One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_limits;

/* The descriptor numbers of an engine. */
enum {
	ENGINE_BROKER_FD = 3,
	ENGINE_CAPTURE_FD = 4,
	ENGINE_NOTICE_FD = 5,
	ENGINE_LISTEN_FD = 6, /* the first of the sockets to listen on, if any */
	ENGINE_LISTEN_MAX = 8,
};

struct supervisor_options {
	/* The engine is this program with these arguments. It inherits the environment, without the
	 * variables that the service manager sets for the main process alone. */
	char *const *engine_arguments;
	const char *program;   /* NULL: /proc/self/exe; another one in tests */
	const int *listen_fds; /* borrowed; handed to every engine */
	size_t listen_count;   /* up to ENGINE_LISTEN_MAX */
	/*
	 * Reads what engines may capture, before each engine and each reload, and copies the
	 * configuration for senders (0: there is none). After an error the last limits and the last
	 * copy hold, or at first nothing is allowed. NULL: only the messages limit it.
	 */
	int (*read_limits)(void *context, struct capture_limits *ret_limits, int *ret_config_fd);
	void *limits_context;
};

/*
 * Runs the service until SIGTERM or SIGINT.
 *
 * Signals: SIGTERM and SIGINT reach the engine as SIGTERM. It is killed if it does not end within
 * 20 s, or at the second signal. SIGHUP is forwarded once the engine is ready. The three signals
 * are blocked meanwhile and read from a signalfd. No other thread may run, and no other code may
 * wait for every child (waitpid(-1)).
 *
 * The engine: it starts in its own session, as our user, and can never gain a capability
 * (sandbox_drop_privileges_to()). It must repeat that call, since exec() lets other processes of
 * its user inspect it again. Then it calls sandbox_die_with_parent() with ENGINE_NOTICE_FD. Its
 * standard input is /dev/null; its output and error are ours. Its listening sockets start at
 * ENGINE_LISTEN_FD and end before the first number that is not open.
 *
 * Notices: the supervisor forwards the engine's notices to the service manager (sd_notify(3)), at
 * most 64 a second. Further ones stay queued in the socket, so the engine must send without
 * blocking. Only the engine's progress feeds the manager's watchdog. An engine without progress for
 * half of the watchdog's timeout, counted from its start, gets SIGABRT, and SIGKILL a second later.
 * Time that the engine waits for this process does not count.
 *
 * Restarts: after a crash the next engine starts after a backoff of 100 ms, then 200 ms, up to 5 s,
 * or up to 1 s if the engine had been ready. The backoff resets once an engine has run for a
 * minute. PILOTLIGHT_ENGINE_EXIT_RENEW restarts at once if the engine ran for at least a second; so
 * does PILOTLIGHT_ENGINE_EXIT_DONE unless the service is stopping. PILOTLIGHT_ENGINE_EXIT_FAILED
 * and PILOTLIGHT_ENGINE_EXIT_MISTAKE end the service if no engine was ever ready. Otherwise they
 * count as crashes, retried without limit, and feed the manager's watchdog.
 *
 * Returns 0, or -errno with `fault`. -EBADMSG: an engine ended with MISTAKE before any was ready.
 * -ECANCELED: it ended with FAILED. Other errors: the first engine cannot be started, or this
 * process cannot continue.
 */
int supervisor_run(const struct supervisor_options *options, struct fault *fault);
