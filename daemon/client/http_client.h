/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The command's HTTP client: sends GET and POST requests to the service's unix socket, one after
 * another. It reuses the connection if the service keeps it open. It honours the caller's timeout
 * and streams each body to the caller without storing it. One thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/output.h"

#include <stdbool.h>
#include <stdint.h>

struct http_client;

struct http_client_options {
	const char *socket_path;
	unsigned timeout_s;   /* for one whole request; 0: none */
	uint64_t limit_bytes; /* for one body; 0: none */
	bool accepts_gzip;    /* bodies come compressed, so that more fits the service's bounds */
	/*
	 * Called about once a second and whenever data arrives, with the body bytes received so
	 * far. A nonzero result ends the request with -ECANCELED. May be NULL.
	 */
	int (*progress)(void *context, uint64_t received_bytes);
	void *context;
};

struct http_reply {
	unsigned status; /* 200 to 299 */
	/* As pilotlight/api.h defines them; 0: not sent. */
	uint64_t covered_ns, period_ns;
	uint64_t increase; /* in billionths; 0: none */
};

/* Returns $PILOTLIGHT_SOCKET, or the service's default socket. Borrowed. */
const char *http_client_default_socket(void);

/*
 * Copies `options` and the path. Returns 0, or with a fault -ENOMEM, -ELIBACC or -ELIBBAD: libcurl
 * is not installed or unsuitable.
 */
int http_client_new(const struct http_client_options *options, struct http_client **ret_client,
	struct fault *fault);
void http_client_free(struct http_client *client);
DEFINE_CLEANUP(struct http_client, http_client_free);

/*
 * Requests `target`, an encoded path and query (client/query_text.h). `write` receives the body of
 * a success (2xx) in parts; a failure may follow parts already written. The fault receives the text
 * of any other status.
 *
 * Returns 0, or a negative errno with a fault that is a sentence for the command's user: -ENOENT no
 * such socket, -ENAMETOOLONG path too long for a socket, -ECONNREFUSED no process listens,
 * -ENOTSOCK not a socket, -EACCES no permission, -ETIMEDOUT, -E2BIG body beyond its limit,
 * -ECANCELED, -EPROTO no HTTP or a truncated answer, -EREMOTEIO another status (`ret_reply` has
 * it); or the error of `write`.
 */
int http_client_get(struct http_client *client, const char *target, output_function write,
	void *context, struct http_reply *ret_reply, struct fault *fault);
/* The same by POST, without a body. */
int http_client_post(struct http_client *client, const char *target, output_function write,
	void *context, struct http_reply *ret_reply, struct fault *fault);
