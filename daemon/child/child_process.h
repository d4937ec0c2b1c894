/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that is started for one answer and never believed: this program anew, or another, with
 * the descriptors it is given and no others, in a session of its own, where a terminal's signals do
 * not reach it. It is told what to do by one message on a socket and may answer by one; then, or
 * when it closes its socket or its time is over, it is killed. It cannot write to anything any more
 * once its end is told.
 *
 * Nothing waits but the start, for as long as exec does. Ends are seen through a pidfd, so that the
 * program needs no handler of SIGCHLD; it must not ignore that signal. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child_process;

enum {
	CHILD_REPLY_BYTES_MAX = 256,
	CHILD_DESCRIPTORS_MAX = 8,
	CHILD_DESCRIPTOR_NUMBER_MAX = 15,
};

/* The child finds a copy of `fd` at `number`, 3 to CHILD_DESCRIPTOR_NUMBER_MAX; fd -1: nothing. */
struct child_descriptor {
	int fd; /* borrowed */
	int number;
};

struct child_process_options {
	const char *program; /* NULL: /proc/self/exe */
	char *const *arguments;
	char *const *environment;
	const struct child_descriptor *descriptors; /* beside the socket */
	size_t descriptor_count;
	int socket_number;
	const void *request; /* NULL: it is told nothing */
	size_t request_bytes;
	uint64_t timeout_ns;
	bool takes_fd; /* a descriptor that comes with the answer is taken, else closed unseen */
};

struct child_process_end {
	bool has_timed_out;
	int signal;	    /* that ended it, of its own or ours; 0: it exited */
	int exit_status;    /* of one that exited */
	int reply_fd;	    /* the caller's; -1 */
	size_t reply_bytes; /* 0: it said nothing, or too much */
	unsigned char reply[CHILD_REPLY_BYTES_MAX];
};

/* Returns 0, -ENOMEM, or what starting failed with, as -errno. */
int child_process_start(
	const struct child_process_options *options, struct child_process **ret_child);

/* Kills it, if it lives, and waits for its end. */
void child_process_free(struct child_process *child);
DEFINE_CLEANUP(struct child_process, child_process_free);

pid_t child_process_id(const struct child_process *child);

/* Readable when child_process_take() has something to do; borrowed. */
int child_process_poll_fd(const struct child_process *child);

/* Returns 0 and how it ended, once; -EAGAIN while it has not. */
int child_process_take(struct child_process *child, struct child_process_end *ret_end);
