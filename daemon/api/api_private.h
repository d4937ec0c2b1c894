/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the API share. A ticket is a request for a profile from when it is understood
 * until it is answered; it owns its query process, and each request has at most one.
 */
#pragma once

#include "api/answer_job.h"
#include "api/api.h"
#include "api/parameter_list.h"
#include "api/report.h"

#include <stdbool.h>

enum ticket_state {
	TICKET_BEGINNING, /* of a new profile: the window before it is to be sealed */
	TICKET_TAKING,	  /* of a new profile: until its time is over */
	TICKET_SEALING,	  /* what it asks for is to be sealed */
	TICKET_QUEUED,
	TICKET_RUNNING,
};

struct ticket {
	struct ticket *previous, *next; /* in the order of their coming */
	struct http_request *request;	/* until it is answered */
	struct http_peer peer;
	const char *path; /* of the route */
	enum ticket_state state;
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

/* Lines of a kind, of which each period has a few: else clients could fill the log. */
struct log_ration {
	uint64_t since_ns; /* CLOCK_MONOTONIC; the period in which `logged` were logged */
	unsigned logged;
};

struct api {
	struct http_server *server;
	int epoll_fd; /* of the server and all query processes, for the owner to wait for */
	struct api_options options; /* with its defaults */
	char *history, *symbol_cache;
	struct ticket *first, *last;
	unsigned running;
	uint64_t turn;	    /* of the ticket that was started last */
	uint64_t retry_ns;  /* CLOCK_MONOTONIC: nothing can be started until then */
	uint64_t sealed_ns; /* CLOCK_REALTIME; 0: not known */
	uint64_t wanted_ns; /* what was wanted to be sealed last */
	struct report_queries queries;
	struct log_ration refusals_logged, answers_logged;
};

/* api.c */

/* Both are rationed. `why` may be anything that was asked for; NULL: nothing more is to be said. */
void api_log_refusal(struct api *api, const char *path, const struct http_peer *peer,
	unsigned status, const char *why);
/* Who was shown what, for whoever looks into it later. */
void api_log_answer(struct api *api, const char *path, const struct http_peer *peer,
	unsigned status, uint64_t bytes);

/* ticket.c */

struct ticket_options {
	const char *path;
	enum answer_kind kind;
	uint64_t duration_ns; /* of a new profile; else 0 */
	bool is_sealed;	      /* what it asks for is in the history for sure */
};
/* Takes what is in `parameters`. Answers the request, now or later, whatever happens. */
void ticket_add(struct api *api, struct http_request *request, const struct ticket_options *options,
	struct parameter_list *parameters);
/* The route's `gone`. */
void ticket_gone(void *api, struct http_request *request);
/* Lets all of them get on. */
void tickets_run(struct api *api);
/* CLOCK_MONOTONIC; UINT64_MAX: nothing is to be done by time. */
uint64_t tickets_next_ns(const struct api *api);
void tickets_free(struct api *api);

/* ticket_turn.c */

/* Gives the ticket its turn: behind its user's others, and beside those of others. */
void ticket_take_turn(struct api *api, struct ticket *ticket);
/* The one to run next; NULL: none is queued. */
struct ticket *ticket_next(const struct api *api);

/* profile_routes.c, status_routes.c: http_route's functions; the context is the api. */
void route_profile(void *api, struct http_request *request);
void route_difference(void *api, struct http_request *request);
void route_new_profile(void *api, struct http_request *request);
void route_status(void *api, struct http_request *request);
void route_metrics(void *api, struct http_request *request);
void route_index(void *api, struct http_request *request);
void route_pprof_index(void *api, struct http_request *request);

/* "user 1000, pid 4711" or an address; in `text`, which is returned. */
enum { PEER_TEXT_BYTES = 80 };
const char *peer_text(const struct http_peer *peer, char text[PEER_TEXT_BYTES]);
