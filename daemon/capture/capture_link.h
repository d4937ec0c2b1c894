/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The link from capture to its host, by the messages of pilotlight/capture_message.h: over a
 * socket, or within this process, where descriptors are duplicated instead of sent. One owner, one
 * thread.
 */
#pragma once

#include "base/cleanup.h"
#include "pilotlight/capture_message.h"

#include <stdbool.h>
#include <stddef.h>

struct capture_link;
struct cgroup_choice;

/*
 * Links to a host in this process, which ends with the link. `choice` (NULL: all cgroups) is
 * copied. Returns 0 or -ENOMEM.
 */
int capture_link_new(const struct cgroup_choice *choice, struct capture_link **ret_link);
/*
 * Links to a capture_server. Takes ownership of `fd` on success. Returns 0, -ENOMEM, or -errno of
 * broker_socket_check().
 */
int capture_link_connect(int fd, struct capture_link **ret_link);
void capture_link_free(struct capture_link *link);
DEFINE_CLEANUP(struct capture_link, capture_link_free);

/* Returns the socket of a connected link to the caller, who then frees the link. */
void capture_link_release(struct capture_link *link);

bool capture_link_is_here(const struct capture_link *link);

/*
 * Sends the request, after setting its version and number. Returns the answer's result, and its
 * descriptors, which the caller owns; or -errno of broker_client_ask() with `ret_answer`
 * untouched.
 */
int capture_link_ask(struct capture_link *link, struct pilotlight_capture_request *request,
	struct pilotlight_capture_answer *ret_answer, int fds[PILOTLIGHT_CAPTURE_FDS],
	size_t *ret_count);
void capture_link_close_fds(int *fds, size_t count);
