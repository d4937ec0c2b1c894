/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The process in which a broker_server opens files. A file system may not answer, be it a server
 * that is gone or a program of anybody's (FUSE), and a process's memory may be locked by a thread
 * that waits for one: whoever looks waits too. So that it is not the process that all else depends
 * on, a fork of that takes requests from the client's socket and answers them there. It keeps the
 * capabilities that opening takes, the client's socket and nothing else that is open.
 *
 * A request stays in the socket until it is answered. While one is executed a timer runs, which
 * both processes have; where it expires the opener is killed, and the server answers in its place.
 * The next one gets a quarter of the time, down to a 16th, until a minute after the first that had
 * the whole of it: so a client that asks for a hundred files of a dead server gets through with it.
 *
 * An opener that was killed in the hands of a file system ends when that lets it, which may be
 * never: there are FILE_OPENERS_MAX at most (I4), those of the servers before included, whose pids
 * file_opener_lost hands on. One without work for half a minute ends, as most of what is run now
 * and then is run oftener; and one that is a minute old as soon as it has none: what it has cost is
 * known of it then.
 *
 * One owner, one thread, which polls the epoll descriptor that it gives.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { FILE_OPENERS_MAX = 16 };

/* Those that were killed, had not ended with their server, and are still to be waited for. Outlives
 * the servers, of which there is one at a time. */
struct file_opener_lost {
	pid_t pids[FILE_OPENERS_MAX];
	size_t count;
};

struct file_opener {
	int epoll_fd;	/* borrowed */
	int timer_fd;	/* runs while a request is executed */
	int control_fd; /* to the one that runs; -1: none does */
	uint64_t timeout_ns;
	unsigned int timeouts;	       /* that have followed each other */
	uint64_t first_timeout_ns;     /* CLOCK_MONOTONIC */
	struct file_opener_lost *lost; /* borrowed; NULL: they are forgotten */
	/* The first is the one that runs, if one does; all others were killed. */
	struct file_opener_process {
		pid_t pid; /* 0: none */
		int pidfd;
	} processes[FILE_OPENERS_MAX];
};

/* Takes over who is in `lost`, if not NULL. */
void file_opener_init(struct file_opener *opener, int epoll_fd, uint64_t timeout_ns,
	struct file_opener_lost *lost);

/* Kills those that live, and waits for their ends, but not for long. Who has not ended is lost. */
void file_opener_done(struct file_opener *opener);

bool file_opener_is_running(const struct file_opener *opener);

/*
 * None runs. In the new process `serve` is called, which serves one message of the socket, with
 * file_opener_begin() and file_opener_end() around what may take long; it returns 0, -EAGAIN where
 * there is none, or what ends the process. Returns 0; -EAGAIN: as many are there as may; or -errno.
 */
int file_opener_start(struct file_opener *opener, int socket_fd,
	int (*serve)(void *context, int socket_fd), void *context);

/* What the one that runs has come to. */
enum file_opener_event {
	FILE_OPENER_NOTHING,
	FILE_OPENER_HANDS_OVER, /* the next message is the server's; file_opener_hand_back() then */
	FILE_OPENER_ENDED,	/* it had no work, or nobody to work for */
	FILE_OPENER_LATE,	/* the next message is what it was killed over */
	FILE_OPENER_FAILED,	/* somebody has killed it, over the next message or between two */
};
enum file_opener_event file_opener_run(struct file_opener *opener);
void file_opener_hand_back(struct file_opener *opener);

/* --- in the new process --- */

/* The time of a request runs. Returns 0 or -errno. */
int file_opener_begin(const struct file_opener *opener);
void file_opener_end(const struct file_opener *opener);

/* Lets the server serve the next message, and waits for that. Returns 0; -EPIPE: there is none. */
int file_opener_hand_over(const struct file_opener *opener);
