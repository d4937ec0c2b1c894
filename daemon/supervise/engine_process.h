/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One engine, from its start to its end, and this side of its sockets. Its end is seen through a
 * pidfd; the program must not ignore SIGCHLD. One owner, one thread.
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
	const int *listen_fds; /* borrowed, as is the next */
	size_t listen_count;   /* up to ENGINE_LISTEN_MAX */
	uid_t user;
	gid_t group;
};

struct engine_process {
	pid_t pid; /* 0: it has ended, and its end was taken */
	int pidfd;
	/* The supervisor's ends; whoever takes one leaves -1. */
	int broker_fd, capture_fd, notice_fd;
	uint64_t started_ns; /* CLOCK_MONOTONIC */
};

struct engine_process_end {
	int signal; /* that ended it; 0: it exited */
	int exit_status;
	uint64_t lived_ns;
};

/* Returns 0, or -errno of what starting failed with. */
int engine_process_start(
	const struct engine_process_options *options, struct engine_process **ret_engine);

/* Kills it, if it lives, and waits for its end. */
void engine_process_free(struct engine_process *engine);
DEFINE_CLEANUP(struct engine_process, engine_process_free);

void engine_process_signal(const struct engine_process *engine, int signal_number);

/* Returns 0 and how it ended, once; -EAGAIN while it has not. */
int engine_process_take_end(struct engine_process *engine, struct engine_process_end *ret_end);
