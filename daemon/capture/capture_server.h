/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The privileged half of capture as another process has it: requests of
 * include/pilotlight/capture_message.h come in on one socket, and programs, maps, events and rings
 * live here, beyond the life of whoever asks: the next one takes them over as they are. The other
 * side is not trusted (I8): descriptors that it sends are never taken, its numbers are checked, and
 * an answer that it does not take is dropped. Of one thread, whose loop polls.
 */
#pragma once

#include "base/cleanup.h"

struct capture_server;

/* Loads nothing yet. Returns 0 or -errno. */
int capture_server_new(struct capture_server **ret_server);
void capture_server_free(struct capture_server *server);
DEFINE_CLEANUP(struct capture_server, capture_server_free);

/* Serves `fd`, in the place of one that is gone; takes it if it returns 0; else -errno. */
int capture_server_connect(struct capture_server *server, int fd);

/* Readable when capture_server_run() has something to do; borrowed. */
int capture_server_poll_fd(const struct capture_server *server);

/* Serves one request, which may load all programs anew, so that its thread's other work goes on.
 * Returns 0; -EPIPE: the other side is gone, and the socket is closed; or what receiving failed
 * with. */
int capture_server_run(struct capture_server *server);
