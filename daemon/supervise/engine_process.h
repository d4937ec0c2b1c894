/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One engine process, from its start to its end, and the supervisor's ends of its sockets. A pidfd
 * reports its end, so the program must not ignore SIGCHLD. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct engine_process_options {
	const char *program; /* NULL: /proc/self/exe */
	char *const *arguments;
	char *const *environment;
	const int *listen_fds; /* borrowed */
	size_t listen_count;   /* up to ENGINE_LISTEN_MAX */
};

struct engine_process {
	pid_t pid; /* 0: ended and reaped */
	int pidfd;
	/* The supervisor's ends. Code that takes one sets it to -1. */
	int broker_fd, capture_fd, notice_fd;
	uint64_t started_ns; /* CLOCK_MONOTONIC */
};

struct engine_process_end {
	int signal; /* the signal that ended the engine; 0: it exited */
	int exit_status;
	uint64_t lived_ns;
};

/*
 * Starts an engine as the caller's user, without privileges from its first instruction on
 * (sandbox_drop_privileges_to()). It has its own session, so a terminal's signals do not reach it,
 * default signal dispositions and an empty signal mask. It shares our standard output and error,
 * and inherits only its sockets. The caller must have one thread. Returns 0 or -errno, also if
 * exec() failed.
 */
int engine_process_start(
	const struct engine_process_options *options, struct engine_process **ret_engine);

/* Kills the engine if it still runs, and reaps it. */
void engine_process_free(struct engine_process *engine);
DEFINE_CLEANUP(struct engine_process, engine_process_free);

void engine_process_signal(const struct engine_process *engine, int signal_number);

/* Reaps the engine. Returns 0, once; -EAGAIN while it runs; or -errno. */
int engine_process_reap(struct engine_process *engine, struct engine_process_end *ret_end);
