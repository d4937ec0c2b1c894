/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Spans of code, each with a run of sorted entries that describe parts of it: the parts of
 * functions, and line sequences. Spans come in any order and may overlap. In the end each byte
 * belongs to one span: the one that begins last, and of equal beginnings the one that was added
 * first. All memory is scratch.
 */
#pragma once

#include "base/scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_span {
	uint32_t start, end; /* [start, end), offsets from the base of the code */
	uint32_t first;	     /* index in `entries`; the offset of that entry is `start` */
	uint32_t count;
	uint32_t owner; /* set by the caller */
};

struct code_spans {
	struct scratch_array spans;
	/* Each begins with its 32-bit offset. They ascend; of equal offsets the last counts. */
	struct scratch_array entries;
};

/* Each entry has `entry_bytes`, a multiple of 4. Returns 0 or -ENOMEM. */
int code_spans_init(struct code_spans *spans, struct scratch *scratch, size_t entry_bytes);
void code_spans_done(struct code_spans *spans);

/* Adds a span whose entries begin at `first`. Errors of scratch_array_reserve(). */
int code_spans_add(
	struct code_spans *spans, uint32_t start, uint32_t end, uint32_t first, uint32_t owner);

/*
 * Called once, after the last span. Sorts them, and calls `visit` for each part of an entry that
 * has code of its own, in ascending order and without overlap, until it returns an error; returns
 * that error or those of the scratch. Other spans may divide an entry into several parts. Only
 * `end` and `owner` of the span are valid then. Afterwards there are no spans.
 */
typedef int (*code_spans_visit)(void *context, uint32_t start, uint32_t end,
	const struct code_span *span, const void *entry);
int code_spans_each(struct code_spans *spans, code_spans_visit visit, void *context);
