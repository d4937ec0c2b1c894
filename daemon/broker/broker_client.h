/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's side of a broker_server or a capture_server: sends one request at a time and waits
 * for its answer. Used by one thread. A call never takes longer than the timeout and leaks no
 * descriptor, whatever the server does.
 *
 * An answer can arrive after its request timed out. Such late answers are recognized by their
 * number and dropped. After a timeout, requests fail at once until that answer has arrived, so that
 * a hung broker costs one timeout and not one for each request. After a pause the client tries
 * again anyway.
 */
#pragma once

#include "broker/broker_socket.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct broker_client {
	int fd; /* owned; -1: none */
	bool is_gone;
	uint64_t timeout_ns; /* for each answer */
	uint64_t number;     /* number of the last request that was sent */
	bool is_behind;	     /* that request timed out and is still unanswered */
	uint64_t retry_ns;   /* CLOCK_MONOTONIC: try again from this time on */
};

/*
 * A request, and the room for its answer. The first 16 bytes of all requests and of all answers are
 * as in struct pilotlight_broker_request and struct pilotlight_broker_answer: version, number, and
 * an answer's result.
 */
struct broker_exchange {
	uint32_t version;
	unsigned int timeouts; /* the time to wait for the answer */
	void *request, *answer;
	size_t request_bytes, answer_bytes;
};

/* Takes ownership of `fd` on success. Returns 0 or -errno of broker_socket_check(). */
int broker_client_init(struct broker_client *client, int fd, uint64_t timeout_ns);
void broker_client_done(struct broker_client *client);

/*
 * Sends the request, after setting its version and number. Returns 0 with an answer, whose result
 * may be an error, and with its descriptors, which the caller owns; an error comes with none. Or
 * -EPIPE the server is gone, for good; -ETIMEDOUT it does not answer; -EBADMSG its answer is
 * malformed; -EMFILE this process has no room for the descriptors; or -errno of sending or
 * receiving.
 */
int broker_client_ask(struct broker_client *client, const struct broker_exchange *exchange,
	struct broker_message *ret_message);
