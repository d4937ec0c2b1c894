/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State that the files of the API share. A query is a parsed request for a profile; it lives until
 * its request is answered. It owns its query process. Each request has at most one query.
 */
#pragma once

#include "api/answer_job.h"
#include "api/api.h"
#include "api/parameter_list.h"
#include "api/query_log.h"
#include "api/report.h"

#include <stdbool.h>

struct output;

enum query_state {
	QUERY_ALIGNING,	 /* new profile: waits for the seal of the window before it */
	QUERY_RECORDING, /* new profile: waits for its end time */
	QUERY_SEALING,	 /* waits for the seal of the requested time */
	QUERY_QUEUED,
	QUERY_RUNNING,
};

struct query {
	struct query *previous, *next; /* in order of arrival */
	struct http_request *request;  /* NULL once answered */
	struct http_peer peer;
	const char *path; /* the route's */
	enum query_state state;
	enum answer_kind kind;
	struct parameter_list parameters;
	/* New profiles only: requested duration, then begin and end in CLOCK_REALTIME. */
	uint64_t duration_ns, begin_ns, end_ns;
	uint64_t seal_ns;     /* the query needs the history up to here, CLOCK_REALTIME */
	uint64_t deadline_ns; /* of the state, CLOCK_MONOTONIC; the process has its own */
	/* Arrival, CLOCK_MONOTONIC and CLOCK_REALTIME. "last" counts back from the latter. */
	uint64_t since_ns, asked_ns;
	uint64_t turn; /* the lowest turn runs next */
	struct answer_job *job;
	uint64_t bytes_max; /* limit of the answer, set when the query runs */
};

struct api {
	struct http_server *server;
	int epoll_fd;		    /* the server and all query processes; the owner polls it */
	struct api_options options; /* defaults filled in */
	struct query *first, *last;
	unsigned running;
	uint64_t turn;		    /* of the last query started */
	uint64_t retry_ns;	    /* CLOCK_MONOTONIC: start no process before this */
	uint64_t sealed_ns;	    /* CLOCK_REALTIME; 0: unknown */
	uint64_t seal_requested_ns; /* the last time passed to request_seal() */
	struct report_queries queries;
	struct query_log log;
};

/* query_queue.c */

struct query_options {
	const char *path;
	enum answer_kind kind;
	uint64_t duration_ns; /* of a new profile; else 0 */
	bool is_sealed;	      /* the requested time is certainly in the history */
};
/* Takes the contents of `parameters`. Always answers the request, now or later. */
void query_add(struct api *api, struct http_request *request, const struct query_options *options,
	struct parameter_list *parameters);
/* Counts and logs a refusal, answers with it, and frees the request's query if there is one. */
void query_refuse(struct api *api, struct http_request *request, const char *path, unsigned status,
	const char *format, ...) __attribute__((format(printf, 5, 6)));
/* The route's `gone` callback. */
void query_abandon(void *api, struct http_request *request);
/* Advances every query that can advance. */
void queries_run(struct api *api);
/* Returns the next deadline or retry, CLOCK_MONOTONIC; UINT64_MAX: none. */
uint64_t queries_next_ns(const struct api *api);
void queries_free(struct api *api);

/* query_turn.c */

/* Assigns a turn after the same user's queries, level with other users' queries. */
void query_assign_turn(struct api *api, struct query *query);
/* Returns the query to run next, or NULL if none is queued. */
struct query *query_next(const struct api *api);

/* status_routes.c */

typedef void (*report_function)(const struct report *report, struct output *output);
/* Answers with the service's status, written by the function. */
void answer_report(struct api *api, struct http_request *request, report_function function,
	const char *content_type);

/* profile_routes.c, status_routes.c, event_routes.c: functions of struct http_route; the context is
 * the api. */
void route_profile(void *api, struct http_request *request);
void route_difference(void *api, struct http_request *request);
void route_incidents(void *api, struct http_request *request);
void route_incident(void *api, struct http_request *request);
void route_heatmap(void *api, struct http_request *request);
void route_timeline(void *api, struct http_request *request);
void route_new_profile(void *api, struct http_request *request);
void route_status(void *api, struct http_request *request);
void route_events(void *api, struct http_request *request);
void route_order_events(void *api, struct http_request *request);
void route_metrics(void *api, struct http_request *request);
void route_page(void *api, struct http_request *request);
void route_index(void *api, struct http_request *request);
void route_pprof_index(void *api, struct http_request *request);
void route_pprof_symbol(void *api, struct http_request *request);
