/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of line number programs, sequence by sequence, and the section ROWS that comes of them.
 * A sequence has the code from its first row to its end, as far as that is in the segment of the
 * first row; a row has it up to the next one. All memory is scratch.
 */
#pragma once

#include "extract/code_segments.h"
#include "extract/code_spans.h"

#include <stdbool.h>
#include <stdint.h>

struct line_sequences {
	const struct code_segments *segments; /* borrowed */
	struct code_spans spans;	      /* entries of struct pilotlight_symbol_row */
	uint32_t ranges_outside;	      /* sequences of which a part is outside of the code */
	bool is_open;
	bool is_outside;      /* the rest of the open one */
	uint64_t first_vaddr; /* of its first row */
	uint64_t vaddr;	      /* of its last row */
	uint64_t segment_end; /* 0: it began outside of the code */
	uint32_t start;	      /* offset of its first row */
	uint32_t first;	      /* position of its first row */
};

/* Returns 0 or -ENOMEM. */
int line_sequences_init(struct line_sequences *lines, struct scratch *scratch,
	const struct code_segments *segments);
void line_sequences_done(struct line_sequences *lines);

/* As symbol_builder_add_row() and symbol_builder_end_sequence(). Errors of the scratch. */
int line_sequences_add(struct line_sequences *lines, uint64_t vaddr, uint64_t place);
int line_sequences_end(struct line_sequences *lines, uint64_t end);

/*
 * After the last sequence, once: the contents of ROWS. `rows` is an empty array of struct
 * pilotlight_symbol_row. Errors of the scratch.
 */
int line_sequences_finish(struct line_sequences *lines, struct scratch_array *rows);
