/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The broker as another process has it: requests of include/pilotlight/broker_request.h come in on
 * one socket, are executed with the privileges of this process, and answered. Children that it was
 * asked to start are children of this process, and end with the server (broker_children.h). Of one
 * thread, whose loop polls broker_server_poll_fd(); nobody else in this process may wait for any
 * child that is not his (waitpid(-1), or SIGCHLD ignored).
 *
 * It parses no file (I6), and what it has opened it does not read. What it looks at: the fixed
 * fields of a request, whose texts it joins to paths at a slash or "/.dwz/" and leaves to the
 * kernel to walk; what the kernel says of a file that was found (kind, size, file system); and one
 * number of the kernel's line /proc/PID/stat, since when the process is there (start_time.h).
 *
 * The other side is not trusted (I8). Descriptors that it sends are never taken, so that they need
 * no number of this process; an answer that it does not take is dropped and not waited for; and
 * nothing is kept from one request to the next but the counters and the children. Only the file
 * system can make it wait: a path may lead to one that hangs. So where the options say how long a
 * request may take, files are opened in another process (file_opener.h), from the first request on,
 * and what takes longer is answered with -ETIMEDOUT; this one starts children meanwhile, and what
 * else its thread does goes on. Where no such process can be, files are refused with -EAGAIN.
 */
#pragma once

#include "base/cleanup.h"
#include "broker/broker_children.h"
#include "pilotlight/broker_request.h"

#include <stdint.h>

struct broker_server;

/* Why nothing was opened or started. */
enum broker_refusal {
	BROKER_REFUSAL_SIZE,	   /* malformed: the request's size */
	BROKER_REFUSAL_DESCRIPTOR, /* malformed: one came with the request */
	BROKER_REFUSAL_FIELD,	   /* malformed: what a field holds */
	BROKER_REFUSAL_GONE,	   /* -ESRCH */
	BROKER_REFUSAL_MISSING,	   /* -ENOENT, -ENOTDIR */
	BROKER_REFUSAL_PRIVILEGE,  /* -EACCES, -EPERM */
	BROKER_REFUSAL_UNFIT,	   /* -EINVAL, -ELOOP, -EXDEV, -ENAMETOOLONG */
	BROKER_REFUSAL_EXHAUSTED,  /* -EAGAIN, -EMFILE, -ENFILE, -ENOMEM, -ETOOMANYREFS */
	BROKER_REFUSAL_LATE,	   /* -ETIMEDOUT */
	BROKER_REFUSAL_OTHER,	   /* what else the file system says */
	BROKER_REFUSALS,
};

/* Every request counts once, either as opened or as refused, whether its answer is taken or not;
 * but for one that the process which served it did not survive. */
struct broker_server_counters {
	uint64_t opened[PILOTLIGHT_BROKER_OPERATIONS];
	uint64_t refused[PILOTLIGHT_BROKER_OPERATIONS]; /* 0: malformed */
	uint64_t refusals[BROKER_REFUSALS];		/* the same, by reason */
	uint64_t answers_dropped;
	struct broker_children_counters children; /* as of the last broker_server_run() */
};

/*
 * `options` as for broker_new(); `lost_openers` must outlive the server. Takes `fd` if it returns
 * 0; or -ENOMEM, or -errno of broker_socket_check(), or of a timer.
 */
int broker_server_new(
	int fd, const struct broker_options *options, struct broker_server **ret_server);
void broker_server_free(struct broker_server *server);
DEFINE_CLEANUP(struct broker_server, broker_server_free);

/* Readable when broker_server_run() has something to do; borrowed. */
int broker_server_poll_fd(const struct broker_server *server);

/*
 * Serves what is waiting, some requests at most, so that its thread's other work goes on. Returns
 * 0; -EPIPE: the other side is gone, and the server may be freed; or what receiving failed with.
 */
int broker_server_run(struct broker_server *server);

/* Borrowed, and current as long as the server is there. */
const struct broker_server_counters *broker_server_counters(const struct broker_server *server);
