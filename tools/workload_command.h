/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A command that is recorded: it is forked at once and held before its execve() until everything is
 * ready, so that its first instruction is seen.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <sys/types.h>

struct workload_command;

/* `argv` ends with NULL. The child waits. */
int workload_command_fork(char **argv, struct workload_command **ret_command, struct fault *fault);

pid_t workload_command_pid(const struct workload_command *command);

/* Readable when the command has ended; borrowed. */
int workload_command_poll_fd(const struct workload_command *command);

/* Lets it run. Returns 0, or -errno where it could not be executed. */
int workload_command_start(struct workload_command *command, struct fault *fault);

/* Ends it if it still runs (SIGTERM), waits, and returns its exit status as a shell tells it. */
int workload_command_finish(struct workload_command *command);

/* Kills a child that was never started. */
void workload_command_free(struct workload_command *command);
DEFINE_CLEANUP(struct workload_command, workload_command_free);
