/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine of `pilotlight record`: a process forked by the front, with its three sockets beside
 * the standard descriptors and nothing else open, and this side of them. It is in the front's
 * process group, so that a terminal that stops or continues one does so to both. One owner, one
 * thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <sys/types.h>

/* Where the engine finds them. */
enum { RECORD_BROKER_FD = 3, RECORD_CAPTURE_FD, RECORD_MESSAGE_FD };

struct record_engine_process {
	pid_t pid; /* 0: its end was taken */
	/* This side's; whoever takes one leaves -1. */
	int broker_fd, capture_fd, message_fd;
};

/*
 * To be called before there is anything that is not the engine's to have. `run` is the engine; it
 * returns an exit status. Signals that are blocked stay so. Returns 0 or -errno with `fault`.
 */
int record_engine_process_start(int (*run)(const void *context), const void *context,
	struct record_engine_process **ret_process, struct fault *fault);

/* Kills it, if it lives, and waits for its end. */
void record_engine_process_free(struct record_engine_process *process);
DEFINE_CLEANUP(struct record_engine_process, record_engine_process_free);

/* It has closed its sockets: waits for its end, but not for long. Returns 0 where it exited with 0,
 * or -ECHILD, with how it has ended in `fault`. */
int record_engine_process_end(struct record_engine_process *process, struct fault *fault);
