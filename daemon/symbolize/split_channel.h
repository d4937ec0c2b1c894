/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket on which a worker requests split DWARF files (pilotlight/symbol_worker.h): the
 * engine's end and the worker's. A worker may be under control of hostile bytes (I8), so the engine
 * checks the length of each request, bounds their number and never waits. The opener decides which
 * files a worker may read. One owner, one thread for each end.
 */
#pragma once

#include <stdint.h>

enum { SPLIT_CHANNEL_REQUESTS_MAX = 65536 };

/* The engine's end. Closed: `fd` is -1, the rest 0. */
struct split_channel {
	int fd;
	uint32_t requests_left;
};

/* Opens the file at `path` for a job. Returns 0 and a descriptor, or -errno. */
typedef int split_file_opener(void *context, void *job, const char *path, int *ret_fd);

/* Adds the engine's end to `epoll_fd`. The caller owns the worker's end. Returns 0 or -errno. */
int split_channel_open(struct split_channel *ret_channel, int epoll_fd, int *ret_worker_fd);
void split_channel_done(struct split_channel *channel);

/* Answers some of the pending requests. Closes the socket after the worker has, or on an invalid
 * request. */
void split_channel_serve(
	struct split_channel *channel, split_file_opener *open, void *context, void *job);

/* The worker's side: sends a request on PILOTLIGHT_WORKER_SPLIT_FD and waits for the reply. The
 * `open` of a struct dwarf_split_opener, without context. */
int split_channel_ask(void *context, const char *path, int *ret_fd);
