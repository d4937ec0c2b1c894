/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What debuginfod_fetch and its process say to each other over a socket. The servers' addresses,
 * which may hold passwords, are part of the request and of nobody's environment that others could
 * read; what libraries know of proxies and certificates is in the environment of whoever starts the
 * process. The answer comes with a descriptor of the file if its error is 0.
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
