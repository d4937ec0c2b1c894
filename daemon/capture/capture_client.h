/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The client's side of a capture_server: sends one request at a time and waits for its answer. Used
 * by one thread. A call never takes longer than the timeout and leaks no descriptor, whatever the
 * server does.
 *
 * An answer can arrive after its request timed out. Such late answers are recognized by their
 * number and dropped. After a timeout, requests fail at once until that answer has arrived, so that
 * a hung broker costs one timeout and not one for each request. After a pause the client tries
 * again anyway.
 */
#pragma once

#include "base/cleanup.h"
#include "pilotlight/capture_message.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct capture_client;

/*
 * `timeout_ns` is for each answer; loading the programs gets twelve times as long. Takes ownership
 * of `fd` on success. Returns 0, -ENOMEM, or -errno of broker_socket_check().
 */
int capture_client_new(int fd, uint64_t timeout_ns, struct capture_client **ret_client);
void capture_client_free(struct capture_client *client);
DEFINE_CLEANUP(struct capture_client, capture_client_free);

/* Returns the open socket to the caller, who then frees the client. */
int capture_client_release(struct capture_client *client);

/*
 * Sends the request, after setting its version and number. Returns 0 with an answer, whose result
 * may be an error, and its descriptors, which the caller owns; -EPIPE the server is gone, for good;
 * -ETIMEDOUT it does not answer; -EBADMSG its answer is malformed; -EMFILE this process has no room
 * for the descriptors; or -errno of sending or receiving.
 */
int capture_client_ask(struct capture_client *client, struct pilotlight_capture_request *request,
	struct pilotlight_capture_answer *ret_answer, int fds[PILOTLIGHT_CAPTURE_FDS],
	size_t *ret_count);
