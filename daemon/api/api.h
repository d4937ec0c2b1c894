/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The service's HTTP interface:
 *
 *   GET /api/v1/profile?SELECT&format=…    a profile from the history
 *   GET /api/v1/diff?SELECT&against.SELECT&format=…
 *                                          the difference of two profiles
 *   GET /debug/pprof/profile?seconds=N     a new profile, as pprof(1) requests it: 1 to 600 s, 30 s
 *                                          by default; SELECT without times may narrow it
 *   GET /api/v1/status[?format=text]       the service's status, as JSON or as readable text
 *   GET /api/v1/events[?format=text]       the events, which are on, until when, and their cost
 *   POST /api/v1/events?enable=E&for=TIME&period=P
 *   POST /api/v1/events?disable=E          turns events on for a time, or off
 *   GET /metrics                           the status in Prometheus' text format
 *   GET /                                  a readable list of these paths
 *
 * pilotlightd(8) documents the parameters. Query processes (answer/answer.h) make the profiles, a
 * few at a time. The server's connection limit bounds the queue. Users take turns: a user with many
 * queries waits behind their own. If a client leaves, its query leaves the queue and its process is
 * killed.
 *
 * A query for a time that is not in the history yet first requests a seal of the open window. At
 * most one seal a second is requested, so two queries within a second may share one end time. If
 * sealing times out, the query runs on the history as it is. The owner's loop and thread drive all
 * of this.
 */
#pragma once

#include "api/service_status.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "broker/broker.h"
#include "serve/http_server.h"

#include <stddef.h>
#include <stdint.h>

struct api;

/* Turns events on for a time, or off. */
struct api_event_order {
	uint32_t sources; /* bit mask of 1 << enum pilotlight_source */
	/* Of perf, and tracepoints. There is one, or a source. */
	struct pilotlight_counted_event counted[PILOTLIGHT_COUNTED_EVENTS];
	size_t counted_count;
	bool is_on;
	uint64_t for_ns;
	uint64_t period; /* of each, in its unit; 0: the service's */
};

struct api_options {
	const struct http_limits *limits; /* NULL: the defaults */
	struct http_access access;	  /* its strings outlive the API */
	const struct http_listener *listeners;
	size_t listener_count;
	struct broker *broker; /* borrowed; starts the query processes */
	/* Absolute paths of folders, borrowed; "": none. */
	const char *history, *symbol_cache;
	const char *program;	     /* the query processes' program; NULL: /proc/self/exe */
	unsigned queries_max;	     /* running at a time; 0: 2 */
	uint64_t query_memory_bytes; /* limit of one query process; 0: 96 MiB */
	uint64_t query_bytes;	     /* limit of one answer; 0: 32 MiB; at most a user's share */
	uint64_t query_timeout_ns;   /* for waiting and running together; 0: 60 s */
	uint64_t seal_timeout_ns;    /* 0: 5 s */
	/* The engine's callbacks get `context`. */
	void *context;
	void (*status)(void *context, struct service_status *ret_status);
	/*
	 * Asks the engine to end a window at `until_ns` (CLOCK_REALTIME, not far in the future) and
	 * to seal it soon. The next window begins there. The engine reports it by api_sealed().
	 */
	void (*request_seal)(void *context, uint64_t until_ns);
	/*
	 * Notes an incident that goes to the history with the open window. Returns 0; -EBUSY:
	 * another one does; -EOPNOTSUPP: there is no history.
	 */
	int (*note_incident)(void *context, const char *text);
	/* Returns 0; -EPERM, -EINVAL or another -errno, with a sentence and remedy in `fault`. */
	int (*order_events)(
		void *context, const struct api_event_order *order, struct fault *fault);
};

/* Returns 0 and takes the listeners' descriptors. Returns -errno with `fault` on a failure, which
 * may have closed them. */
int api_new(const struct api_options *options, struct api **ret_api, struct fault *fault);
/* Kills the running queries and closes all connections. */
void api_free(struct api *api);
DEFINE_CLEANUP(struct api, api_free);

/*
 * Reports that the history is complete up to `until_ns` (CLOCK_REALTIME), the exact end of its last
 * window: a profile from there on begins with the next window. Call it for each sealed window.
 */
void api_sealed(struct api *api, uint64_t until_ns);

/* The loop interface of http_server.h. Ask for the timeout before each wait. */
int api_poll_fd(const struct api *api);
uint64_t api_timeout_ns(const struct api *api);
int api_run(struct api *api);

void api_counters(const struct api *api, struct http_counters *ret_counters);
