/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between send_job and its process, over a socket. Headers may hold passwords, so they
 * are in the request and not in an environment that others could read. The token and the key are
 * not: the process reads them from their files as its own user.
 *
 * That keeps them out of the engine's memory, but not from an intruder in the engine, who chooses
 * the files and the URL, and nothing compares them with the configuration: a token can be sent to
 * any server. Limit the servers by IPAddressAllow= of pilotlight-send@.service.
 */
#pragma once

#include <stdint.h>

enum {
	SEND_VERSION = 2,
	SEND_SOCKET_FD = 3,
	SEND_BATCH_FD = 4,
	SEND_URL_BYTES = 2048, /* with the NUL, as all below */
	SEND_PATH_BYTES = 1024,
	SEND_HEADERS_BYTES = 8192,
	SEND_TEXT_BYTES = 160,
};

enum {
	SEND_CLICKHOUSE = 1,   /* the batch is several requests (pilotlight/clickhouse_batch.h) */
	SEND_MAY_BE_THERE = 2, /* it may have been taken already: ask before it is sent */
};

/* Files are absolute paths, or names of credentials; "": none. All strings end with a NUL. */
struct send_request {
	uint32_t version;
	uint32_t timeout_s;
	uint64_t bytes; /* of the batch */
	uint32_t headers_bytes;
	uint32_t flags;
	char url[SEND_URL_BYTES];
	char ca_file[SEND_PATH_BYTES];
	char certificate_file[SEND_PATH_BYTES], key_file[SEND_PATH_BYTES];
	char token_file[SEND_PATH_BYTES];
	char headers[SEND_HEADERS_BYTES]; /* lines "Name: value", each with a NUL */
};

struct send_reply {
	uint32_t version;
	int32_t error;		/* 0: an answer came; -errno: `text` says why none did */
	uint32_t status;	/* of HTTP */
	uint32_t retry_after_s; /* 0: the receiver did not say */
	uint64_t rejected;	/* profiles that the receiver took the batch without */
	char text[SEND_TEXT_BYTES];
};

_Static_assert(sizeof(struct send_request) ==
		       24 + SEND_URL_BYTES + 4 * SEND_PATH_BYTES + SEND_HEADERS_BYTES,
	"request");
_Static_assert(sizeof(struct send_reply) == 24 + SEND_TEXT_BYTES, "reply");
