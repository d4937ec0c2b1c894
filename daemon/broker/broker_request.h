/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A request of include/pilotlight/broker_request.h, which anybody may have written (I8): checked in
 * every field, then executed with the privileges of the calling process.
 */
#pragma once

struct broker_roots;
struct pilotlight_broker_request;

/* Is it one that a client would have made, whether it makes sense or not? Returns 0 or -EBADMSG. */
int broker_request_check(const struct pilotlight_broker_request *request);

/*
 * One that was checked. Returns 0 and a descriptor that the caller owns, or -errno, as the
 * functions of broker.h tell. To start a child is no matter of it: -EINVAL.
 */
int broker_request_execute(const struct broker_roots *roots,
	const struct pilotlight_broker_request *request, int *ret_fd);
