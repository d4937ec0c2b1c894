/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/profile_spans.h"

#include "base/array.h"
#include "base/hex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { INDEX_BYTES = 16 }; /* of an element in its index, at a mean load */
_Static_assert(PROFILE_SPAN_BYTES == sizeof(struct pilotlight_thread_context) +
					     sizeof(struct profile_span_count) + 2 * INDEX_BYTES,
	"the bytes of a span and of a count");

void profile_spans_done(struct profile_spans *spans)
{
	free(spans->items);
	free(spans->counts);
	free(spans->last);
	hash_index_done(&spans->span_index);
	hash_index_done(&spans->count_index);
	*spans = (struct profile_spans){ 0 };
}

size_t profile_spans_bytes(const struct profile_spans *spans)
{
	return spans->capacity * sizeof(*spans->items) +
	       spans->counts_capacity * sizeof(*spans->counts) +
	       spans->last_capacity * sizeof(*spans->last) + hash_index_bytes(&spans->span_index) +
	       hash_index_bytes(&spans->count_index);
}

size_t profile_spans_element_bytes(const struct profile_spans *spans)
{
	return spans->count * (sizeof(*spans->items) + INDEX_BYTES) +
	       spans->counts_count * (sizeof(*spans->counts) + INDEX_BYTES) +
	       spans->last_count * sizeof(*spans->last);
}

static bool span_equal(const void *owner, uint32_t id, const void *key)
{
	return memcmp(&((const struct profile_spans *)owner)->items[id], key,
		       sizeof(struct pilotlight_thread_context)) == 0;
}

int profile_spans_intern(struct profile_spans *spans, const struct pilotlight_thread_context *ids,
	uint32_t *ret_span)
{
	const uint64_t hash = hash_bytes(ids, sizeof(*ids));
	uint32_t id = hash_index_find(&spans->span_index, hash, span_equal, spans, ids);
	int r;

	if (id == HASH_INDEX_NONE) {
		r = ARRAY_RESERVE(spans->items, &spans->capacity, spans->count + 1, UINT32_MAX - 1);
		if (r == 0)
			r = hash_index_reserve(&spans->span_index);
		if (r < 0)
			return r;
		id = (uint32_t)spans->count++;
		spans->items[id] = *ids;
		hash_index_insert(&spans->span_index, hash, id);
	}
	*ret_span = id;
	return 0;
}

static bool count_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile_span_count *known = &((const struct profile_spans *)owner)->counts[id];
	const struct profile_span_count *wanted = key;

	return known->sample == wanted->sample && known->span == wanted->span;
}

static int reach_sample(struct profile_spans *spans, uint32_t sample)
{
	int r = ARRAY_RESERVE(
		spans->last, &spans->last_capacity, (size_t)sample + 1, UINT32_MAX - 1);

	while (r == 0 && spans->last_count <= sample)
		spans->last[spans->last_count++] = 0;
	return r;
}

static int append_count(
	struct profile_spans *spans, const struct profile_span_count *count, uint64_t hash)
{
	struct profile_span_count added = *count;
	int r = reach_sample(spans, count->sample);

	if (r == 0)
		r = ARRAY_RESERVE(spans->counts, &spans->counts_capacity, spans->counts_count + 1,
			UINT32_MAX - 1);
	if (r == 0)
		r = hash_index_reserve(&spans->count_index);
	if (r < 0)
		return r;
	added.before = spans->last[count->sample];
	hash_index_insert(&spans->count_index, hash, (uint32_t)spans->counts_count);
	spans->counts[spans->counts_count++] = added;
	spans->last[count->sample] = (uint32_t)spans->counts_count;
	return 0;
}

/* Bytes that the next element may take, with its growth. */
static bool has_room(const struct profile_spans *spans, uint32_t sample, size_t limit_bytes)
{
	size_t more = sample < spans->last_count ? 0 : (size_t)sample + 1 - spans->last_count;

	return profile_spans_element_bytes(spans) + more * sizeof(*spans->last) +
		       PROFILE_SPAN_BYTES <=
	       limit_bytes;
}

int profile_spans_add(struct profile_spans *spans, uint32_t sample,
	const struct pilotlight_thread_context *ids, uint64_t count, size_t limit_bytes)
{
	struct profile_span_count wanted = { .sample = sample, .count = count };
	uint64_t hash, *sum;
	uint32_t id;
	int r;

	if (!has_room(spans, sample, limit_bytes))
		return -E2BIG;
	r = profile_spans_intern(spans, ids, &wanted.span);
	if (r < 0)
		return r;
	hash = hash_pair(sample, wanted.span);
	id = hash_index_find(&spans->count_index, hash, count_equal, spans, &wanted);
	if (id == HASH_INDEX_NONE)
		return append_count(spans, &wanted, hash);
	sum = &spans->counts[id].count;
	if (__builtin_add_overflow(*sum, count, sum))
		*sum = UINT64_MAX;
	return 0;
}

const struct profile_span_count *profile_spans_next(
	const struct profile_spans *spans, uint32_t sample, const struct profile_span_count *count)
{
	uint32_t next = count			     ? count->before
			: sample < spans->last_count ? spans->last[sample]
						     : 0;

	return next > 0 ? &spans->counts[next - 1] : NULL;
}

/* --- ids --- */

static bool is_zero(const uint8_t *bytes, size_t size)
{
	while (size > 0 && bytes[size - 1] == 0)
		size--;
	return size == 0;
}

bool thread_context_is_none(const struct pilotlight_thread_context *ids)
{
	return is_zero((const uint8_t *)ids, sizeof(*ids));
}

static int parse(const char *text, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < 2 * size; i++) {
		int digit = hex_digit_of_any_case(text[i]);

		/* The text may end here. */
		if (digit < 0)
			return -EINVAL;
		bytes[i / 2] = (uint8_t)(bytes[i / 2] << 4 | digit);
	}
	return text[2 * size] || is_zero(bytes, size) ? -EINVAL : 0;
}

int span_choice_set_trace(struct span_choice *choice, const char *text)
{
	choice->has_trace = true;
	return parse(text, choice->ids.trace_id, sizeof(choice->ids.trace_id));
}

int span_choice_set_span(struct span_choice *choice, const char *text)
{
	choice->has_span = true;
	return parse(text, choice->ids.span_id, sizeof(choice->ids.span_id));
}

bool span_choice_takes(
	const struct span_choice *choice, const struct pilotlight_thread_context *ids)
{
	return (!choice->has_trace ||
		       memcmp(ids->trace_id, choice->ids.trace_id, sizeof(ids->trace_id)) == 0) &&
	       (!choice->has_span ||
		       memcmp(ids->span_id, choice->ids.span_id, sizeof(ids->span_id)) == 0);
}

static const char *format(const uint8_t *bytes, size_t size, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[bytes[i] >> 4];
		text[2 * i + 1] = digits[bytes[i] & 0xf];
	}
	text[2 * size] = '\0';
	return text;
}

const char *trace_id_format(
	const struct pilotlight_thread_context *ids, char text[TRACE_ID_TEXT_BYTES])
{
	return format(ids->trace_id, sizeof(ids->trace_id), text);
}

const char *span_id_format(
	const struct pilotlight_thread_context *ids, char text[SPAN_ID_TEXT_BYTES])
{
	return format(ids->span_id, sizeof(ids->span_id), text);
}
