/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The spools of all sinks, in a thread of their own, so that a slow disk never delays draining
 * (I5). Each spool has one task at a time that fills it: the first opens it, each later one adds a
 * batch. Beside it there may be one that empties it: it finds a batch for sending, or removes one.
 * Call all functions from the owner's thread.
 */
#pragma once

#include "base/cleanup.h"
#include "push/spool.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct spool_thread;

enum { SPOOLS_MAX = 8 };

struct spool_thread_options {
	struct spool_options spools[SPOOLS_MAX]; /* folders are borrowed until it is freed */
	size_t count;
	/* The thread calls this once, before it touches anything. May be NULL. Returns 0 or -errno;
	 * spool_thread_new() fails with that error. */
	int (*enter)(void);
};

/* Starts the thread, with a task for each spool to open it. Returns 0, -ENOMEM, or -errno. */
int spool_thread_new(const struct spool_thread_options *options, struct spool_thread **ret_thread);
/* Waits until running tasks are done; others are dropped. */
void spool_thread_free(struct spool_thread *thread);
DEFINE_CLEANUP(struct spool_thread, spool_thread_free);

/* Readable when a task is done; borrowed. */
int spool_thread_poll_fd(const struct spool_thread *thread);

struct spool_result {
	int error; /* of spool_open(), spool_add() or spool_skip() */
	struct spool_state state;
};
/* Returns 0 and the result of the spool's task, once; -EAGAIN while it runs, or without one. */
int spool_thread_take(struct spool_thread *thread, size_t spool, struct spool_result *ret_result);

/*
 * Begins a task: opens the spool if it is not open, then adds a batch, or skips it if `fd` is -1.
 * Takes the descriptor. The spool must have no task.
 */
void spool_thread_add(struct spool_thread *thread, size_t spool, const struct batch *batch, int fd,
	uint64_t bytes);
/* Begins a task that only opens the spool, after a failure. */
void spool_thread_open(struct spool_thread *thread, size_t spool);

enum spool_search { SPOOL_OLDEST, SPOOL_NEWEST };

struct spool_found {
	int error; /* of spool_next(), spool_newest() or spool_remove() */
	struct batch batch;
	int fd; /* owned by the caller; -1: none */
	uint64_t bytes;
	struct spool_state state;
};
/* Begins a task that finds a batch of `sources` (spool_choose()), or removes one. The spool must
 * have no such task. */
void spool_thread_find(
	struct spool_thread *thread, size_t spool, enum spool_search search, uint32_t sources);
void spool_thread_remove(struct spool_thread *thread, size_t spool, const struct batch *batch);
/* As spool_thread_take(), of the task that empties the spool. */
int spool_thread_take_found(
	struct spool_thread *thread, size_t spool, struct spool_found *ret_found);
