/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the API share. A query is a request for a profile from when it is understood
 * until it is answered; it owns its query process, and each request has at most one.
 */
#pragma once

#include "api/answer_job.h"
#include "api/api.h"
#include "api/parameter_list.h"
#include "api/query_log.h"
#include "api/report.h"

#include <stdbool.h>

enum query_state {
	QUERY_ALIGNING,	 /* of a new profile: the window before it is to be sealed */
	QUERY_RECORDING, /* of a new profile: until its time is over */
	QUERY_SEALING,	 /* what it asks for is to be sealed */
	QUERY_QUEUED,
	QUERY_RUNNING,
};

struct query {
	struct query *previous, *next; /* in the order of their coming */
	struct http_request *request;  /* until it is answered */
	struct http_peer peer;
	const char *path; /* of the route */
	enum query_state state;
	enum answer_kind kind;
	struct parameter_list parameters;
	/* Of a new profile: how long it is to be, and from when to when it is, CLOCK_REALTIME. */
	uint64_t duration_ns, begin_ns, end_ns;
	uint64_t seal_ns;     /* until when the history has to reach, CLOCK_REALTIME */
	uint64_t deadline_ns; /* of the state, CLOCK_MONOTONIC; the process keeps its own */
	/* When it came, CLOCK_MONOTONIC and CLOCK_REALTIME: what "last" counts from. */
	uint64_t since_ns, asked_ns;
	uint64_t turn; /* the lowest is the next to run */
	struct answer_job *job;
	uint64_t bytes_max; /* of its answer, once it runs */
};

struct api {
	struct http_server *server;
	int epoll_fd; /* of the server and all query processes, for the owner to wait for */
	struct api_options options; /* with its defaults */
	char *history, *symbol_cache;
	struct query *first, *last;
	unsigned running;
	uint64_t turn;		    /* of the query that was started last */
	uint64_t retry_ns;	    /* CLOCK_MONOTONIC: nothing can be started until then */
	uint64_t sealed_ns;	    /* CLOCK_REALTIME; 0: not known */
	uint64_t seal_requested_ns; /* what was wanted to be sealed last */
	struct report_queries queries;
	struct query_log log;
};

/* query_queue.c */

struct query_options {
	const char *path;
	enum answer_kind kind;
	uint64_t duration_ns; /* of a new profile; else 0 */
	bool is_sealed;	      /* what it asks for is in the history for sure */
};
/* Takes what is in `parameters`. Answers the request, now or later, whatever happens. */
void query_add(struct api *api, struct http_request *request, const struct query_options *options,
	struct parameter_list *parameters);
/* The route's `gone`. */
void query_abandon(void *api, struct http_request *request);
/* Lets all of them get on. */
void queries_run(struct api *api);
/* CLOCK_MONOTONIC; UINT64_MAX: nothing is to be done by time. */
uint64_t queries_next_ns(const struct api *api);
void queries_free(struct api *api);

/* query_turn.c */

/* Gives the query its turn: behind its user's others, and beside those of others. */
void query_assign_turn(struct api *api, struct query *query);
/* The one to run next; NULL: none is queued. */
struct query *query_next(const struct api *api);

/* profile_routes.c, status_routes.c: http_route's functions; the context is the api. */
void route_profile(void *api, struct http_request *request);
void route_difference(void *api, struct http_request *request);
void route_new_profile(void *api, struct http_request *request);
void route_status(void *api, struct http_request *request);
void route_metrics(void *api, struct http_request *request);
void route_index(void *api, struct http_request *request);
void route_pprof_index(void *api, struct http_request *request);
