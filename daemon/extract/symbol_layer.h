/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the linker's symbols name, and how it is laid over functions: makes the section BOUNDARIES.
 * A symbol with a size names the outermost frame of the functions in it; any symbol names the code
 * that is in no function. All memory is scratch.
 */
#pragma once

#include "extract/code_spans.h"
#include "extract/frame_copies.h"

#include <stdbool.h>
#include <stdint.h>

struct symbol_layer {
	struct scratch_array symbols;
	uint32_t end; /* of the last one */
};

/* Returns 0 or -ENOMEM. */
int symbol_layer_init(struct symbol_layer *layer, struct scratch *scratch);
void symbol_layer_done(struct symbol_layer *layer);

/* By ascending start; of two that overlap the first has the code. Offsets from the base of the
 * code; a name of 0 is no symbol. Errors of the scratch. */
int symbol_layer_add(
	struct symbol_layer *layer, uint32_t start, uint32_t end, uint32_t name, bool is_guess);

/*
 * After the last symbol, once: the contents of BOUNDARIES. `functions` are sorted, owned by their
 * outermost frames, and used up; `boundaries` is an empty array of struct
 * pilotlight_symbol_boundary. Errors of `copies` and the scratch.
 */
int symbol_layer_fold(const struct symbol_layer *layer, struct code_spans *functions,
	struct frame_copies *copies, struct scratch_array *boundaries);
