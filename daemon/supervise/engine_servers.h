/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the broker's process serves: files and children to one engine at a time, capture to whoever
 * comes next too. Files are opened by another process (broker/file_opener.h), so that one which
 * does not open holds up nothing here. One owner, one thread.
 */
#pragma once

#include "broker/file_opener.h"

#include <poll.h>
#include <stdbool.h>

struct broker_server;
struct capture_server;

enum { ENGINE_SERVERS = 2 };

struct engine_servers {
	struct capture_server *capture; /* for good */
	struct broker_server *broker;	/* NULL: there is no engine, or it has closed its side */
	struct file_opener_lost lost_openers; /* of the engines before */
	bool has_capture_socket;
	bool has_told; /* of this engine's files that do not open */
};

/* Lets this process have as many descriptors as it may: each CPU takes some. Returns 0 or -errno;
 * what is left is to be freed anyway. */
int engine_servers_init(struct engine_servers *servers);
void engine_servers_done(struct engine_servers *servers);

/* Serves an engine in the place of one that is gone. Takes those that become -1. Returns 0 or
 * -errno. */
int engine_servers_connect(struct engine_servers *servers, int *broker_fd, int *capture_fd);

/* The engine is gone: ends the children that it had, and keeps what capture has. */
void engine_servers_disconnect(struct engine_servers *servers);

/* What to poll for. */
void engine_servers_want(const struct engine_servers *servers, struct pollfd fds[ENGINE_SERVERS]);

/* Serves what poll() has found. A side that fails is closed, as one that the engine has closed. */
void engine_servers_run(struct engine_servers *servers, const struct pollfd fds[ENGINE_SERVERS]);
