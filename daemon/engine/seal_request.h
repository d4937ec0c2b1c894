/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Clients that wait for sealed history: up to which time, and how far the service has got. Times
 * are CLOCK_REALTIME. When that clock is set back, times in the future are forgotten, so no client
 * waits until they come again. For one thread; all zeros at first.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct seal_request {
	uint64_t requested_ns; /* clients wait for windows up to here */
	uint64_t ended_ns;     /* windows have ended up to here */
	uint64_t closed_ns;    /* they are sealed, or dropped, up to here */
};

/* Requests history up to `until_ns`, but not beyond now: a client gets what there is. */
void seal_request_add(struct seal_request *request, uint64_t until_ns, uint64_t now_ns);

/* Must the open window end for a client? */
bool seal_request_is_due(const struct seal_request *request);
/* The open window is about to end. */
void seal_request_end_window(struct seal_request *request, uint64_t now_ns);

/* Does a client wait for a window that has ended or is due to end? */
bool seal_request_is_pending(const struct seal_request *request);
/* The window that ended at `end_ns` is sealed, or was dropped. */
void seal_request_close_window(struct seal_request *request, uint64_t end_ns);
