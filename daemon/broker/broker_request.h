/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Checks every field of a request of include/pilotlight/broker_request.h, which may come from an
 * attacker (I8), and executes it with the privileges of the calling process.
 */
#pragma once

#include <stdbool.h>

struct broker_roots;
struct pilotlight_broker_request;

/* Is the request well-formed? Values that it uses may still be invalid. Returns 0 or -EBADMSG. */
int broker_request_check(const struct pilotlight_broker_request *request);

/*
 * Does a request that passed the check lead to files of users, or to a name that the client made
 * up? Others lead to what every process has in /proc, and to files of the kernel.
 */
bool broker_request_is_far_reaching(const struct pilotlight_broker_request *request);

/*
 * Executes a request that passed the check. Returns 0 and a descriptor that the caller owns, or
 * -errno as documented in broker.h. -EINVAL for a request to start a child, which only a
 * broker_server can do.
 */
int broker_request_execute(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);
