/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * HTTP on sockets that are given (systemd's socket activation) or made here: a unix socket, and TCP
 * only if it is asked for. It knows nothing of profiles: routes are given by the owner. One poll
 * descriptor drives it, in the owner's loop and thread; an answer that takes time is made elsewhere
 * and handed in when it is there, and a slow client holds up nobody.
 *
 * Bounded (I4, I5): connections in all and of one user, each with one request at a time; bytes of
 * a request's head, and its parameters; time for a request to arrive and for an answer to leave,
 * but not for it to be made; and bytes of answers that wait to be read. What is beyond them gets a
 * status (400, 413, 414, 429, 431, 503) or is closed.
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

struct http_limits {
	unsigned connections;	      /* 64; the last 8 for local users who have none yet */
	unsigned connections_of_user; /* 32; of TCP, of one address */
	size_t head_bytes;	      /* 16 KiB, of the request line and all header fields */
	/* 64 MiB, of answers that wait to be read; half of it for one user, and small ones pass. */
	size_t answer_bytes;
	unsigned head_timeout_s; /* 10, for a request to be there */
	/*
	 * 60, between the bytes of an answer that its reader takes; all of it has this time and a
	 * second more for each 16 KiB.
	 */
	unsigned idle_timeout_s;
};
extern const struct http_limits http_default_limits;

/* Who asks, as the kernel says (SO_PEERCRED); of TCP nobody knows: -1, -1 and 0. */
struct http_peer {
	bool is_local; /* by the unix socket */
	uid_t uid;
	gid_t gid;
	pid_t pid;
	char address[64]; /* "127.0.0.1:4711"; "unix" */
};

/*
 * One parameter of the query, the first of this name, decoded, which is UTF-8 without a NUL; NULL:
 * there is none, "" without a value. Borrowed.
 */
const char *http_request_parameter(const struct http_request *request, const char *name);
/*
 * Calls `function` for each, in their order, until it returns something else than 0, which is
 * returned: for those that may be given more than once, and to find those that nobody knows.
 */
typedef int (*http_parameter_function)(void *context, const char *name, const char *value);
int http_request_each(
	const struct http_request *request, http_parameter_function function, void *context);
void http_request_peer(const struct http_request *request, struct http_peer *ret_peer);

/* Of a header; borrowed. */
struct http_field {
	const char *name, *value;
};

/*
 * Answers. `body` is taken, and freed by free(), whatever becomes of it. To be called once for each
 * request, in the route's function or later, in the thread of the server; until then the request
 * stays valid, also where its client has gone, which http_request_is_gone() tells, but not beyond
 * the server. A body that does not fit into `answer_bytes` becomes a 503, or a 429 where it is the
 * user's own share, that says so.
 */
struct http_answer {
	unsigned status;
	const char *content_type;
	const char *file_name;		 /* NULL: to be shown; else it is offered as a file */
	const struct http_field *fields; /* more of them, which are copied */
	size_t field_count;
	char *body;
	size_t size;
};
void http_answer(struct http_request *request, const struct http_answer *answer);
/*
 * The same with `size` bytes of a file from its beginning on, which nobody shortens; it is read as
 * the client takes it. `body` must be NULL; `fd` is taken.
 */
void http_answer_file(struct http_request *request, const struct http_answer *answer, int fd);
/*
 * How large a body the answer may have at present: for whoever is about to make it. Another may
 * take the room meanwhile.
 */
size_t http_answer_room(const struct http_request *request);
/* Plain text, "what happened" and what to do, of any status. */
void http_answer_text(struct http_request *request, unsigned status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/*
 * Whether nobody is there to read an answer. Of TCP this is known only once the other side has
 * reset the connection: one that closed it may as well have finished writing.
 */
bool http_request_is_gone(const struct http_request *request);

struct http_route {
	const char *method; /* "GET"; HEAD is answered by GET's */
	const char *path;   /* exact */
	void (*function)(void *context, struct http_request *request);
	/*
	 * NULL, or told once, by http_server_run(), that the client of a request which the route
	 * has yet to answer is gone. It must be answered all the same: that is how it is given
	 * back.
	 */
	void (*gone)(void *context, struct http_request *request);
	/* NULL, or the name of a header field of the value 1 that texts of this route carry. */
	const char *text_field;
};

/* Sockets that are listened on; a server that could be made takes the descriptors. */
struct http_listener {
	int fd;
	bool is_tcp;
};

/*
 * Makes a unix socket at `path` (0660, the group `gid` unless it is -1), in place of a dead one. It
 * is left there at the end. Both return 0 or -errno with `fault`.
 */
int http_listen_unix(
	const char *path, gid_t gid, struct http_listener *ret_listener, struct fault *fault);
/* "127.0.0.1:7447", "[::1]:7447"; port 0 is any that is free. */
int http_listen_tcp(const char *address, struct http_listener *ret_listener, struct fault *fault);

/*
 * Loads the library that serving takes, as http_server_new() does if it is not there yet: for
 * whoever is to have no way to files by then. Returns 0 or -errno with `fault`.
 */
int http_server_prepare(struct fault *fault);

/*
 * `routes` (ended by a NULL path) and `context` are borrowed, the rest is copied. Returns 0 or
 * -errno with `fault`.
 */
int http_server_new(const struct http_limits *limits, const struct http_listener *listeners,
	size_t listener_count, const struct http_route *routes, void *context,
	struct http_server **ret_server, struct fault *fault);
/* Closes every connection; requests that have no answer yet are gone after it. */
void http_server_free(struct http_server *server);
DEFINE_CLEANUP(struct http_server, http_server_free);

/*
 * Readable when there is work, also for what http_answer() has handed in; borrowed. Besides,
 * http_server_run() wants to be called within so many ns from now; UINT64_MAX: no need to.
 */
int http_server_poll_fd(const struct http_server *server);
uint64_t http_server_timeout_ns(const struct http_server *server);
/* Never blocks. Returns 0, or -errno when the server is of no use any more. */
int http_server_run(struct http_server *server);

struct http_counters {
	uint64_t connections, connections_refused;
	uint64_t requests;
	uint64_t statuses[6]; /* by hundreds; not of what was no request at all */
	uint64_t timeouts;    /* requests that did not arrive, answers that were not read */
	uint64_t bytes;	      /* of bodies that were handed on to be sent */
	unsigned open;	      /* connections now */
	uint64_t file_bytes;  /* of files that wait to be read now */
};
void http_server_counters(const struct http_server *server, struct http_counters *ret_counters);
