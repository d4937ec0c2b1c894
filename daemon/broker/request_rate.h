/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Bounds the far-reaching requests, for files of users or by name (broker_request.h). Without it a
 * compromised engine could try the names of a whole file system, or keep a file server busy. Files
 * of the kernel do not count: an engine that starts requests three of each process, 16,000 a second
 * on one host, and they lead nowhere else.
 *
 * A token bucket. The burst serves the start on a host with thousands of programs: a program takes
 * up to ten requests. The bucket lies in memory that a server shares with its openers, and outlives
 * servers: a new engine gets no new burst.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { REQUEST_RATE_PER_S = 1000, REQUEST_RATE_BURST = 32768 };

struct request_rate {
	uint64_t paid_until_ns; /* the requests so far, each taking its share of a second */
	uint64_t refused;
};

/* Allocates a full bucket in shared memory. Returns 0 or -errno. */
int request_rate_new(struct request_rate **ret_rate);
void request_rate_free(struct request_rate *rate);

/* May a request go ahead at `now_ns` (CLOCK_MONOTONIC)? Otherwise counts it as refused. */
bool request_rate_take(struct request_rate *rate, uint64_t now_ns);
