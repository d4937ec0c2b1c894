/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A capture_server at the other end of a socket, asked one thing at a time. Of one thread. Whatever
 * the other side does, asking takes no longer than its time, and leaves no descriptor behind.
 *
 * A request whose time has passed may be answered yet: such answers are known by their numbers, and
 * dropped. Until that one has come, what is asked is refused at once, so that a broker that hangs
 * is waited for once and not at every question; after a pause it is tried again all the same.
 */
#pragma once

#include "base/cleanup.h"
#include "pilotlight/capture_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_client;

/*
 * `timeout_ns` is for an answer; twelve times as long for loading the programs. Returns 0 and has
 * taken `fd`; -ENOMEM; or -errno of broker_socket_check().
 */
int capture_client_new(int fd, uint64_t timeout_ns, struct capture_client **ret_client);
void capture_client_free(struct capture_client *client);
DEFINE_CLEANUP(struct capture_client, capture_client_free);

/* Gives the socket back, open; for when the client is then freed. */
int capture_client_release(struct capture_client *client);

/*
 * Sets the request's version and number. Returns 0 with an answer, whose result may be an error,
 * and the descriptors that came with it, which the caller owns; -EPIPE: the other side is gone, now
 * and for ever; -ETIMEDOUT: it does not answer; -EBADMSG: its answer makes no sense; -EMFILE: this
 * process has no room for the descriptors; or what sending and receiving failed with.
 */
int capture_client_ask(struct capture_client *client, struct pilotlight_capture_request *request,
	struct pilotlight_capture_answer *ret_answer, int fds[PILOTLIGHT_CAPTURE_FDS],
	size_t *ret_count);
