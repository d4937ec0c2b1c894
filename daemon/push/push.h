/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pushes the history to sinks, batch by batch. A batch is one profile of one source, of the windows
 * between the end of the last batch and the end of a later window, so no window is in two batches
 * and none is left out. A query process makes it from the history, with the names that are known by
 * then: a batch waits until no symbol file is being made, within a bound. A thread writes it to the
 * sink's folder (spool_thread.h).
 *
 * If the sink has a receiver, batches are sent to it from the folder (sending.h). Names that come
 * later follow in the next batches, for types that have them (late_names.h).
 *
 * What fails is tried again with exponential backoff: the history still has it, also for the next
 * engine. Time beyond `catch_up_ns` is skipped and counted. One batch is made at a time, for all
 * sinks together. Sampling never waits for any of this (I5). One owner, one thread.
 */
#pragma once

#include "api/service_status.h"
#include "base/cleanup.h"
#include "broker/broker.h"
#include "push/spool_thread.h"
#include "send/send_job.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct push;

struct push_sink_options {
	const char *name, *type;
	const char *format;	/* of export/profile_format.h */
	const char *labels;	/* a value of the parameter "labels"; NULL: it has none */
	const char *attributes; /* of that parameter; NULL: none */
	uint64_t interval_ns, name_wait_ns;
	const char *host_id;	   /* of this host */
	uint32_t sample_hosts_ppm; /* as query/host_sample.h has shares */
	uint64_t plain_bytes_max;  /* of a batch before gzip compressed it; 0: any, or no gzip */
	uint64_t send_timeout_ns;  /* of one batch; 0: other programs take the files */
};

struct push_options {
	struct spool_thread *spools;		    /* borrowed; spool i is of sink i */
	struct push_sink_options sinks[SPOOLS_MAX]; /* strings are borrowed */
	size_t sink_count;
	struct broker *broker;		    /* borrowed; starts the query processes */
	const char *program;		    /* theirs, and that of senders; NULL: /proc/self/exe */
	const char *history, *symbol_cache; /* folders, borrowed */
	uint32_t sources; /* that are sampled: bit mask of 1 << enum pilotlight_source */
	uint64_t catch_up_ns;
	/* Of one query process, and of one batch. 0: 96 MiB, 32 MiB, 60 s. */
	uint64_t memory_bytes, batch_bytes, timeout_ns;
};

/* Returns 0, -ENOMEM, or -errno. */
int push_new(const struct push_options *options, struct push **ret_push);
/* Kills a query process that still runs; the next engine makes its batch again. */
void push_free(struct push *push);
DEFINE_CLEANUP(struct push, push_free);

/*
 * The history is complete up to `until_ns` (CLOCK_REALTIME), the exact end of a window that began
 * at `start_ns`. If the clock was set back, windows of a time that a sink has are in no batch, and
 * are counted, for `catch_up_ns` at most: then the sink begins anew.
 */
void push_sealed(struct push *push, uint64_t start_ns, uint64_t until_ns);

/* Readable when push_run() has work; borrowed. */
int push_poll_fd(const struct push *push);
/* Does what is due. Call it also about once a second. */
void push_run(struct push *push, bool are_names_pending);

/* Of no process's own: what receivers have already (send/known_rows.h). */
uint64_t push_memory_bytes(const struct push *push);

void push_report(const struct push *push, size_t sink, struct service_status_sink *ret_sink);
