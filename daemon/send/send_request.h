/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between send_job and its process, over a socket. The request names a sink, and the
 * process reads from the configuration, which the broker gives it, where that sink is sent to, and
 * with which headers, and as its own user the token and the key. So an intruder in the engine
 * chooses what a receiver gets, but neither the receiver nor the files.
 */
#pragma once

#include "config/config.h"

#include <stdint.h>

enum {
	SEND_VERSION = 4,
	SEND_SOCKET_FD = 3,
	SEND_BATCH_FD = 5, /* the broker has the configuration at the number between */
	SEND_KNOWN_FD = 6, /* known_rows.h; not every sink has one */
	SEND_TYPE_BYTES = 16,
	SEND_TEXT_BYTES = 160,
};

struct send_request {
	uint32_t version;
	uint32_t may_be_there;	      /* it may have been taken already: ask before it is sent */
	uint64_t bytes;		      /* of the batch */
	char sink[CONFIG_NAME_BYTES]; /* with the NUL, as below */
	/* Of the batch. A configuration that is changed, and not reloaded yet, may have another. */
	char type[SEND_TYPE_BYTES];
};

struct send_reply {
	uint32_t version;
	int32_t error;		/* 0: an answer came; -errno: `text` says why none did */
	uint32_t status;	/* of HTTP */
	uint32_t retry_after_s; /* 0: the receiver did not say */
	uint64_t rejected;	/* profiles that the receiver took the batch without */
	uint64_t sent_bytes;
	char text[SEND_TEXT_BYTES];
};

_Static_assert(sizeof(struct send_request) == 16 + CONFIG_NAME_BYTES + SEND_TYPE_BYTES, "request");
_Static_assert(sizeof(struct send_reply) == 32 + SEND_TEXT_BYTES, "reply");
