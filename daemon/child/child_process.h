/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A process that is started for one answer and never believed: this program anew, in a session of
 * its own, where a terminal's signals do not reach it, with one socket (CHILD_SOCKET_NUMBER) beside
 * the standard descriptors, which are /dev/null. It is told what to do by one message there, with
 * which come the descriptors that it needs (child_request.h), and may answer by one; then, or when
 * it closes its socket or its time is over, it is killed. It cannot write to anything any more once
 * its end is told.
 *
 * Who starts it is the broker, where that is another process: this one may be forbidden to. Else it
 * is a child of this process, which sees its end through a pidfd and so needs no handler of
 * SIGCHLD; it must not ignore that signal. What is said and what is told is the same. Nothing waits
 * but the start, for as long as exec does, or the broker; and freeing one that lives. One owner,
 * one thread.
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
	struct broker *broker; /* borrowed; NULL, or one that is not remote: it is started here */
	enum broker_child kind;
	/* Of one that is started here. NULL: /proc/self/exe, and what the kind has
	 * (broker/child_kind.h). */
	const char *program;
	char *const *arguments;
	char *const *environment;
	const struct child_descriptor *descriptors; /* CHILD_DESCRIPTORS_MAX at most */
	size_t descriptor_count;
	const void *request; /* may be NULL where it has no bytes */
	size_t request_bytes;
	uint64_t timeout_ns; /* a broker has a bound of its own, too: BROKER_CHILD_TIMEOUT_NS */
	bool takes_fd; /* a descriptor that comes with the answer is taken, else closed unseen */
};

struct child_process_end {
	bool has_timed_out;
	int signal;	    /* that ended it, of its own or ours; 0: it exited */
	int exit_status;    /* of one that exited */
	uint64_t cpu_ns;    /* that it has used; 0 where nobody knows */
	int reply_fd;	    /* the caller's; -1 */
	size_t reply_bytes; /* 0: it said nothing, or too much */
	unsigned char reply[CHILD_REPLY_BYTES_MAX];
};

/*
 * Returns 0, -ENOMEM, or what starting failed with, as -errno: -EAGAIN as many run as may. One that
 * dies at once has been started; its end is told like any other.
 */
int child_process_start(
	const struct child_process_options *options, struct child_process **ret_child);

/* Kills it, if it lives, and waits for its end; but not for long for a broker that does not tell of
 * it. */
void child_process_free(struct child_process *child);
DEFINE_CLEANUP(struct child_process, child_process_free);

/* 0: the broker has started it, and who it is is not known here. */
pid_t child_process_id(const struct child_process *child);

/*
 * The lowest priority, for the disk too, or an ordinary one again, which needs CAP_SYS_NICE, here
 * or in the broker. Never waits. Where it is refused the child goes on as it is.
 */
void child_process_set_idle(const struct child_process *child, bool is_idle);

/* Readable when child_process_take() has something to do; borrowed. */
int child_process_poll_fd(const struct child_process *child);

/* Returns 0 and how it ended, once; -EAGAIN while it has not. */
int child_process_take(struct child_process *child, struct child_process_end *ret_end);
