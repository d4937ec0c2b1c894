/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's side of a broker_server: sends one request at a time and waits for its answer. Used
 * by one thread. A call never takes longer than the timeout and leaks no descriptor, whatever the
 * server does.
 *
 * An answer can arrive after its request timed out. Such late answers are recognized by their
 * number and dropped. After a timeout, requests fail at once until that answer has arrived, so that
 * a hung broker costs one timeout and not one for each request. After a pause the client tries
 * again anyway.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct pilotlight_broker_request;

struct broker_client {
	int fd; /* owned; -1: the server is gone */
	uint64_t timeout_ns;
	uint64_t number;   /* number of the last request that was sent */
	bool is_behind;	   /* that request timed out and is still unanswered */
	uint64_t retry_ns; /* CLOCK_MONOTONIC: try again from this time on */
};

/* Takes ownership of `fd` on success. Returns 0 or -errno of broker_socket_check(). */
int broker_client_init(struct broker_client *client, int fd, uint64_t timeout_ns);
void broker_client_done(struct broker_client *client);

/*
 * Sends the request, after setting its version and number. Returns the server's result; if 0, with
 * exactly `fd_count` (1 or 2) descriptors that the caller owns. Or -EPIPE the server is gone, for
 * good; -ETIMEDOUT it does not answer; -EBADMSG its answer is malformed; -EMFILE this process has
 * no room for the descriptors; or -errno of sending or receiving.
 */
int broker_client_ask(struct broker_client *client, struct pilotlight_broker_request *request,
	int *ret_fds, size_t fd_count);
