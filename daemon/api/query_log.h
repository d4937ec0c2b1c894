/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Logs which client got which profile and which client was refused. Ten lines of each kind a minute
 * are logged, so that clients cannot fill the journal; counters cover the rest. Guests have a quota
 * of their own, so that they cannot hide what others ask.
 */
#pragma once

#include "serve/http_server.h"

#include <stdint.h>

struct query_log {
	struct query_log_quota {
		uint64_t since_ns; /* CLOCK_MONOTONIC: when the current minute began */
		unsigned logged;   /* lines in this minute */
	} answers[2], refusals[2]; /* of guests: the second */
};

void query_log_answer(struct query_log *log, const char *path, const struct http_peer *peer,
	unsigned status, uint64_t bytes);
/* `reason` may hold any bytes. */
void query_log_refusal(struct query_log *log, const char *path, const struct http_peer *peer,
	unsigned status, const char *reason);
