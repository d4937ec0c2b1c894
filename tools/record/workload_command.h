/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command that is recorded. It is forked early and held before its execve() until sampling has
 * begun, so that its first instruction is sampled. Once it runs, only workload_command_end() ends
 * it.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct workload_command;

/* `argv` ends with NULL and is borrowed. The child waits, and will run with the signal mask
 * `mask`. */
int workload_command_fork(char **argv, const sigset_t *mask, struct workload_command **ret_command,
	struct fault *fault);

pid_t workload_command_pid(const struct workload_command *command);

/* Readable when the command has ended; borrowed. */
int workload_command_poll_fd(const struct workload_command *command);

/* Lets it run. Returns 0, or -errno where it could not be executed. */
int workload_command_start(struct workload_command *command, struct fault *fault);

bool workload_command_is_running(struct workload_command *command);

/* The exit status as a shell tells it, once the command has ended. */
int workload_command_status(const struct workload_command *command);

enum workload_end {
	WORKLOAD_END_DONE,	  /* it had ended, or SIGTERM ended it */
	WORKLOAD_END_KILLED,	  /* it was killed after the timeout */
	WORKLOAD_END_INTERRUPTED, /* it was killed because `interrupt_fd` became readable */
	WORKLOAD_END_IMPOSSIBLE,  /* it still runs: not ours to signal, or stuck in the kernel */
};

/*
 * Ends it: SIGTERM, with SIGCONT in case it is stopped; then SIGKILL after `timeout_ms`, or as soon
 * as `interrupt_fd` is readable.
 */
enum workload_end workload_command_end(
	struct workload_command *command, int interrupt_fd, int timeout_ms);

/* Kills a child that was never started, and leaves one that was. */
void workload_command_free(struct workload_command *command);
DEFINE_CLEANUP(struct workload_command, workload_command_free);
