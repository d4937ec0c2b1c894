/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The messages between debuginfod_fetch and its process, over a socket. The servers' URLs may hold
 * passwords, so they are in the request and not in an environment that others could read. Proxies
 * and certificates come from the environment of the process. If the error of the reply is 0, a
 * descriptor of the file comes with it.
 */
#pragma once

#include <stdint.h>

enum {
	FETCH_VERSION = 2,
	FETCH_SOCKET_FD = 3,
	FETCH_FOLDER_FD = 4,
	FETCH_URLS_BYTES = 8192, /* with the NUL */
};

struct fetch_request {
	uint32_t version;
	uint32_t timeout_s;
	uint64_t bytes_max;
	uint8_t id[20]; /* padded with zeros */
	uint8_t id_bytes;
	uint8_t padding[3];
	char urls[FETCH_URLS_BYTES];
};

struct fetch_reply {
	uint32_t version;
	int32_t error; /* 0 or -errno */
};

_Static_assert(sizeof(struct fetch_request) == 40 + FETCH_URLS_BYTES, "request");
_Static_assert(sizeof(struct fetch_reply) == 8, "reply");
