/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replies that are no answer: each a status, and a sentence of what is wrong and what to do. */
#pragma once

#include "answer/answer_request.h"
#include "base/fault.h"
#include "query/selection.h"
#include "store/store.h"

#include <stdint.h>

enum {
	ANSWER_OK = 200,
	ANSWER_WRONG = 400,
	ANSWER_NOT_THERE = 404,
	ANSWER_TOO_GREAT = 413,
	ANSWER_FAILED = 500,
	ANSWER_NOT_NOW = 503,
};

/* What does not fit into the reply's text loses its end to "…". Returns -EPROTO, for the caller to
 * return: the reply is there. */
int answer_fail(struct answer_reply *reply, uint16_t status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* For -ENOMEM and -E2BIG of whatever holds the answer in memory. */
int answer_fail_memory(struct answer_reply *reply, uint64_t memory_max);

/* For an error of reading the history. */
int answer_fail_reading(
	struct answer_reply *reply, int error, const struct fault *fault, uint64_t memory_max);

/* The selection has found no window, or no samples: says what there is instead. */
int answer_fail_empty(struct answer_reply *reply, struct store_reader *reader,
	struct selection *selection, const struct store_found *found, uint64_t memory_max);
