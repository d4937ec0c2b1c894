/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Executes the requests of include/pilotlight/capture_message.h, from another process through a
 * capture_server or from the capture in this one. The session keeps the host between requests.
 * Requests are not trusted (I8). One owner, one thread.
 */
#pragma once

#include "capture/capture_probe.h"
#include "capture/cgroup_choice.h"
#include "capture/counted_event.h"
#include "pilotlight/capture_message.h"

#include <stdbool.h>
#include <stddef.h>

struct capture_host;

/*
 * The most that a client gets: what the administrator has configured. Without it a compromised
 * client could slow down the whole machine, and take memory from everyone.
 */
struct capture_limits {
	uint32_t rate_hz;
	size_t map_bytes;
	uint8_t event; /* enum capture_event: no other one */
	bool allows_kernel;
	uint32_t sources; /* bit mask as in struct capture_settings; CPU time is always allowed */
	uint64_t least_periods[PILOTLIGHT_SOURCES]; /* of those allowed */
	uint32_t surveyed;			    /* the sources that may be surveyed, */
	uint64_t survey_ns;			    /* with this period or a longer one */
	/* Of the sources of events that a user names; no other ones. */
	struct counted_limit counted[COUNTED_LIMITS_MAX + PILOTLIGHT_COUNTED_EVENTS];
	size_t counted_count;
	struct cgroup_choice choice; /* not a limit but an order: capture_session_choose() */
};

struct capture_session {
	struct capture_host *host; /* owned; NULL: nothing is open */
	bool is_held;		   /* the present client has opened it or taken it over */
	/* The undrained counts of dropped hosts, until an engine that received them has started. */
	struct pilotlight_counters left_behind[PILOTLIGHT_SOURCES];
	bool is_own;		    /* the client is this process: what it asks for is granted */
	struct capture_grant grant; /* of breakpoints, to other clients */
	const char *event_service;  /* borrowed; NULL: none (perf_event_opener.h) */
	bool is_limited;
	struct capture_limits limits; /* if is_limited */
	struct cgroup_choice choice;
	/* If is_limited, as in struct pilotlight_capture_answer. */
	char missing[PILOTLIGHT_SOURCES][PILOTLIGHT_MISSING_BYTES];
	bool has_looked; /* for what is missing, but for events that a user names */
};

void capture_session_done(struct capture_session *session);

/* The next requests come from another engine. */
void capture_session_new_client(struct capture_session *session);

/*
 * Limits later requests, and what is open: its rate is lowered. If its memory, event or kernel
 * stacks exceed the limits, it stops, and the client must close it and open another one.
 */
void capture_session_limit(struct capture_session *session, const struct capture_limits *limits);

/*
 * Chooses the cgroups whose threads are recorded. No request can: an engine that an attacker
 * controls would include what the administrator left out. If the choice changes, what is open
 * stops, and the client must close it and open another one.
 */
void capture_session_choose(struct capture_session *session, const struct cgroup_choice *choice);

/* Is it well-formed? Returns 0 or -EBADMSG. */
int capture_request_check(const struct pilotlight_capture_request *request);

/*
 * Executes a checked request and fills in the answer. Returns the number of descriptors that go
 * with it, 0 if the result is an error. The session still owns them.
 */
size_t capture_session_execute(struct capture_session *session,
	const struct pilotlight_capture_request *request, struct pilotlight_capture_answer *answer,
	int fds[PILOTLIGHT_CAPTURE_FDS]);
