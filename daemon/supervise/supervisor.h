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
	/*
	 * Memory that outlives the engine, ENGINE_KEEPSAKE_BYTES of zeros at first: what the next
	 * one must know of the window that was open (I1).
	 */
	ENGINE_KEEPSAKE_FD = 6,
	ENGINE_LISTEN_FD = 7, /* the first of the sockets to listen on, if any */
	ENGINE_LISTEN_MAX = 8,

	ENGINE_KEEPSAKE_BYTES = 4096,
};

struct supervisor_options {
	/* The engine: this program with these arguments; the environment is this process's. */
	char *const *engine_arguments;
	const int *listen_fds; /* borrowed; handed to every engine */
	size_t listen_count;
	const char *user; /* the engine's, where we are root; NULL: it stays who we are */
};

/*
 * Runs the service until SIGTERM or SIGINT, which it passes on and waits for. SIGHUP is passed on
 * too. Tells the service manager what the engine tells (sd_notify(3)); feeds its watchdog only with
 * the engine's progress; an engine that makes none for as long is killed. An engine that crashes is
 * started again after 100 ms, then 200 ms, ... 5 s at most, until it has run for a minute. Returns
 * 0; or -errno with `fault`, also when an engine ends with PILOTLIGHT_ENGINE_EXIT_FAILED.
 */
int supervisor_run(const struct supervisor_options *options, struct fault *fault);

/*
 * The other way about, for a command that becomes an engine itself: starts a broker, which is this
 * program as `PROGRAM broker` and runs supervisor_serve(), and returns the two sockets on which it
 * is spoken to. It ends when they are closed. Returns 0 or -errno with `fault`.
 */
int supervisor_start_broker(int *ret_broker_fd, int *ret_capture_fd, struct fault *fault);

/* The main function of that process: serves ENGINE_BROKER_FD and ENGINE_CAPTURE_FD until they are
 * closed. Returns an exit status. */
int supervisor_serve_main(int argc, char **argv);
