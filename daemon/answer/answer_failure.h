/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Fills failure replies: a status, and a sentence with the fault and its remedy. */
#pragma once

#include "answer/answer_request.h"
#include "base/fault.h"
#include "query/selection.h"
#include "store/store.h"

#include <stdint.h>

enum {
	ANSWER_OK = 200,
	ANSWER_INVALID = 400,
	ANSWER_NOT_FOUND = 404,
	ANSWER_TOO_LARGE = 413,
	ANSWER_FAILED = 500,
	ANSWER_UNAVAILABLE = 503,
};

/* Fills the reply; a sentence that is too long ends in "…". Returns -EPROTO, which the caller
 * returns to show that the reply is filled. */
int answer_fail(struct answer_reply *reply, uint16_t status, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* For -ENOMEM and -E2BIG while the answer is built in memory. */
int answer_fail_memory(struct answer_reply *reply, uint64_t memory_max);

/* For an error while reading the history. */
int answer_fail_reading(
	struct answer_reply *reply, int error, const struct fault *fault, uint64_t memory_max);

/* For a selection without windows or samples: says which data the history has instead. */
int answer_fail_empty(struct answer_reply *reply, const char *history, struct selection *selection,
	const struct store_found *found, uint64_t memory_max);

/* For an incident of whose time, or of that before it, the history has nothing. */
int answer_fail_incident(struct answer_reply *reply, uint64_t number,
	const struct store_selection *asked, bool is_before);

/*
 * For an exact selection that cuts windows from `start_ns` to `end_ns` that have no times of
 * samples, or for a heat map of them: says from when on there are some.
 */
int answer_fail_coarse(struct answer_reply *reply, const char *history, uint64_t start_ns,
	uint64_t end_ns, uint64_t memory_max);

/* For an exact selection, or a heat map, of a source that counts what lives. */
int answer_fail_live(struct answer_reply *reply, const struct event_source *source);
