/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What requests of include/pilotlight/capture_message.h do, whoever sends them: another process by
 * way of a capture_server, or the other half in this one. What a request has opened stays for the
 * next. Requests are not trusted (I8). One owner, one thread.
 */
#pragma once

#include "pilotlight/capture_message.h"

#include <stddef.h>

struct capture_host;

struct capture_session {
	struct capture_host *host; /* owned; NULL: nothing is open */
};

void capture_session_done(struct capture_session *session);

/* Is it well-formed? Returns 0 or -EBADMSG. */
int capture_request_check(const struct pilotlight_capture_request *request);

/*
 * Executes a request that was checked and fills in all of the answer. Returns how many descriptors
 * go with it, which stay the session's: 0 where the result is an error.
 */
size_t capture_session_execute(struct capture_session *session,
	const struct pilotlight_capture_request *request, struct pilotlight_capture_answer *answer,
	int fds[PILOTLIGHT_CAPTURE_FDS]);
