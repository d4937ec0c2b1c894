/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the files of the server share. A connection is ours from the moment that libmicrohttpd has
 * its socket until it closes it; a request from its first line until its answer is sent or its
 * connection is lost. While a route makes an answer the connection is suspended, so nothing but
 * http_answer() ends a request that a route holds.
 */
#pragma once

#include "serve/http_server.h"
#include "serve/http_target.h"
#include "serve/microhttpd.h"

enum {
	/*
	 * Connections beyond the limit whose request is waited for, to be told so. What is beyond
	 * them too is told at once, as far as it listens, and takes no room from those that are
	 * welcome.
	 */
	REFUSALS_MAX = 16,
	/* One of so many connections is for a local user who has none yet. */
	FIRST_CONNECTIONS_SHARE = 8,
	REFUSAL_TIMEOUT_S = 2,
	/* What one user's unread answers may take: this part of what all may. */
	USERS_SHARE = 2,
	/*
	 * A body that is no greater always has room, at most one for each connection; where these
	 * are many, less, so that all together take this part of what all may.
	 */
	SMALL_BODY_BYTES = 256 << 10,
	SMALL_BODIES_SHARE = 4,
	/* Whoever reads more slowly than this holds memory that others' answers need. */
	LEAST_BYTES_PER_S = 16 << 10,
	/* libmicrohttpd keeps the head and what it has found in it in one pool a connection. */
	HEAD_POOL_FACTOR = 2,
	HEAD_POOL_BYTES_MIN = 4 << 10,
	BODY_BLOCK_BYTES = 32 << 10,
};

struct http_connection {
	struct http_server *server;
	struct http_connection *previous, *next;
	struct MHD_Connection *handle;
	int fd;			  /* libmicrohttpd's */
	struct http_peer peer;	  /* as is told to routes */
	uint8_t peer_address[16]; /* of TCP, without the port */
	unsigned refusal_status;  /* 0: it is welcome */
	uint64_t deadline_ns;	  /* CLOCK_MONOTONIC; UINT64_MAX: none */
	size_t answer_bytes;	  /* of the body that is not sent yet */
	bool is_between_requests; /* an answer was sent and nothing was asked since */
};

struct http_request {
	struct http_server *server;
	struct http_connection *connection;
	struct http_request *previous, *next; /* of those that are suspended */
	const struct http_route *route; /* NULL: there is none for it, or it was not looked for */
	struct http_target target;
	int target_error; /* of http_target_parse() */
	bool is_begun, is_answered, is_suspended;
	struct MHD_Response *response; /* NULL once answered: there was no memory for one */
	unsigned status;
	size_t answer_bytes;
};

struct http_server {
	struct MHD_Daemon *daemon;
	int epoll_fd;
	int resume_fd; /* an eventfd: answers were handed in; libmicrohttpd tells nobody */
	struct http_limits limits;
	struct http_listener *listeners;
	size_t listener_count;
	uint64_t listen_again_ns; /* 0: listening; else out of descriptors until then */
	const struct http_route *routes;
	void *context;
	struct http_connection *connections;
	struct http_request *suspended;
	size_t answer_bytes; /* of bodies that are not sent yet */
	struct http_counters counters;
};

/* http_connection.c */

/* MHD_OPTION_NOTIFY_CONNECTION. */
void http_connection_notify(void *server, struct MHD_Connection *handle, void **connection,
	enum MHD_ConnectionNotificationCode code);
/* The status with which a socket is to be refused at once, as there are too many that wait to be;
 * or 0. */
unsigned http_connection_refusal(const struct http_server *server, int fd);
/* The connection has `seconds` from now on to get on; 0: as long as it takes. */
void http_connection_allow(struct http_connection *connection, unsigned seconds);
/* Of bodies that the same user has yet to take, on all connections. */
size_t http_connection_user_bytes(const struct http_connection *connection);
/* Ends those whose time is over. */
void http_connections_cut(struct http_server *server, uint64_t now_ns);

/* http_request.c */

/* MHD_OPTION_URI_LOG_CALLBACK: the request begins. NULL: no memory. */
void *http_request_log(void *server, const char *target, struct MHD_Connection *handle);
enum MHD_Result http_request_handle(void *server, struct MHD_Connection *handle, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size,
	void **request);
/* MHD_OPTION_NOTIFY_COMPLETED. */
void http_request_complete(void *server, struct MHD_Connection *handle, void **request,
	enum MHD_RequestTerminationCode code);
void http_requests_resume(struct http_server *server);
/* Tells the route of `key`, a suspended request if it is there yet, that its client is gone. */
void http_request_tell_gone(struct http_server *server, const void *key);

/* http_answer.c */

/* Has no effect but on `request`; for an answer that closes the connection behind it. */
void http_answer_refusal(struct http_request *request, unsigned status, const char *allow,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* http_accept.c */

/* Of what waits, a bounded number. */
void http_listener_accept(struct http_server *server, const struct http_listener *listener);
/* Takes a connected socket; one that is refused is closed and counted. */
void http_connection_add(struct http_server *server, int fd);
/* Puts the listeners into the poll set, or takes them out. Returns 0 or -errno. */
int http_listeners_watch(struct http_server *server);
void http_listeners_ignore(struct http_server *server);
