/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A function of V8 with a frame, bytecodes and code, in the memory that v8_sampler.h samples.
 * Include it first. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/extract/v8_sampler.h"

enum {
	CODE = 0x200,
	DEOPT = 0x300,
	OTHER_SHARED = 0x480,
	LITERALS = 0x900,
	INLININGS = 0x940,
	NAME = 0xa00,
	OTHER_NAME = 0xa40,
	OTHER_BYTECODES = 0xb00,
	START = 0x1000,
	SIZE = 0x200,
	RETURN_AT = 0x101, /* behind the call */
	ENTERED_AT = 4,	   /* in the prologue */
	KIND = 12,
	BASELINE_KIND = 11,
	DEOPT_TYPE = 9,
	LITERALS_TYPE,
	INLININGS_TYPE,
	FILE_ID = 5,
};

#define BUILTIN                                                           \
	((uint64_t)PILOTLIGHT_FRAME_FILE << PILOTLIGHT_FRAME_KIND_SHIFT | \
		(uint64_t)FILE_ID << PILOTLIGHT_FRAME_FILE_SHIFT | 0x1234)
#define GENERATED ((uint64_t)PLANTED_AT + START + RETURN_AT)
#define ENTERED	  ((uint64_t)PLANTED_AT + START + ENTERED_AT)

static uint64_t words[2 * V8_PAGE_WORDS];

static const struct pilotlight_runtime_v8 described = { .code_bytes = 1 << 20,
	.frame_function_at = -16,
	.map_type_at = 8,
	.function_type_first = FUNCTION_TYPE,
	.function_type_last = FUNCTION_TYPE,
	.shared_type = SHARED_TYPE,
	.script_type = SCRIPT_TYPE,
	.function_shared_at = 24,
	.shared_name_at = 16,
	.shared_script_at = 32,
	.shared_number_at = 48,
	.script_source_at = 8,
	.script_name_at = 16,
	.script_line_ends_at = 24,
	.script_id_at = 64,
	.array_length_at = 8,
	.array_data_at = 16,
	.string_length_at = 12,
	.string_characters_at = 16,
	.code = { .before_bytes = 16,
		.code_at = 8,
		.start_at = 40,
		.type = CODE_TYPE,
		.deopt_at = 16,
		.positions_at = 24,
		.flags_at = 48,
		.size_at = 56,
		.last_kind = BASELINE_KIND,
		.deopt_type = DEOPT_TYPE,
		.literals_type = LITERALS_TYPE,
		.inlinings_type = INLININGS_TYPE,
		.positions_type = POSITIONS_TYPE,
		.count_at = 16,
		.literals_at = 24,
		.function_at = 32,
		.inlinings_at = 40 },
	.bytecodes_type = BYTECODES_TYPE,
	.bytecodes_positions_at = 32,
	.bytecodes_data_at = DATA_AT };

static inline void plant_name(uint64_t at, const char *name)
{
	plant_object(words, at, PILOTLIGHT_V8_STRING_NARROW);
	words[at / 8 + 1] = (uint64_t)strlen(name) << 32;
	memcpy(words + at / 8 + 2, name, strlen(name));
}

/* Optimized code of the function, which has no other functions. */
static inline void plant_code(void)
{
	plant_object(words, CODE, CODE_TYPE);
	words[CODE / 8 + 2] = object_at(DEOPT);
	words[CODE / 8 + 3] = object_at(POSITIONS);
	words[CODE / 8 + 5] = PLANTED_AT + START;
	words[CODE / 8 + 6] = KIND;
	words[CODE / 8 + 7] = SIZE;
	words[START / 8 - 2] = object_at(TYPES);
	words[START / 8 - 1] = object_at(CODE);
	plant_object(words, DEOPT, DEOPT_TYPE);
	words[DEOPT / 8 + 1] = 4ULL << PILOTLIGHT_V8_NUMBER_SHIFT;
	words[DEOPT / 8 + 3] = object_at(LITERALS);
	words[DEOPT / 8 + 4] = object_at(SHARED);
	words[DEOPT / 8 + 5] = object_at(INLININGS);
	plant_object(words, LITERALS, LITERALS_TYPE);
	plant_object(words, INLININGS, INLININGS_TYPE);
}

/* A frame, whose words look like those of the interpreter, between the leaf and the outermost. */
static inline int set_up(void **state)
{
	(void)state;
	made_up_v8 = described;
	memset(words, 0, sizeof(words));
	memset(seen, 0, sizeof(seen));
	memset(&made_up_walker, 0, sizeof(made_up_walker));
	planted.bytes = (uint8_t *)words;
	planted.size = sizeof(words);
	sent_count = taken_count = 0;
	has_room = has_register = 1;
	now_ns = 7ULL * PERIOD_NS;
	plant_frame(words);
	memcpy(words + OTHER_BYTECODES / 8, words + BYTECODES / 8, 40);
	memcpy(words + OTHER_SHARED / 8, words + SHARED / 8, 56);
	words[OTHER_SHARED / 8 + 1] = object_at(OTHER_BYTECODES);
	words[SHARED / 8 + 2] = object_at(NAME);
	words[OTHER_SHARED / 8 + 2] = object_at(OTHER_NAME);
	plant_name(NAME, "first");
	plant_name(OTHER_NAME, "second");
	plant_code();
	return 0;
}

/* The function that was sent as this. */
static inline const char *name_of(uint64_t code)
{
	for (size_t i = 0; i < sent_count; i++)
		if ((sent[i].hash & PILOTLIGHT_RUNTIME_CODE_MASK) == code && sent[i].name[0])
			return sent[i].name;
	return "";
}

static inline int was_sent(const char *name)
{
	for (size_t i = 0; i < sent_count; i++)
		if (strcmp(sent[i].name, name) == 0)
			return 1;
	return 0;
}
