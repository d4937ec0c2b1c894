/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One native frame becomes several: which functions code runs at an instruction, from its
 * table (PILOTLIGHT_RUNTIME_INLINED). The table is hostile (I8), and may be cut.
 */
#pragma once

#include "pilotlight/runtime.h"

#include <stddef.h>
#include <stdint.h>

enum { RUNTIME_INLINED_MAX = 32 };

struct runtime_inlined_frame {
	uint64_t code; /* as in frames */
	int32_t unit;  /* negative: not known */
};

/*
 * Writes the functions, innermost first, and returns their number: 0 if the table makes no sense.
 * Where it does not tell what runs, there is the outermost function alone. Takes time in proportion
 * to the table.
 */
size_t runtime_inlined_find(const uint8_t *table, size_t size, int32_t unit,
	struct runtime_inlined_frame ret_frames[RUNTIME_INLINED_MAX]);
