/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Deviations of a jitdump file from the specification: each with its offset and its effect on
 * profiles. People see the first few of each kind and a summary of each kind; programs get all.
 */
#pragma once

#include "base/json.h"
#include "base/output.h"

#include <stdbool.h>
#include <stdint.h>

enum jit_deviation {
	JIT_DEVIATION_HEADER_SIZE,
	JIT_DEVIATION_HEADER_MACHINE,
	JIT_DEVIATION_HEADER_PADDING,
	JIT_DEVIATION_HEADER_FLAGS,
	JIT_DEVIATION_HEADER_CLOCK,
	JIT_DEVIATION_CLOCK,
	JIT_DEVIATION_BACKWARD,
	JIT_DEVIATION_RECORD_SIZE,
	JIT_DEVIATION_DAMAGED,
	JIT_DEVIATION_UNKNOWN,
	JIT_DEVIATION_PIDS,
	JIT_DEVIATION_NO_NAME,
	JIT_DEVIATION_NAME_TEXT,
	JIT_DEVIATION_NO_CODE,
	JIT_DEVIATION_VMA,
	JIT_DEVIATION_ADDRESS,
	JIT_DEVIATION_MOVE_UNKNOWN,
	JIT_DEVIATION_MOVE_SIZE,
	JIT_DEVIATION_LINES_DAMAGED,
	JIT_DEVIATION_LINES_BIASED,
	JIT_DEVIATION_LINES_UNCLAIMED,
	JIT_DEVIATION_UNWINDING,
	JIT_DEVIATION_AFTER_CLOSE,
	JIT_DEVIATION_PARTIAL_TAIL,
	/* Allowed by the specification, but useful to know. */
	JIT_NOTE_CPU_CLOCK,
	JIT_NOTE_NO_CLOSE,
	JIT_NOTE_UNCHECKED,
	JIT_DEVIATIONS,
};

struct jit_deviations {
	bool is_all;
	uint64_t counts[JIT_DEVIATIONS];
	struct output *output; /* borrowed, as the next */
	struct json *json;     /* NULL: write text for people */
};

void jit_deviations_init(
	struct jit_deviations *deviations, struct output *output, struct json *json, bool is_all);

/* Reports a deviation at `offset` in the file; the text says what is there. */
void jit_deviations_add(struct jit_deviations *deviations, enum jit_deviation kind, uint64_t offset,
	const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Writes a summary of each kind, for people. */
void jit_deviations_sum_up(struct jit_deviations *deviations, uint64_t records);

/* Was there a deviation? Notes do not count. */
bool jit_deviations_has_any(const struct jit_deviations *deviations);
