/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Objects of V8 in made-up memory: a frame of its interpreter, with all that it leads to. */
#pragma once

#include "tests/extract/v8_memory.h"

/* A function, what its closures share, and its bytecodes. */
enum {
	FUNCTION = 0x400,
	SHARED = 0x440,
	SCRIPT = 0x500,
	BYTECODES = 0x600,
	POSITIONS = 0x700,
	OTHER = 0x780,
	FRAME = 0x800,
	TYPES = 0x100, /* a map for each type, 16 bytes apart */
	DATA_AT = 54,
	PLACE = 9,
};
enum { FUNCTION_TYPE = 1, SHARED_TYPE, SCRIPT_TYPE, BYTECODES_TYPE, POSITIONS_TYPE, CODE_TYPE };

static inline uint64_t object_at(uint64_t at)
{
	return PLANTED_AT + at + PILOTLIGHT_V8_OBJECT;
}

static inline void plant_object(uint64_t *words, uint64_t at, uint64_t type)
{
	words[at / 8] = object_at(TYPES + type * 16);
	words[(TYPES + type * 16) / 8 + 1] = type;
}

/* A frame of V8's interpreter. */
static inline void plant_frame(uint64_t *words)
{
	static const uint8_t positions[] = { 2, 36, 16, 40, 2, 40 }; /* 0: 8, 8: 18, 9: 28 */

	plant_object(words, FUNCTION, FUNCTION_TYPE);
	words[FUNCTION / 8 + 3] = object_at(SHARED);
	plant_object(words, SHARED, SHARED_TYPE);
	words[SHARED / 8 + 1] = object_at(BYTECODES);
	words[SHARED / 8 + 4] = object_at(SCRIPT);
	plant_object(words, SCRIPT, SCRIPT_TYPE);
	plant_object(words, BYTECODES, BYTECODES_TYPE);
	words[BYTECODES / 8 + 4] = object_at(POSITIONS);
	plant_object(words, POSITIONS, POSITIONS_TYPE);
	words[POSITIONS / 8 + 1] = (uint64_t)sizeof(positions) << PILOTLIGHT_V8_NUMBER_SHIFT;
	memcpy(words + POSITIONS / 8 + 2, positions, sizeof(positions));
	words[FRAME / 8 - 1] = object_at(SCRIPT);
	words[FRAME / 8 - 2] = object_at(FUNCTION);
	words[FRAME / 8 - 4] = object_at(BYTECODES);
	words[FRAME / 8 - 5] = (uint64_t)(DATA_AT - 1 + PLACE) << PILOTLIGHT_V8_NUMBER_SHIFT;
}
