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
 *
 * Users share the bucket as user_share.h describes: one may hold twice as much as is free. Whoever
 * makes the engine ask for files all the time delays the names of that user's programs only. The
 * user is the effective uid of the process that a request names, which a container's root can
 * choose; or in a user namespace that a user created, that user.
 */
#pragma once

#include "base/user_share.h"

#include <stdbool.h>
#include <stdint.h>

enum { REQUEST_RATE_PER_S = 1000, REQUEST_RATE_BURST = 49152 };

/*
 * Fetchers that a service starts have a bucket of their own. systemd disables a socket with
 * Accept=yes after 200 connections within two seconds (TriggerLimitBurst= of systemd.socket(5)).
 */
enum { REQUEST_RATE_FETCHES_PER_S = 40, REQUEST_RATE_FETCHES_BURST = 100 };

/* The user of requests that name no process, or one that is gone. */
#define REQUEST_RATE_NOBODY UINT64_MAX

/* Times are of CLOCK_MONOTONIC. */
struct request_rate {
	struct user_share share; /* what is taken and not refilled; a request takes its share of a
				    second, in ns */
	uint64_t refilled_ns;	 /* until then the share is refilled */
	uint64_t fetches_paid_until_ns;
	uint64_t refused; /* of files */
};

/* Allocates a full bucket in shared memory. Returns 0 or -errno. */
int request_rate_new(struct request_rate **ret_rate);
void request_rate_free(struct request_rate *rate);

/* May a request of `user` go ahead at `now_ns`? Otherwise counts it as refused. */
bool request_rate_take(struct request_rate *rate, uint64_t user, uint64_t now_ns);

/* May a service start another fetcher at `now_ns`? */
bool request_rate_take_fetch(struct request_rate *rate, uint64_t now_ns);
