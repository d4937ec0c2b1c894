/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An HTTP server on sockets from systemd's socket activation or on its own: a unix socket, and TCP
 * only on request. It knows nothing of profiles; the owner supplies the routes. One poll descriptor
 * drives it in the owner's loop and thread. Slow answers are made elsewhere and passed to
 * http_answer() when complete. A slow client delays no other client.
 *
 * These are bounded (I4, I5): connections, in all and for one user, each with one request at a
 * time; the bytes of a request's head and its parameters; the time to receive a request and to send
 * an answer, but not to make it; the bytes of unread answers. The server answers anything beyond a
 * bound with a status (400, 413, 414, 429, 431, 503) or closes the connection.
 *
 * A client that sends "Pilotlight-Status: 200" gets that status with each answer, and the true one
 * in the same field, if it is 400 or more.
 *
 * It also refuses requests that a hostile web page makes through its visitor's browser, and
 * strangers on TCP if there is a token (400, 401, 403; http_access.h).
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct http_server;
struct http_request;

#define HTTP_STATUS_FIELD "Pilotlight-Status"

struct http_limits {
	unsigned connections;	      /* 64; the last 8 only for a local user's first connection */
	unsigned connections_of_user; /* 32; on TCP for one address */
	size_t head_bytes;	      /* 16 KiB for the request line and all header fields */
	/* 64 MiB of unread answers; half of it for one user. Small answers always pass. */
	size_t answer_bytes;
	unsigned head_timeout_s; /* 10, to receive a whole request */
	/*
	 * 60, between two reads of an answer. The whole answer has this time plus one second for
	 * each 16 KiB.
	 */
	unsigned idle_timeout_s;
};
extern const struct http_limits http_default_limits;

/*
 * Who may ask. By TCP: see http_access.h. On the unix socket root, the service's own user, and the
 * socket's owner and group may see everything, whatever its mode; others are refused, or are
 * guests.
 */
struct http_access {
	bool allows_self; /* other local users are guests, who may ask for what is their own */
	/* Borrowed; names that Host may have, beyond addresses and "localhost". */
	char *const *host_names;
	size_t host_name_count;
	const char *token;   /* borrowed; clients must send it; NULL: none */
	const char *refusal; /* borrowed; if not NULL, all get a 503 with this text */
	/* Borrowed; a path without data, whose clients may omit the token; NULL: none. */
	const char *open_path;
};

/* What a client may see. In doubt, nothing. */
enum http_peer_access {
	HTTP_PEER_STRANGER,
	HTTP_PEER_SELF, /* a guest: what belongs to its uid alone */
	HTTP_PEER_ALL,
};

/* The client's identity, from the kernel (SO_PEERCRED). TCP has none: uid -1, gid -1, pid 0. */
struct http_peer {
	bool is_local; /* connected to the unix socket */
	uid_t uid;
	gid_t gid;
	pid_t pid;
	enum http_peer_access access;
	char address[64]; /* "127.0.0.1:4711"; "unix" */
};

/*
 * Guests together have half of the connections and of the bytes for unread answers, so that others
 * always have the other half. Strangers count as guests until they have read their refusal.
 */
static inline bool http_peer_is_guest(const struct http_peer *peer)
{
	return peer->access != HTTP_PEER_ALL;
}

/*
 * Returns the first query parameter of this name, decoded, as UTF-8 without a NUL. Returns NULL if
 * there is none and "" if it has no value. Borrowed.
 */
const char *http_request_parameter(const struct http_request *request, const char *name);
/*
 * Calls `function` for each parameter in order until it returns a nonzero value, and returns that
 * value. Use it for repeatable parameters and to find unknown ones.
 */
typedef int (*http_parameter_function)(void *context, const char *name, const char *value);
int http_request_each(
	const struct http_request *request, http_parameter_function function, void *context);
/* Does the client accept an answer with Content-Encoding: gzip? */
bool http_request_accepts_gzip(const struct http_request *request);
void http_request_peer(const struct http_request *request, struct http_peer *ret_peer);

/* On TCP a user is an address, whatever the port. */
bool http_peer_is_same_user(const struct http_peer *a, const struct http_peer *b);
/* Writes "user 1000, pid 4711" or a TCP address into `text`, and returns it. */
enum { HTTP_PEER_TEXT_BYTES = 80 };
const char *http_peer_text(const struct http_peer *peer, char text[HTTP_PEER_TEXT_BYTES]);

/* A header field; borrowed. */
struct http_field {
	const char *name, *value;
};

/*
 * http_answer() answers a request. Call it once for each request, in the route's function or later,
 * in the server's thread. It always takes `body` and releases it with free().
 *
 * Until that call the request stays valid while the server lives, even if its client has left; see
 * http_request_is_gone(). If the body exceeds `answer_bytes`, the client gets a 503 with the
 * reason, or a 429 if the body exceeds the user's own share.
 */
