/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What requests of include/pilotlight/capture_message.h do, whoever sends them: another process by
 * way of a capture_server, or the other half in this one. What a request has opened stays for the
 * next. Requests are not trusted (I8). One owner, one thread.
 */
#pragma once

#include "pilotlight/capture_message.h"

#include <stdbool.h>
#include <stddef.h>

struct capture_host;

struct capture_session {
	struct capture_host *host; /* owned; NULL: nothing is open */
	bool is_held;		   /* whoever asks has opened it, or taken it over */
	/* What was in hosts that were dropped, until an engine that was told of it has started. */
	struct pilotlight_counters left_behind;
};

void capture_session_done(struct capture_session *session);

/* Whoever asks from now on is another engine. */
void capture_session_pass_on(struct capture_session *session);

/* Is it well-formed? Returns 0 or -EBADMSG. */
int capture_request_check(const struct pilotlight_capture_request *request);

/*
 * Executes a request that was checked and fills in all of the answer. Returns how many descriptors
 * go with it, which stay the session's: 0 where the result is an error.
 */
size_t capture_session_execute(struct capture_session *session,
	const struct pilotlight_capture_request *request, struct pilotlight_capture_answer *answer,
	int fds[PILOTLIGHT_CAPTURE_FDS]);
