/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command that is recorded: it is forked at once and held before its execve() until everything is
 * ready, so that its first instruction is seen. Once it runs it is its user's: nothing but
 * workload_command_end() ends it.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/types.h>

struct workload_command;

/* `argv` ends with NULL and is borrowed. The child waits, and will run with the signal mask `mask`.
 */
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
	WORKLOAD_END_DONE,	 /* it had ended, or did so when it was asked to */
	WORKLOAD_END_KILLED,	 /* it had to be killed, after all of the patience */
	WORKLOAD_END_HURRIED,	 /* it was killed because `hurry_fd` became readable */
	WORKLOAD_END_IMPOSSIBLE, /* it goes on: not ours to signal, or stuck in the kernel */
};

/*
 * Ends it: SIGTERM, which wakes it too where it is stopped; and SIGKILL after `patience_ms`, or as
 * soon as `hurry_fd` is readable.
 */
enum workload_end workload_command_end(
	struct workload_command *command, int hurry_fd, int patience_ms);

/* Kills a child that was never started; one that was is left alone. */
void workload_command_free(struct workload_command *command);
DEFINE_CLEANUP(struct workload_command, workload_command_free);
