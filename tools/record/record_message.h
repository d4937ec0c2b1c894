/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages between the two processes of `pilotlight record`, of a fixed size, over an AF_UNIX
 * SOCK_SEQPACKET pair. The front is the process that the user has started; the engine, which has no
 * privileges, follows its orders and reports each step. No function here waits.
 */
#pragma once

#include <stdint.h>

/* Where the engine finds its sockets. */
enum { RECORD_BROKER_FD = 3, RECORD_CAPTURE_FD, RECORD_MESSAGE_FD };

enum record_message_type {
	/* The front's orders. */
	RECORD_OPEN = 1, /* number: the process to follow beside those of -p; 0: none */
	RECORD_START,	 /* to sample */
	RECORD_STOP,
	RECORD_SKIP_SYMBOLS, /* do not wait for symbols any longer */
	RECORD_WRITE,	     /* with the output's descriptor */
	RECORD_SUMMARIZE,    /* with what the front and its children have cost */
	/* The engine's reports. */
	RECORD_PREPARED, /* RECORD_OPEN is done */
	RECORD_SAMPLING,
	RECORD_SAMPLED, /* number: 0, or the -errno of a failure that was reported to the user */
	RECORD_NAMING,	/* the wait for symbols is over */
	RECORD_NAMED,	/* it needs the output */
	RECORD_WRITTEN, /* number: 0 or -errno of writing */
	RECORD_SUMMARIZED,
	RECORD_FAILED, /* the reason was reported to the user; the engine ends */
	RECORD_MESSAGE_TYPES,
};

struct record_message {
	uint32_t type;	/* enum record_message_type */
	int32_t number; /* a pid, 0 or -errno: never less than -4095 */
	uint64_t cpu_ns, memory_bytes;
};
_Static_assert(sizeof(struct record_message) == 24, "padding");

/* `passed_fd` -1: none. Returns 0; -EPIPE the other side is gone; or another -errno. */
int record_message_send(int fd, const struct record_message *message, int passed_fd);

/*
 * `ret_fd` receives a descriptor that came with it, or -1; with a NULL one the descriptor is
 * refused. Returns 0; -EAGAIN there is no message; -EPIPE the other side is gone; -EBADMSG it is
 * not valid; or what receiving failed with.
 */
int record_message_receive(int fd, struct record_message *ret_message, int *ret_fd);
