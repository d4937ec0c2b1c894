/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process of this program that is started for one request and whose answer is not trusted. It
 * runs in a session of its own, out of reach of a terminal's signals. It has /dev/null at the
 * standard descriptors and one socket (CHILD_SOCKET_NUMBER). One message there carries its request
 * and descriptors (child_request.h); it may answer with one message. It is killed after its answer,
 * when it closes its socket, or at its timeout. Once its end is reported it can no longer write
 * anything.
 *
 * A remote broker starts the child, because this process may be forbidden to. Without one it is a
 * child of this process, which watches it by a pidfd and needs no SIGCHLD handler, but must not
 * ignore SIGCHLD. Both ways report the same. Only two functions wait: starting, for exec or the
 * broker, and freeing a child that still runs. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "broker/broker.h"
#include "child/child_request.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct child_process;

enum { CHILD_REPLY_BYTES_MAX = 256 };

struct child_process_options {
	struct broker *broker; /* borrowed; NULL or not remote: this process starts the child */
	enum broker_child kind;
	/*
	 * For a child that this process starts. NULL: /proc/self/exe, and the arguments and
	 * environment of its kind (broker/child_kind.h).
	 */
	const char *program;
	char *const *arguments;
	char *const *environment;
	const struct child_descriptor *descriptors; /* at most CHILD_DESCRIPTORS_MAX */
	size_t descriptor_count;
	const void *request; /* may be NULL if request_bytes is 0 */
	size_t request_bytes;
	uint64_t timeout_ns; /* a broker also enforces BROKER_CHILD_TIMEOUT_NS */
	bool accepts_fd; /* keep a descriptor that comes with the answer; otherwise it is closed */
};

struct child_process_end {
	bool has_timed_out;
	int signal;	    /* the fatal signal, also if we killed it; 0: it exited */
	int exit_status;    /* if it exited */
	uint64_t cpu_ns;    /* CPU time that it used; 0 if unknown */
	int reply_fd;	    /* owned by the caller; -1: none */
	size_t reply_bytes; /* 0: no answer, or one that was too long */
	unsigned char reply[CHILD_REPLY_BYTES_MAX];
};

/*
 * Returns 0; -ENOMEM; -EAGAIN as many children run as are allowed; or -errno of starting. A child
 * that dies at once counts as started; its end is reported as usual.
 */
int child_process_start(
	const struct child_process_options *options, struct child_process **ret_child);

/* Kills a running child and waits for its end, up to 2 s if a broker must report it. */
void child_process_free(struct child_process *child);
DEFINE_CLEANUP(struct child_process, child_process_free);

/* 0: the broker started it, and its pid is unknown here. */
pid_t child_process_id(const struct child_process *child);

/*
 * Sets SCHED_IDLE, which also lowers its priority for the disk, or SCHED_OTHER again, which needs
 * CAP_SYS_NICE here or in the broker. Never waits. A refusal does no harm.
 */
void child_process_set_idle(const struct child_process *child, bool is_idle);

/* Readable when child_process_finish() has something to do; borrowed. */
int child_process_poll_fd(const struct child_process *child);

/*
 * Handles the child's answer, timeout and end. Returns 0 and how it ended, once; -EAGAIN while it
 * runs.
 */
int child_process_finish(struct child_process *child, struct child_process_end *ret_end);
