/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The children that a broker has started for its client (broker_start_child()): a few at a time,
 * each with a bound on its life that the client has no say in. Of one thread, which waits for them
 * on the epoll descriptor that it gives. This process's ambient capabilities are cleared, as no
 * child needs any.
 *
 * For each child the client has one end of a SOCK_SEQPACKET pair. How it has ended is told there,
 * once (struct pilotlight_child_end). What the client sends there, but for a word of its scheduling
 * policy (enum pilotlight_child_word), or that it closes its end or shuts it down, kills the child.
 * Nothing waits for the client; what it does not take is lost.
 */
#pragma once

#include "broker/broker.h"

#include <stdint.h>
#include <sys/types.h>

enum { BROKER_CHILDREN_MAX = 8 };

struct broker_children_counters {
	uint64_t started;
	uint64_t refused; /* as many ran as may, or starting failed */
	uint64_t killed;  /* by us: as the client wanted, or was gone, or their time was over */
};

struct broker_children {
	int epoll_fd;  /* borrowed */
	char *program; /* owned; NULL: this one */
	uint64_t timeout_ns;
	struct broker_child_process {
		pid_t pid; /* 0: the slot is free, and the rest is nothing */
		int pidfd, timer_fd, end_fd;
		bool is_killed;
	} processes[BROKER_CHILDREN_MAX];
	struct broker_children_counters counters;
};

/* `options` may be NULL. Returns 0 or -ENOMEM; what is left is to be freed anyway. */
int broker_children_init(
	struct broker_children *children, const struct broker_options *options, int epoll_fd);

/* Kills those that live, and waits for their ends, but not for long. */
void broker_children_done(struct broker_children *children);

/*
 * Returns 0 and the client's ends of the child's socket and of that of its end, owned by the
 * caller; -EAGAIN as many run as may; -EINVAL there is no such kind; or -errno of starting.
 */
int broker_children_start(struct broker_children *children, uint32_t kind, int ret_fds[2]);

/* Kills what is to end, does what clients say of others, and tells of what has ended. */
void broker_children_run(struct broker_children *children);
