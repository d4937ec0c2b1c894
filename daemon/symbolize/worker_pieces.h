/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The socket on which a worker asks for pieces of split DWARF (pilotlight/symbol_worker.h): the
 * engine's end and the worker's. The worker may be anybody's by then (I8): what it sends is
 * length-checked, it asks a bounded number of times, and the engine never waits for it. Which files
 * it may have, somebody else decides. One owner, one thread each.
 */
#pragma once

#include <stdint.h>

enum { WORKER_PIECES_MAX = 65536 };

/* The engine's end. All zeros but for `fd` -1 is one that is closed. */
struct worker_pieces {
	int fd;
	uint32_t requests_left;
};

/* Opens the file at `path` for a job. Returns 0 and a descriptor, or -errno. */
typedef int worker_pieces_opener(void *context, void *job, const char *path, int *ret_fd);

/* `epoll_fd` watches it from now on. The worker's end is the caller's. Returns 0 or -errno. */
int worker_pieces_open(struct worker_pieces *ret_pieces, int epoll_fd, int *ret_worker_fd);
void worker_pieces_done(struct worker_pieces *pieces);

/* Answers some of the requests that there are. Closes it when the worker has, or says what makes no
 * sense. */
void worker_pieces_serve(
	struct worker_pieces *pieces, worker_pieces_opener *open, void *context, void *job);

/* The worker's side: asks on PILOTLIGHT_WORKER_PIECES_FD, and waits for the answer. As the `open`
 * of a struct dwarf_piece_opener, without context. */
int worker_pieces_ask(void *context, const char *path, int *ret_fd);
