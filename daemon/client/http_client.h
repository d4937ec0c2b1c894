/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command's side of the service's interface: GET by HTTP on a unix socket, one request after
 * another on one connection where the service keeps it. It waits as long as it is told to and holds
 * no more of an answer than its reader's function does. One thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/output.h"

#include <stdint.h>

struct http_client;

struct http_client_options {
	const char *socket_path;
	unsigned timeout_s;   /* of one request in all; 0: none */
	uint64_t limit_bytes; /* of one body; 0: none */
	/*
	 * Called about once a second and whenever something comes, with what has come of the body;
	 * not 0 ends the request with -ECANCELED. May be NULL.
	 */
	int (*progress)(void *context, uint64_t received_bytes);
	void *context;
};

enum { HTTP_CLIENT_TYPE_BYTES = 128 };

struct http_reply {
	unsigned status;			   /* 200 to 299 */
	char content_type[HTTP_CLIENT_TYPE_BYTES]; /* "" without one */
	uint64_t body_bytes;
	/* As pilotlight/api.h has them; 0: not told. */
	uint64_t covered_ns, period_ns;
};

/* $PILOTLIGHT_SOCKET, or where the service makes its socket. Borrowed. */
const char *http_client_default_socket(void);

/* `options` and the path are copied. Returns 0 or -ENOMEM. */
int http_client_new(const struct http_client_options *options, struct http_client **ret_client);
void http_client_free(struct http_client *client);
DEFINE_CLEANUP(struct http_client, http_client_free);

/*
 * Asks for `target`, a path and a query that are encoded already (client/query_text.h). The body
 * goes to `write`, in pieces, of which some may have gone when a later one fails; only that of a
 * success (2xx) does, what else the service says goes to the fault.
 *
 * Returns 0, or a negative errno with a fault that is a sentence for whoever typed the command:
 * -ENOENT no socket there, -ENAMETOOLONG no path for one, -ECONNREFUSED nobody listens on it,
 * -ENOTSOCK it is none, -EACCES it is not for this user, -ETIMEDOUT, -E2BIG the body is beyond its
 * limit, -ECANCELED, -EPROTO no HTTP or cut short, -EREMOTEIO the service answered with another
 * status, which `ret_reply` has in that case too; and what `write` failed with.
 */
int http_client_get(struct http_client *client, const char *target, output_function write,
	void *context, struct http_reply *ret_reply, struct fault *fault);
