/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The history's writer as a thread of its own, so that no disk can hold up draining (I5). Windows
 * are handed over and written in their order; a few may wait while a disk is slow, as long as they
 * take no more memory than one may, and beyond that, or where writing fails, a window is dropped
 * and counted (I4). What is not written is tried afresh with the next window: a disk that was full
 * or read-only for a while costs what was sampled meanwhile. Functions are of the owner's thread.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct history_writer;

enum { HISTORY_WRITER_WAITING_MAX = 4 };

struct history_writer_options {
	const char *folder; /* which must be there */
	struct store_limits limits;
	/* What all windows that are not written may take; one is taken whatever it takes. */
	size_t waiting_bytes_max;
	/* Called once by the thread, before it touches anything; may be NULL. Returns 0 or -errno,
	 * with which history_writer_new() fails. */
	int (*enter)(void);
};

/*
 * A folder that cannot be used now, or is another process's, is no error: windows are dropped until
 * it can be. Returns 0, -ENOMEM, or -errno of starting the thread.
 */
int history_writer_new(
	const struct history_writer_options *options, struct history_writer **ret_writer);

/* Waits until all are written, or dropped, for as long as that takes; then no more are taken, but
 * told of. */
void history_writer_finish(struct history_writer *writer);

/* Finishes first. */
void history_writer_free(struct history_writer *writer);
DEFINE_CLEANUP(struct history_writer, history_writer_free);

/* Takes the profile, whatever comes of it. Returns 0, or -EAGAIN: as much waits as may, and this
 * one is dropped. */
int history_writer_add(
	struct history_writer *writer, const struct store_window *window, struct profile *profile);

/* Readable when history_writer_next_result() has something; borrowed. */
int history_writer_poll_fd(const struct history_writer *writer);

/* What became of a window, in the order in which they were added. */
struct history_result {
	int error;		   /* 0: it is on the disk; or why it was dropped, -errno */
	uint64_t end_ns;	   /* of the window, CLOCK_REALTIME */
	uint64_t end_monotonic_ns; /* likewise, or of those refused behind it; CLOCK_MONOTONIC */
	struct accounts accounts;
	char fault[512]; /* "" where there is no error */
};
/* Returns 0, or -EAGAIN: there is none. */
int history_writer_next_result(struct history_writer *writer, struct history_result *ret_result);

/* How much history there is, as of the last window that was written. */
void history_writer_summary(struct history_writer *writer, struct store_summary *ret_summary);
