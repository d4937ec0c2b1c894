/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles for `pilotlight top`: a thread of its own asks the service and takes the answer apart,
 * so that keys are answered meanwhile. One question at a time; each has one answer. All functions
 * are for the one thread that owns it.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "client/query_text.h"
#include "tools/top/top_profile.h"

#include <stdbool.h>
#include <stdint.h>

struct top_feed;

/* What /metrics tells of the machine and the service; 0: not known. */
struct top_machine {
	double cpus; /* that run */
	double rate_hz;
	double cost_ratio; /* of the service, of all CPUs */
	double memory_bytes;
};

struct top_answer {
	int error;	 /* 0, or -errno with `fault` and no profile */
	unsigned status; /* of HTTP; 0: it did not come to that */
	struct fault fault;
	struct top_profile *profile; /* owned by whoever took the answer */
	struct top_machine machine;
	uint64_t span_ns; /* that was asked for */
	/* That the windows cover, and that a sample stands for, of CPU time; 0: not known. */
	uint64_t covered_ns, period_ns;
	uint64_t received_ns; /* CLOCK_REALTIME */
};

/* `query` has the path and the selection without times; both are copied. Returns 0 or -errno. */
int top_feed_new(
	const char *socket_path, const struct query_text *query, struct top_feed **ret_feed);
/* A question under way is given up, which takes a second at most. */
void top_feed_free(struct top_feed *feed);
DEFINE_CLEANUP(struct top_feed, top_feed_free);

/* Asks for what was sampled in the last `span_ns`; not while a question is under way. */
void top_feed_ask(struct top_feed *feed, uint64_t span_ns);
bool top_feed_is_asking(const struct top_feed *feed);

/* Readable when there is an answer; borrowed. */
int top_feed_poll_fd(const struct top_feed *feed);
/* Takes it. False: there is none as yet. */
bool top_feed_take(struct top_feed *feed, struct top_answer *ret_answer);
