/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process in which a broker_server opens files. A file system may hang: its server may be gone,
 * or it may be an unprivileged user's program (FUSE). A process's memory may be locked by a thread
 * that waits for such a file system. Whoever opens a file there hangs, too. The broker itself must
 * not hang, so a fork of it receives requests from the client's socket and answers them. The fork
 * keeps only the capabilities for opening files, and of the descriptors only the client's socket
 * and its own. It lowers the capability that opens all folders, so that a request raises it for the
 * files that it knows from the kernel, and no name that a client makes up leads into a closed
 * folder. A filter leaves it only the calls that it needs (sandbox_forbid_opener()).
 *
 * A request stays in the socket until it is answered. A timer that both processes share runs while
 * a request is executed. When it expires, the server kills the opener and refuses the request
 * itself. The next request gets a quarter of the timeout, the one after that a 16th, until a minute
 * after the first timeout. So a client that asks for a hundred files of a dead server gets through.
 *
 * A killed opener that hangs in a file system ends when that file system lets it, which may be
 * never. So there are FILE_OPENERS_MAX at most (I4), including those that earlier servers left in
 * file_opener_lost. An opener that is idle for half a minute ends, as most bursts of requests are
 * shorter. One that is a minute old ends as soon as it is idle, because its CPU time is accounted
 * only then.
 *
 * One owner, one thread, which polls the epoll descriptor that it passes in.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FILE_OPENERS_MAX = 16 };

/*
 * Killed openers that had not ended when their server did. The next server waits for them. Outlives
 * the servers, of which there is one at a time.
 */
struct file_opener_lost {
	pid_t pids[FILE_OPENERS_MAX];
	size_t count;
};

struct file_opener {
	int epoll_fd;	/* borrowed */
	int timer_fd;	/* runs while a request is executed */
	int control_fd; /* to the running opener; -1: none runs */
	uint64_t timeout_ns;
	unsigned int timeouts;	       /* in a row */
	uint64_t first_timeout_ns;     /* CLOCK_MONOTONIC */
	bool opens_closed_folders;     /* the capability stays up */
	struct file_opener_lost *lost; /* borrowed; NULL: killed openers are forgotten */
	/* Element 0 is the running opener, if there is one; all others were killed. */
	struct file_opener_process {
		pid_t pid; /* 0: none */
		int pidfd;
	} processes[FILE_OPENERS_MAX];
};

/* Moves the processes of `lost` here, unless it is NULL. It does not open closed folders yet. */
void file_opener_init(struct file_opener *opener, int epoll_fd, uint64_t timeout_ns,
	struct file_opener_lost *lost);

/* Kills all openers and waits up to 500 ms. Those that have not ended go to `lost`. */
void file_opener_done(struct file_opener *opener);

bool file_opener_is_running(const struct file_opener *opener);

/*
 * Starts an opener; none may be running. The new process calls `serve` repeatedly to serve one
 * message of the socket. `serve` calls file_opener_begin() and file_opener_end() around work that
 * may hang. It returns 0, -EAGAIN if no message is waiting, or an error that ends the process.
 * Returns 0; -EAGAIN FILE_OPENERS_MAX exist; or -errno.
 */
int file_opener_start(struct file_opener *opener, int socket_fd,
	int (*serve)(void *context, int socket_fd), void *context);

/* What has become of the running opener. */
enum file_opener_event {
	FILE_OPENER_NOTHING,
	FILE_OPENER_HANDS_OVER, /* the server must serve the next message, then call
				   file_opener_hand_back() */
	FILE_OPENER_ENDED,	/* it was idle, or the client is gone */
	FILE_OPENER_LATE,	/* killed: it timed out over the next message */
	FILE_OPENER_FAILED,	/* it died, over the next message or between two */
};
enum file_opener_event file_opener_run(struct file_opener *opener);
void file_opener_hand_back(struct file_opener *opener);

/* --- in the new process --- */

/* Starts the time of a request. Returns 0 or -errno. */
int file_opener_begin(const struct file_opener *opener);
void file_opener_end(const struct file_opener *opener);

/*
 * Lets the server serve the next message and waits for that. Returns 0; -EPIPE: the server is gone.
 */
int file_opener_hand_over(const struct file_opener *opener);
