/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the two processes of `pilotlight record` say to each other over an AF_UNIX SOCK_SEQPACKET
 * pair: words of a fixed size. The front is the one that the user has started; the engine, which
 * has no privileges, does what it is told, and tells how far it is. Nothing here waits.
 */
#pragma once

#include <stdint.h>

enum record_word {
	/* The front's. */
	RECORD_OPEN = 1, /* number: the process to follow beside those of -p; 0: none */
	RECORD_START,	 /* to sample */
	RECORD_STOP,
	RECORD_HURRY,  /* do not wait for symbols */
	RECORD_WRITE,  /* with the output's descriptor */
	RECORD_SUM_UP, /* cost: what the front and its children have cost */
	/* The engine's. */
	RECORD_PREPARED, /* what RECORD_OPEN wants is there, and followed */
	RECORD_SAMPLING,
	RECORD_SAMPLED, /* number: 0 or -errno, of which the user was told */
	RECORD_NAMING,	/* symbols are not waited for any more */
	RECORD_NAMED,	/* and the output is wanted */
	RECORD_WRITTEN, /* number: 0 or -errno of writing */
	RECORD_SUMMED_UP,
	RECORD_FAILED, /* of which the user was told; it ends */
	RECORD_WORDS,  /* one more than the last */
};

struct record_message {
	uint32_t word;	/* enum record_word */
	int32_t number; /* a pid, 0 or -errno: never less than -4095 */
	uint64_t cpu_ns, memory_bytes;
};
_Static_assert(sizeof(struct record_message) == 24, "padding");

/* `passed_fd` -1: none. Returns 0; -EPIPE the other side is gone; or what sending failed with. */
int record_message_send(int fd, const struct record_message *message, int passed_fd);

/*
 * A descriptor that comes with it is the caller's, or refused where `ret_fd` is NULL; -1: none did.
 * Returns 0; -EAGAIN there is no message; -EPIPE the other side is gone; -EBADMSG it is none of the
 * above; or what receiving failed with.
 */
int record_message_receive(int fd, struct record_message *ret_message, int *ret_fd);
