/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * State that the files of the server share. A connection lives while libmicrohttpd owns its socket.
 * A request lives from its first line until its answer is sent or its connection is lost. The
 * server suspends a connection while a route makes an answer, so only http_answer() ends a request
 * that a route holds.
 */
#pragma once

#include "serve/http_access.h"
#include "serve/http_server.h"
#include "serve/http_target.h"
#include "serve/microhttpd.h"

enum {
	/*
	 * This many connections beyond the limit may send a request and read its refusal. The
	 * server refuses further ones at once, so they use no room of admitted connections. Their
	 * clients may miss the refusal.
	 */
	REFUSALS_MAX = 16,
	/* 1/8 of the connections is reserved for local users without a connection. */
	FIRST_CONNECTIONS_SHARE = 8,
	REFUSAL_TIMEOUT_S = 2,
	/* One user's unread answers may use 1/2 of the limit for all. */
	USERS_SHARE = 2,
	/* Guests may have 1/2 of the connections and of unread answers, and each 1/4 of that. */
	GUESTS_SHARE = 2,
	GUEST_SHARE = 8,
	/*
	 * A body up to this size always fits, at most one for each connection. With many
	 * connections the size shrinks: together such bodies use at most 1/4 of the limit for all.
	 */
	SMALL_BODY_BYTES = 256 << 10,
	SMALL_BODIES_SHARE = 4,
	/* A slower reader would hold memory that other answers need. */
	LEAST_BYTES_PER_S = 16 << 10,
	/* libmicrohttpd keeps the head and its parsed fields in one pool per connection. */
	HEAD_POOL_FACTOR = 2,
	HEAD_POOL_BYTES_MIN = 4 << 10,
	BODY_BLOCK_BYTES = 32 << 10,
};

struct http_connection {
	struct http_server *server;
	struct http_connection *previous, *next;
	struct MHD_Connection *handle;
	int fd;			  /* owned by libmicrohttpd */
	struct http_peer peer;	  /* as routes see it */
	unsigned refusal_status;  /* 0: admitted */
	uint64_t deadline_ns;	  /* CLOCK_MONOTONIC; UINT64_MAX: none */
	size_t answer_bytes;	  /* of the unsent body */
	bool is_between_requests; /* idle since its last answer */
};

struct http_request {
	struct http_server *server;
	struct http_connection *connection;
	struct http_request *previous, *next; /* in the list of suspended requests */
	const struct http_route *route;	      /* NULL: no route, or not searched for one */
	struct http_target target;
	int target_error; /* of http_target_parse() */
	bool is_begun, is_answered, is_suspended;
	struct MHD_Response *response; /* NULL although answered: out of memory */
	unsigned status;
	size_t answer_bytes;
};

struct http_server {
	struct MHD_Daemon *daemon;
	int epoll_fd;
	int resume_fd; /* an eventfd that signals new answers; libmicrohttpd does not */
	struct http_limits limits;
	struct http_access access;
	struct http_listener *listeners;
	size_t listener_count;
	uint64_t listen_again_ns; /* 0: listening; else retry then, after running out of fds */
	const struct http_route *routes;
	void *context;
	struct http_connection *connections;
	struct http_request *suspended;
	size_t answer_bytes; /* of unsent bodies */
	struct http_counters counters;
};

/* http_peer.c */

/* Fills in a peer that may see nothing if the kernel does not know it. */
void http_peer_find(const struct http_server *server, int fd, struct http_peer *ret_peer);

/* http_connection.c */

/* MHD_OPTION_NOTIFY_CONNECTION. */
void http_connection_notify(void *server, struct MHD_Connection *handle, void **connection,
	enum MHD_ConnectionNotificationCode code);
/* Returns the status that refuses a new socket at once, if REFUSALS_MAX refusals wait; else 0. */
unsigned http_connection_refusal(const struct http_server *server, int fd);
/* How many connections one such user may have. */
unsigned http_connections_of_user(const struct http_limits *limits, const struct http_peer *peer);
/* Sets the connection's deadline to `seconds` from now; 0: none. */
void http_connection_allow(struct http_connection *connection, unsigned seconds);
/* Returns the bytes of unsent bodies on all connections of the same user. */
size_t http_connection_user_bytes(const struct http_connection *connection);
size_t http_connections_guest_bytes(const struct http_server *server);
/* Shuts down connections beyond their deadline. */
void http_connections_cut(struct http_server *server, uint64_t now_ns);

/* http_request.c */

/* MHD_OPTION_URI_LOG_CALLBACK: creates the request. Returns NULL if out of memory. */
void *http_request_log(void *server, const char *target, struct MHD_Connection *handle);
enum MHD_Result http_request_handle(void *server, struct MHD_Connection *handle, const char *url,
	const char *method, const char *version, const char *upload, size_t *upload_size,
	void **request);
/* MHD_OPTION_NOTIFY_COMPLETED. */
void http_request_complete(void *server, struct MHD_Connection *handle, void **request,
	enum MHD_RequestTerminationCode code);
void http_requests_resume(struct http_server *server);
/* Reports a lost client to the route if `key` is the address of a suspended, unanswered request. */
void http_request_notify_gone(struct http_server *server, const void *key);

/* http_answer.c */

/* Changes only `request`. The connection closes after this answer. `field` may be NULL. */
void http_answer_refusal(struct http_request *request, unsigned status,
	const struct http_field *field, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

/* http_accept.c */

/* Accepts a bounded number of waiting connections. */
void http_listener_accept(struct http_server *server, const struct http_listener *listener);
/* Takes a connected socket. Closes and counts it if it is refused. */
void http_connection_add(struct http_server *server, int fd);
/* Add the listeners to the poll set, or remove them. Returns 0 or -errno. */
int http_listeners_watch(struct http_server *server);
void http_listeners_ignore(struct http_server *server);
