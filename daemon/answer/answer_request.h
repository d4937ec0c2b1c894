/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The protocol between the engine and a query process, over child/child_process.h. The engine sends
 * one request and the descriptor of an empty output file. The process returns one reply of fixed
 * size. It reads the history and the symbol cache, nothing else, and exits after one answer.
 *
 * Parameters are those of query/selection.h and these, all but the last at most once. Those that
 * a kind or a format would ignore are refused: answer/answer_takes.c is the table.
 *
 *   incident N               the time that this incident keeps; in a difference, from 20 s before
 *                            a threshold's until 30 s after, of what it has found unless there is
 *                            another selection, by time, and against the hour before unless there
 *                            is another earlier time; in a list, this one alone
 *   format NAME              one of export/profile_format.h; svg, html or txt for a
 *                            difference
 *   lines yes|no             make each line of a function a frame of its own
 *   rows N                   of a table (txt, top), the first N rows; 0, the default: all
 *   frames N                 of json and html, so many frames at most: the largest; 0, the default:
 *                            all that these formats may have
 *   below PATH               of json and html: if frames have to be left out, half of them are for
 *                            those below this one (render/frame_path.h)
 *   group NAME               what the outermost frames are (query/thread_group.h); default comm
 *   normalise total|time     difference only (query/profile_difference.h); default total, or time
 *                            of an incident
 *   against.NAME             difference only: a selection parameter of the earlier side. The
 *                            earlier side inherits each parameter that it does not set; all times
 *                            count as one parameter. "*" selects everything.
 *
 * A heat map (query/heatmap.h) takes a selection without spans, incident, and svg (the default),
 * html or json as its format. A time line (query/timeline.h) takes the selection's times and event,
 * and:
 *
 *   buckets N                how many at most; the default is 1000
 *   by kind|unit|comm        whose the amounts are, too (query/timeline_parts.h)
 *
 * Metrics take the selection's times and event, and for each metric, in this order:
 *
 *   metric NAME              begins one; the rest may be missing
 *   select PARAMETER:VALUE   whose samples, any number of times
 *   function PATTERN         names of functions (query/function_pattern.h)
 *   count total|self, by none|unit|container|comm, series N
 */
#pragma once

#include <stdint.h>

enum {
	ANSWER_VERSION = 6,
	ANSWER_SOCKET_FD = 3,
	ANSWER_OUTPUT_FD = 4,
	ANSWER_PARAMETERS_BYTES = 12 << 10,
	ANSWER_PATH_BYTES = 1024,
};

enum answer_kind {
	ANSWER_PROFILE = 1, /* of one selection */
	ANSWER_DIFFERENCE,  /* of two selections: "against.NAME" selects the earlier side */
	ANSWER_HEATMAP,	    /* of one selection */
	/* For ANSWER_ALL alone: */
	ANSWER_TIMELINE,  /* of all threads */
	ANSWER_INCIDENTS, /* all of them: txt or json */
	ANSWER_METRICS,	  /* CPU time in functions (answer_metrics.h) */
	ANSWER_KINDS,	  /* one more than the last */
};

/* Whose samples the client may see. No parameter widens it. */
enum answer_scope {
	ANSWER_ALL = 1,
	ANSWER_OWN, /* those of `owner` alone, and nothing about others: no losses, no totals */
};

struct answer_request {
	uint32_t version;
	uint32_t kind;	     /* enum answer_kind */
	uint32_t scope;	     /* enum answer_scope */
	uint32_t owner;	     /* as profile_thread.owner; 0 for ANSWER_ALL alone */
	uint64_t now_ns;     /* CLOCK_REALTIME: base of "last" and of words such as "yesterday" */
	uint64_t bytes_max;  /* limit of the output */
	uint64_t memory_max; /* limit of the process's private memory */
	uint32_t timeout_s;  /* limit of wall time and of CPU time */
	uint32_t parameters_bytes;
	uint32_t accepts_gzip; /* 0 or 1: the client takes a compressed answer */
	uint32_t padding;
	char history[ANSWER_PATH_BYTES];      /* its folder; "": none */
	char symbol_cache[ANSWER_PATH_BYTES]; /* its folder; "": none */
	/* NAME, NUL, VALUE, NUL and so on: decoded, valid UTF-8, as the client sent them. */
	char parameters[ANSWER_PARAMETERS_BYTES];
};

/* At most 256 bytes, the limit of a child_process reply. */
struct answer_reply {
	uint32_t version;
	/*
	 * An HTTP status. 200: success. All others come with `text`: 400 bad parameter; 404 no such
	 * part of the history; 413 the output or the memory would exceed its bound; 503 timeout,
	 * busy history or no history; 500 anything else.
	 */
	uint16_t status;
	uint16_t is_gzip; /* the output is a gzip stream of the content type */
	uint64_t bytes;	  /* in the output, if 200 */
	/*
	 * If 200 and a profile or metrics: the time covered by all windows that overlap the
	 * requested time, and the CPU time that one sample stands for. 0: unknown.
	 */
	uint64_t covered_ns, period_ns;
	/*
	 * If 200 and a table of a difference: the greatest increase of a function's own share that
	 * exceeds the error of sampling, in billionths; else 0.
	 */
	int64_t increase;
	char content_type[40];
	char text[176]; /* a sentence with the fault and its remedy; ends with a NUL */
};

_Static_assert(sizeof(struct answer_reply) <= 256, "fits a child's reply");
