/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Stretches of code, each with a run of sorted entries that say what is at which offset in it: the
 * pieces of functions, and line sequences. They come in any order and may overlap; finally each
 * byte of code belongs to one of them: the one that begins last has it, and of those that begin
 * together the one that was told first. All memory is scratch.
 */
#pragma once

#include "base/scratch.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_span {
	uint32_t start, end; /* [start, end), offsets from the base of the code */
	uint32_t first;	     /* position in `entries`; that one's offset is `start` */
	uint32_t count;
	uint32_t owner; /* whatever it belongs to */
};

struct code_spans {
	struct scratch_array spans;
	/* Each begins with its offset, 32 bits: ascending; of equal ones the last counts. */
	struct scratch_array entries;
};

/* Entries have `entry_bytes`, a multiple of 4. Returns 0 or -ENOMEM. */
int code_spans_init(struct code_spans *spans, struct scratch *scratch, size_t entry_bytes);
void code_spans_done(struct code_spans *spans);

/* The span's entries are those from `first` on. Errors of scratch_array_reserve(). */
int code_spans_add(
	struct code_spans *spans, uint32_t start, uint32_t end, uint32_t first, uint32_t owner);

/* After the last span, once. Errors of scratch_array_reserve(). */
int code_spans_sort(struct code_spans *spans);

/*
 * After sorting, once: calls `visit` for each entry that has code of its own, with what is left of
 * it, in ascending order and without overlap, until it returns an error, which is returned. An
 * entry may have several pieces of code, with other spans between them. Of the span only `end` and
 * `owner` mean something by then; afterwards there are no spans.
 */
typedef int (*code_spans_visit)(void *context, uint32_t start, uint32_t end,
	const struct code_span *span, const void *entry);
int code_spans_each(struct code_spans *spans, code_spans_visit visit, void *context);
