/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Lays the linker's symbols over functions to make the section BOUNDARIES. A symbol with a size
 * names the outermost frame of the functions in it; any symbol names code that is in no function.
 * A function without a symbol is named by its place, if no other name has its first byte. All
 * memory is scratch.
 */
#pragma once

#include "extract/code_spans.h"
#include "extract/symbol_frames.h"

#include <stdbool.h>
#include <stdint.h>

struct symbol_layer {
	struct scratch_array symbols, places;
	uint32_t end;	    /* of the last symbol */
	uint32_t place_end; /* of the last place */
};

/* Returns 0 or -ENOMEM. */
int symbol_layer_init(struct symbol_layer *layer, struct scratch *scratch);
void symbol_layer_done(struct symbol_layer *layer);

/*
 * Adds a symbol, by ascending start; of two that overlap, the first has the code. Offsets are from
 * the base of the code; a name of 0 is ignored. Errors of the scratch.
 */
int symbol_layer_add(
	struct symbol_layer *layer, uint32_t start, uint32_t end, uint32_t name, bool is_guess);

/* The same for a function without a symbol. It is ignored if other names have its first byte. */
int symbol_layer_add_place(struct symbol_layer *layer, uint32_t start, uint32_t end, uint32_t name);

/*
 * Makes the contents of BOUNDARIES; called once, after the last symbol. `functions`
 * have their outermost frames as owners, and are empty afterwards. `boundaries` is an empty array
 * of struct pilotlight_symbol_boundary. Errors of `frames` and the scratch.
 */
int symbol_layer_fold(const struct symbol_layer *layer, struct code_spans *functions,
	struct symbol_frames *frames, struct scratch_array *boundaries);
