/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Serves the page (page/page_html.h) on a port of the loopback interface, and passes what it asks
 * on to the service's socket, with the rights of this process. All local users can connect to the
 * port, so each request must have a secret, which the page's address carries behind its '#':
 * browsers do not send that part. The page alone, which is no secret, needs none.
 * serve/http_access.h refuses other origins and other names for the port.
 *
 * Passes several requests on at once (ui_passes.h). A client that stops reading is cut after 20 s.
 * One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdint.h>

struct ui_server;

enum { UI_ADDRESS_BYTES = 128 };

/* `port` 0 picks a free one. `socket_path` is borrowed. Returns 0, or -errno with `fault`. */
int ui_server_new(
	const char *socket_path, uint16_t port, struct ui_server **ret_server, struct fault *fault);
void ui_server_free(struct ui_server *server);
DEFINE_CLEANUP(struct ui_server, ui_server_free);

/* "http://127.0.0.1:40321/#key=...". Borrowed. */
const char *ui_server_address(const struct ui_server *server);

/* Serves until `stop_fd` is readable. Returns 0, or -errno with `fault`. */
int ui_server_run(struct ui_server *server, int stop_fd, struct fault *fault);
