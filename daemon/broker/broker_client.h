/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A broker that lives behind a socket, asked one thing at a time. Of one thread. Whatever the other
 * side does, asking takes no longer than the timeout, and leaves no descriptor behind.
 *
 * A request whose time has passed may be answered yet: such answers are known by their numbers,
 * and dropped. Until that one has come, what is asked is refused at once, so that a broker that
 * hangs is waited for once and not at every question; after a pause it is tried again all the same.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pilotlight_broker_request;

struct broker_client {
	int fd; /* owned; -1: the other side is gone */
	uint64_t timeout_ns;
	uint64_t number;   /* of the last request that was sent */
	bool is_behind;	   /* its time has passed and its answer has not come */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: then it is tried all the same */
};

/* Takes `fd` if it returns 0; or -errno of broker_socket_check(). */
int broker_client_init(struct broker_client *client, int fd, uint64_t timeout_ns);
void broker_client_done(struct broker_client *client);

/*
 * Sets the request's version and number. Returns what the broker answers, with 0 as many
 * descriptors as are wanted, 1 or 2, which the caller owns; -EPIPE: the other side is gone, now and
 * for ever; -ETIMEDOUT: it does not answer; -EBADMSG: its answer makes no sense; -EMFILE: this
 * process has no room for the descriptors; or what sending and receiving failed with.
 */
int broker_client_ask(struct broker_client *client, struct pilotlight_broker_request *request,
	int *ret_fds, size_t wanted);
