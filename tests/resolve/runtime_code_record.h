/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Code objects of an interpreter, as the sampler sends them. */
#pragma once

#include "drain/drain.h"
#include "pilotlight/runtime_v8.h"

#include <string.h>

static inline void set_record_text(struct pilotlight_runtime_text *text, const char *ascii)
{
	size_t bytes = strlen(ascii);

	memset(text, 0, sizeof(*text));
	memcpy(text->characters, ascii, bytes);
	text->bytes = (__u16)bytes;
	text->width = 1;
}

/* `file` begins at line 10; the second instruction is on the next one. Valid until the next call.
 */
static inline struct raw_code code_record(uint64_t hash, const char *name, const char *file)
{
	static struct pilotlight_runtime_code record;

	record = (struct pilotlight_runtime_code){
		.hash = hash,
		.language = PILOTLIGHT_RUNTIME_PYTHON,
		.lines = PILOTLIGHT_RUNTIME_LOCATIONS,
		.line_bytes = 2,
		.line_bytes_all = 2,
		.first_line = 10,
		/* Two entries of one instruction, on the first line and on the next. */
		.table = { 0xd0, 0xd8 },
	};
	set_record_text(&record.name, name);
	set_record_text(&record.file, file);
	return (struct raw_code){
		.contents = &record,
		.size = offsetof(struct pilotlight_runtime_code, table) + 8,
	};
}

/* Code of three functions that V8 has put into each other: 3 calls 2, and that calls 1 from the
 * first instruction on. Valid until the next call. */
static inline struct raw_code native_code_record(uint64_t hash)
{
	static const struct {
		struct pilotlight_v8_inlined head;
		uint64_t functions[3], inlinings[2];
		uint8_t positions[8];
	} table = {
		.head = { 3, 2, 6 },
		.functions = { 3, 2, 1 },
		.inlinings = { 2 | 1ULL << PILOTLIGHT_V8_INLINING_FUNCTION_SHIFT,
			1ULL << PILOTLIGHT_V8_POSITION_INLINING_SHIFT | 2 |
				2ULL << PILOTLIGHT_V8_INLINING_FUNCTION_SHIFT },
		/* 1 further; 2 << 31, twice for the sign */
		.positions = { 2, 0x80, 0x80, 0x80, 0x80, 0x20 },
	};
	static struct pilotlight_runtime_code record;

	record = (struct pilotlight_runtime_code){
		.hash = hash,
		.language = PILOTLIGHT_RUNTIME_V8,
		.lines = PILOTLIGHT_RUNTIME_INLINED,
		.line_bytes = sizeof(table),
		.line_bytes_all = sizeof(table),
	};
	memcpy(record.table, &table, sizeof(table));
	set_record_text(&record.name, "");
	set_record_text(&record.file, "");
	return (struct raw_code){
		.contents = &record,
		.size = offsetof(struct pilotlight_runtime_code, table) + sizeof(table),
	};
}
