/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Passes requests of a browser on to the service, UI_PASSES at once: a slow answer holds up no
 * other one. A thread with a connection of its own waits for each answer. Further requests wait for
 * one of these to end; the HTTP server bounds their number. All functions are called by the
 * server's thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <stddef.h>

struct http_request;
struct ui_passes;

/* Browsers open six connections to a server. The longest answers of all take so much memory. */
enum { UI_PASSES = 8, UI_PASS_BYTES = 32 << 20 };

/* Borrows the path. Returns 0, or -errno with `fault`. */
int ui_passes_new(const char *socket_path, struct ui_passes **ret_passes, struct fault *fault);
/* Ends all requests, which stay unanswered. */
void ui_passes_free(struct ui_passes *passes);
DEFINE_CLEANUP(struct ui_passes, ui_passes_free);

/* Answers the request, now or in ui_passes_run(), with what the service says to `target`. */
void ui_passes_add(struct ui_passes *passes, struct http_request *request, const char *target);

/* The client of the request has left: the service need not answer it any more. */
void ui_passes_abandon(struct ui_passes *passes, struct http_request *request);

/* Readable when an answer has come; borrowed. Call ui_passes_run() then. */
int ui_passes_poll_fd(const struct ui_passes *passes);
void ui_passes_run(struct ui_passes *passes);
