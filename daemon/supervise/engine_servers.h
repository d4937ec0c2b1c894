/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The two servers of the broker's process. The broker server gives files and children to one
 * engine and ends with it; the capture server outlives engines. Another process opens the files
 * (broker/file_opener.h), so a blocked open() never blocks this process. One owner, one thread.
 */
#pragma once

#include "broker/file_opener.h"

#include <poll.h>
#include <stdbool.h>

struct broker_server;
struct capture_limits;
struct capture_grant;
struct capture_server;
struct cgroup_choice;
struct request_rate;

enum { ENGINE_SERVERS = 2 };

struct engine_servers_options {
	/* Its user is whoever profiles his own programs, not a service for all (broker.h). */
	bool opens_closed_folders;
	bool has_unlimited_requests;	   /* request_rate.h */
	const struct capture_grant *grant; /* capture_server_grant(); NULL: nothing */
};

struct engine_servers {
	struct engine_servers_options options;
	struct capture_server *capture;	      /* outlives engines */
	struct broker_server *broker;	      /* NULL: there is no engine, or it closed its end */
	struct file_opener_lost lost_openers; /* from earlier engines */
	struct request_rate *request_rate;    /* of all engines; NULL: unlimited */
	int config_fd;			      /* for senders of the next engine; 0: none */
	bool has_capture_socket;
	bool has_warned; /* warned about a file system that blocks opens of this engine */
	bool has_warned_of_rate;
	bool has_warned_of_fetches; /* warned that this engine's fetches have no service */
};

/* Also raises the limit of open files to its maximum, since each CPU needs some. `options`
 * is copied. Returns 0 or -errno; call engine_servers_done() in both cases. */
int engine_servers_init(
	struct engine_servers *servers, const struct engine_servers_options *options);
void engine_servers_done(struct engine_servers *servers);

/* Limits what engines may capture from now on; `limits` is copied. */
void engine_servers_limit(struct engine_servers *servers, const struct capture_limits *limits);

/* Gives the senders of the next engine this configuration. Takes the descriptor; 0: none. */
void engine_servers_configure(struct engine_servers *servers, int config_fd);

/* Chooses the cgroups that all engines record; copied. At first they are all. */
void engine_servers_choose(struct engine_servers *servers, const struct cgroup_choice *choice);

/* Serves a new engine in place of the last one. Sets each descriptor that it takes to -1. Returns 0
 * or -errno. */
int engine_servers_connect(struct engine_servers *servers, int *broker_fd, int *capture_fd);

/* After an engine's end: ends its children, and keeps the capture server with its maps. */
void engine_servers_disconnect(struct engine_servers *servers);

/* Fills in the descriptors to poll. */
void engine_servers_fill_pollfds(
	const struct engine_servers *servers, struct pollfd fds[ENGINE_SERVERS]);

/* Serves the requests that poll() reported. Closes a socket that fails or that the engine closed.
 */
void engine_servers_handle(struct engine_servers *servers, const struct pollfd fds[ENGINE_SERVERS]);
