/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the service answers over HTTP:
 *
 *   GET /api/v1/profile?SELECT&format=…    a profile out of the history
 *   GET /api/v1/diff?SELECT&against.SELECT&format=…
 *   GET /debug/pprof/profile?seconds=N     a new one, as pprof(1) asks for it; of 30 s, or of 1 to
 *                                          600; SELECT without times may narrow it
 *   GET /api/v1/status[?format=text]       how it is, as JSON or as text for people
 *   GET /metrics                           the same in Prometheus' text format
 *   GET /                                  what there is, for people
 *
 * Parameters are documented in pilotlightd(8). Profiles are made by query processes
 * (answer/answer.h), a few at a time. Those that wait are bounded by the server's connections, and
 * take turns by user: who asks for many at once waits behind his own. What nobody waits for any
 * more is taken out, and its process ended.
 *
 * A query for what is not in the history yet has the open window sealed first, at most once a
 * second: two that come within one may have the same end. Where sealing takes too long it gets what
 * there is. Driven by the owner's loop and thread.
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

struct api_options {
	const struct http_limits *limits; /* NULL: the defaults */
	const struct http_listener *listeners;
	size_t listener_count;
	struct broker *broker;	     /* borrowed; starts the query processes */
	const char *history;	     /* its folder, absolute; "": none */
	const char *symbol_cache;    /* likewise */
	const char *program;	     /* of query processes started here; NULL: /proc/self/exe */
	unsigned queries_max;	     /* at a time; 0: 2 */
	uint64_t query_memory_bytes; /* of one of them; 0: 96 MiB */
	uint64_t query_bytes;	     /* of its answer; 0: 32 MiB; at most a user's share of all */
	uint64_t query_timeout_ns;   /* of its turn and of its work together; 0: 60 s */
	uint64_t seal_timeout_ns;    /* 0: 5 s */
	/* The engine's, each with `context`. */
	void *context;
	void (*status)(void *context, struct service_status *ret_status);
	/*
	 * Wants the time until `until_ns` (CLOCK_REALTIME, not far in the future) to be in the
	 * history as soon as may be: a window ends there, so that another can begin there. Told by
	 * api_sealed().
	 */
	void (*request_seal)(void *context, uint64_t until_ns);
};

/* Takes the listeners' descriptors if it returns 0; or -errno with `fault`. */
int api_new(const struct api_options *options, struct api **ret_api, struct fault *fault);
/* Ends the queries that run, and closes all connections. */
void api_free(struct api *api);
DEFINE_CLEANUP(struct api, api_free);

/*
 * The history holds all there is until then, CLOCK_REALTIME: the end of its last window, to the
 * nanosecond, so that what is asked for from there on begins with the next. To be told of each.
 */
void api_sealed(struct api *api, uint64_t until_ns);

/* As of http_server.h; the timeout is to be asked for before each waiting. */
int api_poll_fd(const struct api *api);
uint64_t api_timeout_ns(const struct api *api);
int api_run(struct api *api);

void api_counters(const struct api *api, struct http_counters *ret_counters);
