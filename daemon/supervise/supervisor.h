/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broker's process: what holds the privileges, and the BPF programs and maps. It serves an
 * engine's requests (broker/broker_server.h, capture/capture_server.h), starts the children that
 * the engine may not start itself, and as a service starts the engine, and another one when that is
 * gone: the maps live on meanwhile, and what is in them is drained by the next. It reads no file
 * but its own state from the kernel (I6). One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The numbers at which an engine finds what it is given. */
enum {
	ENGINE_BROKER_FD = 3,
	ENGINE_CAPTURE_FD = 4,
	ENGINE_NOTICE_FD = 5,
	ENGINE_LISTEN_FD = 6, /* the first of the sockets to listen on, if any */
	ENGINE_LISTEN_MAX = 8,
};

struct supervisor_options {
	/* The engine: this program with these arguments; the environment is this process's, but for
	 * what the service manager means for the main process alone. */
	char *const *engine_arguments;
	const char *program;   /* NULL: /proc/self/exe; another one in tests */
	const int *listen_fds; /* borrowed; handed to every engine */
	size_t listen_count;   /* up to ENGINE_LISTEN_MAX */
	const char *user;      /* the engine's, where we are root; NULL: it stays who we are */
};

/*
 * Runs the service until SIGTERM or SIGINT, which goes to the engine as SIGTERM and is waited for:
 * for 20 s, or until the signal comes again, then it is killed. SIGHUP is passed on too, to an
 * engine that is not ready yet once it is. The signals are blocked and waited for meanwhile; no
 * other thread may run, and nobody else wait for children (waitpid(-1)).
 *
 * An engine begins in a session of its own, as that user, with no capability, and with no way to
 * one (sandbox_drop_privileges_to(), which it must call again for itself, as exec undoes a part:
 * that other processes of its user may not look into it; then sandbox_die_with_parent() of
 * ENGINE_NOTICE_FD). Its standard input is /dev/null, its output and error are ours. Its listening
 * sockets are those from ENGINE_LISTEN_FD up to the first number that is not open.
 *
 * The service manager is told what the engine tells (sd_notify(3)), 64 notices a second at most;
 * what it sends beyond that waits in its socket, so it must send without waiting. The manager's
 * watchdog is fed with the engine's progress alone; an engine that makes none for half of the
 * manager's time, from its start on, is killed by SIGABRT, and by SIGKILL a second later. What it
 * waits for this process does not count.
 *
 * An engine that crashes is followed by another after 100 ms, then 200 ms, ... 5 s, or 1 s where
 * it had been ready, until one has run for a minute. One that ends with
 * PILOTLIGHT_ENGINE_EXIT_RENEW is followed at once, if it has run for a second; so is one that ends
 * with PILOTLIGHT_ENGINE_EXIT_DONE while nobody has told the service to end. One that ends with
 * PILOTLIGHT_ENGINE_EXIT_FAILED or PILOTLIGHT_ENGINE_EXIT_MISTAKE ends the service if none has ever
 * been ready; else it is followed as after a crash, for as long as it takes, and the manager's
 * watchdog is fed.
 *
 * Returns 0; with `fault`, as no engine could begin: -EBADMSG where it was a mistake, else
 * -ECANCELED; or -errno with `fault`: the first engine cannot be started, or this process not go
 * on.
 */
int supervisor_run(const struct supervisor_options *options, struct fault *fault);
