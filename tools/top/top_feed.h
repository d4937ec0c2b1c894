/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Profiles for `pilotlight top`. Each query has a thread, which asks the service and parses the
 * answer, so that the terminal stays responsive. There is one query at a time, and each has one
 * answer. Only the owner's thread may call these functions.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "client/query_text.h"
#include "tools/top/top_profile.h"

#include <stdbool.h>
#include <stdint.h>

struct top_feed;

/* Values from /metrics; 0: unknown. */
struct top_machine {
	double cpus; /* online */
	double rate_hz;
	double cost_ratio; /* the CPU time of the service, as a share of all CPUs */
	double memory_bytes;
};

struct top_answer {
	int error;	 /* 0, or -errno with `fault` and no profile */
	unsigned status; /* of HTTP; 0: there was no answer */
	struct fault fault;
	struct top_profile *profile; /* owned by the answer */
	struct top_machine machine;
	uint64_t span_ns; /* requested */
	bool wants_tree;  /* requested */
	/* The time that the windows cover, and the CPU time of a sample; 0: unknown. */
	uint64_t covered_ns, period_ns;
	uint64_t received_ns; /* CLOCK_REALTIME */
	const char *event;    /* what the query selected, set by its owner; NULL: CPU time */
};

/* `query` has the path and the selection without times; both are copied. Returns 0; or -errno,
 * with a fault if libcurl cannot be loaded. */
int top_feed_new(const char *socket_path, const struct query_text *query,
	struct top_feed **ret_feed, struct fault *fault);
/* Cancels a query under way, which takes at most a second. */
void top_feed_free(struct top_feed *feed);
DEFINE_CLEANUP(struct top_feed, top_feed_free);

/*
 * Queries the samples of the last `span_ns`: their stacks, or a table, which costs less. Do not
 * call it while a query is under way.
 */
void top_feed_ask(struct top_feed *feed, uint64_t span_ns, bool wants_tree);
bool top_feed_is_asking(const struct top_feed *feed);

/* Readable when there is an answer; borrowed. */
int top_feed_poll_fd(const struct top_feed *feed);
/* Takes the answer, with its profile. False: there is none yet. */
bool top_feed_take(struct top_feed *feed, struct top_answer *ret_answer);
