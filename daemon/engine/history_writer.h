/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes windows to the history in a thread of its own, so that a slow disk never delays draining
 * (I5). The thread writes windows in the order in which they were added. A few may wait, within a
 * bound of memory. A window beyond that bound, or one that cannot be written, is dropped and
 * counted (I4). The thread never retries a dropped window. After a failure it reopens the history
 * for the next window: a disk that is full or read-only for a while costs only the windows of that
 * time. Call all functions from the owner's thread.
 */
#pragma once

#include "aggregate/profile_set.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history_writer;

enum { HISTORY_WRITER_WAITING_MAX = 4 };

struct history_writer_options {
	const char *folder; /* borrowed */
	struct store_limits limits;
	/* Bounds the bytes of all unwritten windows. A single window is accepted at any size. */
	size_t waiting_bytes_max;
	/* The thread calls this once, before it touches anything. May be NULL. Returns 0 or -errno;
	 * history_writer_new() fails with that error. */
	int (*enter)(void);
	/* The thread calls this once after `enter`, before it opens the history. May be NULL. */
	void (*read_first)(void *context);
	void *context;
};

/*
 * Starts the thread. An unusable folder, or one that another process uses, is no error: windows are
 * dropped until it becomes usable. Returns 0, -ENOMEM, or -errno if the thread cannot start.
 */
int history_writer_new(
	const struct history_writer_options *options, struct history_writer **ret_writer);

/* Waits until `read_first` has returned, or until the timeout. Returns whether it has. */
bool history_writer_wait_first(struct history_writer *writer, uint64_t timeout_ns);

/* Waits without a timeout until all windows are written or dropped. Add no window after this;
 * results can still be read. */
void history_writer_finish(struct history_writer *writer);

/* Calls history_writer_finish() first. */
void history_writer_free(struct history_writer *writer);
DEFINE_CLEANUP(struct history_writer, history_writer_free);

/*
 * `incident` may be NULL; it is noted once the window is written. Takes ownership
 * of the profiles, also on failure; there is one of CPU time. All of them are
 * written, or none. Returns 0, or -EAGAIN if the queue is full and this window was dropped.
 */
int history_writer_add(struct history_writer *writer, const struct store_window *window,
	const struct incident *incident, struct profile_set *profiles);

/* Readable when history_writer_next_result() has a result; borrowed. */
int history_writer_poll_fd(const struct history_writer *writer);

/* The fate of one window. Results come in the order in which the windows were added. */
struct history_result {
	int error;		   /* 0: written to disk; -errno: why it was dropped */
	uint64_t start_ns, end_ns; /* of the window; CLOCK_REALTIME */
	uint64_t end_monotonic_ns; /* the same, or the end of the last window refused after it;
				      CLOCK_MONOTONIC */
	struct source_accounts accounts;
	struct user_excess excess;     /* what exceeded the shares of users (store.h) */
	struct user_holdings holdings; /* what they hold of the day, also after a failure */
	struct incident incident;      /* number 0: it was not written */
	bool has_incident;	       /* one came with the window */
	char fault[512];	       /* "" without an error */
};
/* Returns 0, or -EAGAIN if there is no result. */
int history_writer_next_result(struct history_writer *writer, struct history_result *ret_result);

/* Counts what windows have lost of the times of their samples since the start (store.h). */
void history_writer_untimed(
	struct history_writer *writer, uint64_t ret_untimed[STORE_UNTIMED_REASONS]);

/* Returns the history's size and time range, as the thread last read them from the folder. */
void history_writer_summary(struct history_writer *writer, struct store_summary *ret_summary);
