/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collects the rows of line number programs, one sequence at a time, and makes the section ROWS. A
 * sequence has the code from its first row to its end, within the segment of its first row; each
 * row has the code up to the next row. All memory is scratch.
 */
#pragma once

#include "extract/code_segments.h"
#include "extract/code_spans.h"

#include <stdbool.h>
#include <stdint.h>

struct line_sequences {
	const struct code_segments *segments; /* borrowed */
	struct code_spans spans;	      /* entries of struct pilotlight_symbol_row */
	uint32_t ranges_outside;	      /* sequences partly outside of the code */
	bool is_open;
	bool is_outside;      /* the rest of the open sequence */
	uint64_t first_vaddr; /* of its first row */
	uint64_t vaddr;	      /* of its last row */
	uint64_t segment_end; /* 0: the sequence began outside of the code */
	uint32_t start;	      /* offset of its first row */
	uint32_t first;	      /* index of its first row */
};

/* Returns 0 or -ENOMEM. */
int line_sequences_init(struct line_sequences *lines, struct scratch *scratch,
	const struct code_segments *segments);
void line_sequences_done(struct line_sequences *lines);

/* As symbol_builder_add_row() and symbol_builder_end_sequence(). Errors of the scratch. */
int line_sequences_add(struct line_sequences *lines, uint64_t vaddr, uint64_t place);
int line_sequences_end(struct line_sequences *lines, uint64_t end);

/*
 * Makes the contents of ROWS; called once, after the last sequence. `rows` is an empty array of
 * struct pilotlight_symbol_row. Errors of the scratch.
 */
int line_sequences_finish(struct line_sequences *lines, struct scratch_array *rows);
