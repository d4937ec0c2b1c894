/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends the batches of one spool to its receiver, the oldest first, one at a time, each by a
 * process of its own (send/send_job.h). A batch leaves the spool when the receiver has taken it. If
 * none is taken they wait there, within the spool's bounds, and attempts back off exponentially,
 * with jitter, or as long as the receiver asks for.
 *
 * A receiver that refuses a batch for what may be in it, or for its size, is tried with the newest
 * one of the same source. If it takes that, the refused one is at fault: it is deleted and counted.
 * If it refuses both, or there is only one, nothing is deleted: batches of other sources go on, and
 * after the backoff it is tried again. An alarm names the source, or says that all are refused.
 * After a batch that was too large the owner makes later ones shorter, and longer again when there
 * is room.
 *
 * A batch to which no answer comes, or 502, 503 or 504, holds the others up, as all are when the
 * receiver is away. After five failures the newest is tried: if that is taken, and the batch fails
 * five times more, it is deleted and counted.
 *
 * A receiver may have taken a batch whose answer was lost, or whose engine was killed. It is then
 * sent again, with the same bytes and so with the same ids of its profiles. ClickHouse is asked
 * before that whether it has the batch.
 */
#pragma once

#include "api/service_status.h"
#include "base/cleanup.h"
#include "push/spool_thread.h"
#include "send/send_job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sending;

/* Processes of all sinks at a time: receivers that do not answer must not take all of a broker's.
 */
enum { SENDERS_MAX = 2 };

struct sending_options {
	const char *name, *type; /* of the sink; borrowed, as all below */
	uint64_t timeout_ns;	 /* of one batch */
	struct spool_thread *spools;
	size_t spool;
	struct broker *broker;
	const char *program; /* NULL: /proc/self/exe */
	int epoll_fd;	     /* becomes ready when sending_run() has work */
	size_t *senders;     /* that run, of all sinks */
	struct service_status_sink *report;
	uint64_t backoff_ns_min, backoff_ns_max; /* 0: one second, 5 minutes */
	uint32_t (*random)(void);		 /* spreads waits; NULL: by the clock */
};

/* Returns 0, -ENOMEM, or -errno. */
int sending_new(const struct sending_options *options, struct sending **ret_sending);
/* Kills a process that still runs. */
void sending_free(struct sending *sending);
DEFINE_CLEANUP(struct sending, sending_free);

/* The spool has a new batch, later than all others of its source. */
void sending_wake(struct sending *sending, const struct batch *batch);
void sending_run(struct sending *sending);

/* Returns whether a batch was too large since the last call, and how long it was. */
bool sending_take_too_large(struct sending *sending, uint64_t *ret_duration_ns);
/* Returns whether batches may now be twice as long, as far as the receiver is concerned, once. */
bool sending_take_room(struct sending *sending);

/* When it tries again (CLOCK_MONOTONIC); 0: it does not wait for a time. */
uint64_t sending_retry_ns(const struct sending *sending);

/* What its receiver has already, of no process's own memory. */
uint64_t sending_memory_bytes(const struct sending *sending);

/* Adds what fails to a report. */
void sending_report(const struct sending *sending, struct service_status_sink *report);