struct http_answer {
	unsigned status;
	const char *content_type;
	/* Content-Security-Policy. NULL: a browser loads and runs nothing. */
	const char *content_policy;
	const struct http_field *fields; /* further header fields; copied */
	size_t field_count;
	char *body;
	size_t size;
};
void http_answer(struct http_request *request, const struct http_answer *answer);
/*
 * Answers with the first `size` bytes of a file, read as the client receives them. The file must
 * not shrink. `body` must be NULL. Takes `fd`.
 */
void http_answer_file(struct http_request *request, const struct http_answer *answer, int fd);
/*
 * Returns the largest body that would fit now. Another answer may use the room before this one is
 * complete.
 */
size_t http_answer_room(const struct http_request *request);
/* Answers with any status and a plain text: the fault, then its remedy. */
void http_answer_text(struct http_request *request, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Returns whether the client has left. On TCP only a reset shows that: a client that closed its
 * side may still read.
 */
bool http_request_is_gone(const struct http_request *request);

struct http_route {
	/* "GET", which also answers HEAD; of "POST" a body of up to 4 MiB is read and thrown away.
	 * Other bodies are refused. */
	const char *method;
	const char *path; /* exact */
	void (*function)(void *context, struct http_request *request);
	/*
	 * May be NULL. http_server_run() calls it once if the client leaves before the answer. The
	 * route must still call http_answer(), which releases the request.
	 */
	void (*gone)(void *context, struct http_request *request);
	/* May be NULL. A header field that plain-text answers of this route carry, with value 1. */
	const char *text_field;
	/* Guests may ask, too: the answer has nothing of other users. */
	bool is_for_guests;
};

/* A listening socket. http_server_new() takes the descriptor if it succeeds. */
struct http_listener {
	int fd;
	bool is_tcp;
	/* Of a unix socket's file; -1: unknown. */
	uid_t owner;
	gid_t group;
	bool is_public; /* every user may connect */
};

/* The listener of an inherited socket. */
struct http_listener http_listener_of(int fd);

/*
 * Creates a unix socket at `path` with this mode and the group `gid` unless it is -1. It replaces a
 * dead socket and stays after exit, until http_unlisten_unix(). Both functions that listen return
 * 0, or -errno with `fault`.
 */
enum { HTTP_SOCKET_OF_GROUP = 0660, HTTP_SOCKET_OF_ALL = 0666 };
int http_listen_unix(const char *path, mode_t mode, gid_t gid, struct http_listener *ret_listener,
	struct fault *fault);
/* Removes the file of a socket on which no process listens any more. */
void http_unlisten_unix(const char *path);
/* Listens on "127.0.0.1:7447" or "[::1]:7447"; port 0 selects a free port. */
int http_listen_tcp(const char *address, struct http_listener *ret_listener, struct fault *fault);

/*
 * Loads libmicrohttpd, which http_server_new() otherwise loads. Call it before a sandbox that
 * denies access to files. Returns 0, or -errno with `fault`.
 */
int http_server_prepare(struct fault *fault);

/*
 * Borrows `routes` (ended by a NULL path) and `context`, copies the rest. Returns 0, or -errno with
 * `fault`.
 */
int http_server_new(const struct http_limits *limits, const struct http_listener *listeners,
	size_t listener_count, const struct http_route *routes, void *context,
	struct http_server **ret_server, struct fault *fault);
/* Without this call there are no host names and no token. */
void http_server_set_access(struct http_server *server, const struct http_access *access);
/* Closes every connection. Unanswered requests become invalid. */
void http_server_free(struct http_server *server);
DEFINE_CLEANUP(struct http_server, http_server_free);

/*
 * The poll descriptor is readable when there is work, including a new answer; borrowed. Also call
 * http_server_run() within http_server_timeout_ns() from now; UINT64_MAX: no timeout.
 */
int http_server_poll_fd(const struct http_server *server);
uint64_t http_server_timeout_ns(const struct http_server *server);
/* Never blocks. Returns 0, or -errno if the server cannot continue. */
int http_server_run(struct http_server *server);

struct http_counters {
	uint64_t connections, connections_refused;
	uint64_t requests;
	uint64_t statuses[6]; /* by status / 100; bytes that form no request do not count */
	uint64_t timeouts;    /* of receiving a request or sending an answer */
	uint64_t bytes;	      /* of bodies passed on for sending */
	unsigned open;	      /* connections now */
	uint64_t file_bytes;  /* unread bytes of files now */
};
void http_server_counters(const struct http_server *server, struct http_counters *ret_counters);
