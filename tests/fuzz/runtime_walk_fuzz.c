/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Walks the frames of a hostile process, and copies their code objects: the input is a description,
 * the thread's pointer, the base, and the memory at address 0x10000. A walk by a sound description
 * must end, its reads are bounded, and what is copied must be a sound record.
 */
#include "base/runtime_bounds.h"
#include "pilotlight/runtime.h"
#include "symbol/runtime_code.h"
#include "symbol/runtime_description.h"

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_code.bpf.h"

enum { STEPS_MAX = 300 };
#define START 0x10000ULL

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static struct {
	const uint8_t *bytes;
	size_t size;
} memory;

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	if (size > PILOTLIGHT_RUNTIME_TABLE_MAX)
		abort();
	if (address < START || size > memory.size || address - START > memory.size - size)
		return 0;
	memcpy(bytes, memory.bytes + (address - START), size);
	return 1;
}

/* The record was full of other bytes before. */
static void check_code(const struct pilotlight_runtime *runtime, uint64_t address)
{
	static struct pilotlight_runtime_code record;
	static struct runtime_code code;

	memset(&record, 0xff, sizeof(record));
	if (runtime_copy_code(runtime, address, &record) &&
		runtime_code_parse(&record, runtime_code_words(&record) * 8UL, &code) < 0)
		abort();
}

static void check(const struct runtime_step *step, enum runtime_end end)
{
	if (end != RUNTIME_ON && end != RUNTIME_ROOT && end != RUNTIME_UNREADABLE)
		abort();
	if (end != RUNTIME_UNREADABLE && step->code &&
		(step->code & PILOTLIGHT_RUNTIME_TAG_BITS || step->unit < RUNTIME_UNIT_UNKNOWN ||
			step->unit >= RUNTIME_UNITS_MAX))
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct pilotlight_runtime runtime;
	struct runtime_walk walk = { .base = 0 };
	char text[RUNTIME_RELEASE_BYTES];
	enum runtime_end end;

	if (size < sizeof(runtime) + 2 * sizeof(uint64_t))
		return 0;
	memcpy(&runtime, bytes, sizeof(runtime));
	memcpy(&walk.thread, bytes + sizeof(runtime), sizeof(walk.thread));
	memcpy(&walk.base, bytes + sizeof(runtime) + sizeof(walk.thread), sizeof(walk.base));
	memory.bytes = bytes + sizeof(runtime) + 2 * sizeof(uint64_t);
	memory.size = size - sizeof(runtime) - 2 * sizeof(uint64_t);
	if (strlen(runtime_description_release(&runtime, text)) >= sizeof(text))
		abort();
	if (!runtime_bounds_hold(&runtime))
		return 0;
	end = runtime_begin(&walk, &runtime);
	for (int i = 0; end == RUNTIME_ON && i < STEPS_MAX; i++) {
		struct runtime_step step;

		end = runtime_next(&walk, &runtime, &step);
		check(&step, end);
		if (end != RUNTIME_UNREADABLE && step.code)
			check_code(&runtime, step.code);
	}
	return 0;
}
