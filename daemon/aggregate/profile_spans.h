/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which spans of traces the samples of a profile were taken in, as far as threads say so
 * (pilotlight/thread_context.h). Spans are attributes of samples: a sample has counts in some
 * spans, and others without one. There may be as many spans as requests, so they have a bound of
 * their own, and what exceeds it keeps its sample without a span.
 */
#pragma once

#include "base/hash_index.h"
#include "pilotlight/thread_context.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Counts of a sample in a span. */
struct profile_span_count {
	uint64_t count;
	uint32_t sample, span;
	uint32_t before; /* of the same sample, plus 1; 0: none */
	uint32_t reserved;
};

struct profile_spans {
	struct pilotlight_thread_context *items; /* each once */
	size_t count, capacity;
	struct profile_span_count *counts;
	size_t counts_count, counts_capacity;
	uint32_t *last; /* by sample: its last count, plus 1; 0 or beyond: none */
	size_t last_count, last_capacity;
	struct hash_index span_index, count_index;
};

void profile_spans_done(struct profile_spans *spans);
/* The bytes that they hold, and those of their elements, without room. */
size_t profile_spans_bytes(const struct profile_spans *spans);
size_t profile_spans_element_bytes(const struct profile_spans *spans);

/* Finds or adds a span, without a count. Returns 0 or -ENOMEM. */
int profile_spans_intern(struct profile_spans *spans, const struct pilotlight_thread_context *ids,
	uint32_t *ret_span);

/* At most, of a span that is added to a sample which has others. */
enum { PROFILE_SPAN_BYTES = 80 };

/* Adds to the counts of a sample. Returns 0, -ENOMEM, or -E2BIG beyond the limit in bytes. */
int profile_spans_add(struct profile_spans *spans, uint32_t sample,
	const struct pilotlight_thread_context *ids, uint64_t count, size_t limit_bytes);

/* The next of a sample's counts behind `count`; NULL: the first. Returns NULL if there is none. */
const struct profile_span_count *profile_spans_next(
	const struct profile_spans *spans, uint32_t sample, const struct profile_span_count *count);

bool thread_context_is_none(const struct pilotlight_thread_context *ids);

/* Which samples are wanted; all if neither id is given. */
struct span_choice {
	bool has_trace, has_span;
	struct pilotlight_thread_context ids;
};

/* Read 32 or 16 hexadecimal digits, not all 0. Return 0 or -EINVAL. */
int span_choice_set_trace(struct span_choice *choice, const char *text);
int span_choice_set_span(struct span_choice *choice, const char *text);
bool span_choice_takes(
	const struct span_choice *choice, const struct pilotlight_thread_context *ids);

/* Write the ids as the W3C's trace context has them. */
enum { TRACE_ID_TEXT_BYTES = 33, SPAN_ID_TEXT_BYTES = 17 };
const char *trace_id_format(
	const struct pilotlight_thread_context *ids, char text[TRACE_ID_TEXT_BYTES]);
const char *span_id_format(
	const struct pilotlight_thread_context *ids, char text[SPAN_ID_TEXT_BYTES]);
