/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the engine asks of a query process, and what that answers: one request with the descriptor
 * of an empty file to write to, one reply of fixed size, over child/child_process.h. The process
 * reads the history and the symbol cache, and nothing else; it lives for one answer.
 *
 * Parameters are those of query/selection.h, and, the first three once each:
 *
 *   format NAME              of export/profile_format.h; of a difference svg or txt
 *   lines yes|no             each line of a function is a frame of its own
 *   normalise total|time     of a difference (query/profile_difference.h); total
 *   against.NAME             of a difference: a selection's parameter, of what was before. What is
 *                            not told of it is as in the other one; the times count as one, "*"
 *                            is how to say that it is all of something
 */
#pragma once

#include <stdint.h>

enum {
	ANSWER_VERSION = 2,
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
	uint32_t timeout_s;  /* of wall and of CPU time */
	uint32_t parameters_bytes;
	char history[ANSWER_PATH_BYTES];      /* its folder; "": there is none */
	char symbol_cache[ANSWER_PATH_BYTES]; /* likewise */
	/* NAME, NUL, VALUE, NUL and so on: decoded and valid UTF-8, as the client gave them. */
	char parameters[ANSWER_PARAMETERS_BYTES];
};

/* 255 bytes of UTF-8 at most, so that it fits what child_process takes. */
struct answer_reply {
	uint32_t version;
	/*
	 * Of HTTP, all but the first with `text`: 200; 400 a parameter is wrong; 404 there is no
	 * such part of the history; 413 the output or the memory would exceed its bound; 503 the
	 * time is up, the history is busy, or there is none; 500 anything else.
	 */
	uint16_t status;
	uint16_t padding;
	uint64_t bytes; /* in the output, if 200 */
	/*
	 * Of a profile, if 200: the time that its windows cover, which overlap what was asked for,
	 * and the CPU time that one of its samples stands for; 0: not known.
	 */
	uint64_t covered_ns, period_ns;
	char content_type[40];
	char text[184]; /* a sentence: what is wrong and what to do; with a NUL */
};

_Static_assert(sizeof(struct answer_reply) <= 256, "fits a child's reply");
