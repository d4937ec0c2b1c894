/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine asks of a query process, and what that answers: one request with the descriptor
 * of an empty file to write to, one reply of fixed size, over child/child_process.h. The process
 * reads the history and the symbol cache, and nothing else; it lives for one answer.
 */
#pragma once

#include <stdint.h>

enum {
	ANSWER_VERSION = 1,
	ANSWER_SOCKET_FD = 3,
	ANSWER_OUTPUT_FD = 4,
	ANSWER_PARAMETERS_BYTES = 12 << 10,
	ANSWER_PATH_BYTES = 1024,
};

enum answer_kind {
	ANSWER_PROFILE = 1, /* of one selection */
	ANSWER_DIFFERENCE,  /* of two: that of parameters "against.NAME" is what was before */
};

struct answer_request {
	uint32_t version;
	uint32_t kind;	    /* enum answer_kind */
	uint64_t now_ns;    /* CLOCK_REALTIME: "last" and words such as "yesterday" count from it */
	uint64_t bytes_max; /* of the output */
	uint64_t memory_max; /* private memory of the process */
	uint32_t timeout_s;
	uint32_t parameters_bytes;
	char history[ANSWER_PATH_BYTES];      /* its folder; "": there is none */
	char symbol_cache[ANSWER_PATH_BYTES]; /* likewise */
	/* NAME, NUL, VALUE, NUL and so on: decoded and valid UTF-8, as the client gave them. */
	char parameters[ANSWER_PARAMETERS_BYTES];
};

/* 255 bytes of UTF-8 at most, so that it fits what child_process takes. */
struct answer_reply {
	uint32_t version;
	uint16_t status; /* of HTTP: 200; 400, 404, 413, 500, 503 with `text` */
	uint16_t padding;
	uint64_t bytes; /* in the output, if 200 */
	char content_type[48];
	char text[184]; /* a sentence: what is wrong and what to do; with a NUL */
};

_Static_assert(sizeof(struct answer_reply) <= 256, "fits a child's reply");
