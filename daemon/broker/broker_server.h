/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broker's server: receives the requests of include/pilotlight/broker_request.h on one socket,
 * executes them with the privileges of this process and answers them. The children that it starts
 * are children of this process and end with the server (broker_children.h). Used by one thread,
 * whose loop polls broker_server_poll_fd(). No other code in this process may wait for children
 * that it did not start (waitpid(-1), or SIGCHLD ignored).
 *
 * The server parses no file that it opens for a client (I6). It looks only at the fixed fields of a
 * request; at a found file's type, owner, mode, links, size and file system, and at its start;
 * and in /proc/PID at the start time and the user (start_time.h, process_user.h). The
 * start keeps a compromised engine from files that are no code, jitdumps or perf maps. Reading it
 * may take as long as opening the file and counts against the same timeout. The server joins a
 * request's texts to paths at a slash or at "/.dwz/"; the kernel walks the paths.
 *
 * The client is not trusted (I8). The server never receives descriptors that the client sends, so
 * that they cannot use up this process's numbers. It drops an answer that the client does not
 * receive, rather than wait. It keeps nothing between requests but counters and children.
 *
 * Only a file system can make the server wait, because a path may lead to one that hangs. If the
 * options set a request timeout, files are therefore opened in a separate process from the first
 * request on (file_opener.h). A request that exceeds the timeout is answered with -ETIMEDOUT. The
 * server meanwhile starts children, and its thread's other work goes on. If that process cannot be
 * started, or the client has made too many far-reaching requests (request_rate.h), requests for
 * files are refused with -EAGAIN.
 */
#pragma once

#include "base/cleanup.h"
#include "broker/broker_children.h"
#include "pilotlight/broker_request.h"

#include <stdint.h>

struct broker_server;

/* Why a request was refused. */
enum broker_refusal {
	BROKER_REFUSAL_SIZE,	   /* malformed: wrong size */
	BROKER_REFUSAL_DESCRIPTOR, /* malformed: it came with a descriptor */
	BROKER_REFUSAL_FIELD,	   /* malformed: a field is invalid */
	BROKER_REFUSAL_GONE,	   /* -ESRCH */
	BROKER_REFUSAL_MISSING,	   /* -ENOENT, -ENOTDIR */
	BROKER_REFUSAL_PRIVILEGE,  /* -EACCES, -EPERM */
	BROKER_REFUSAL_UNFIT,	   /* -EINVAL, -ENOEXEC, -EMLINK, -ELOOP, -EXDEV, -ENAMETOOLONG */
	BROKER_REFUSAL_EXHAUSTED,  /* -EAGAIN, -EMFILE, -ENFILE, -ENOMEM, -ETOOMANYREFS */
	BROKER_REFUSAL_LATE,	   /* -ETIMEDOUT */
	BROKER_REFUSAL_OTHER,	   /* any other -errno */
	BROKER_REFUSALS,
};

/*
 * Each request is counted once, as opened or refused, even if its answer is dropped. The exception
 * is a request whose opener died while serving it.
 */
struct broker_server_counters {
	uint64_t opened[PILOTLIGHT_BROKER_OPERATIONS];
	uint64_t refused[PILOTLIGHT_BROKER_OPERATIONS]; /* element 0: malformed requests */
	uint64_t refusals[BROKER_REFUSALS];		/* the refused requests by reason */
	uint64_t answers_dropped;
	struct broker_children_counters children; /* as of the last broker_server_run() */
};

/*
 * `options` as for broker_new(); `lost_openers` and `request_rate` must outlive the server. Takes
 * ownership of `fd` on success. Returns 0, -ENOMEM, or -errno of broker_socket_check() or of a
 * system call.
 */
int broker_server_new(
	int fd, const struct broker_options *options, struct broker_server **ret_server);
void broker_server_free(struct broker_server *server);
DEFINE_CLEANUP(struct broker_server, broker_server_free);

/* Readable when broker_server_run() has something to do; borrowed. */
int broker_server_poll_fd(const struct broker_server *server);

/*
 * Serves waiting requests, but only a few, so that the thread's other work goes on. Returns 0;
 * -EPIPE: the client is gone and the server may be freed; or -errno of receiving.
 */
int broker_server_run(struct broker_server *server);

/* Borrowed; stays valid and up to date until the server is freed. */
const struct broker_server_counters *broker_server_counters(const struct broker_server *server);
