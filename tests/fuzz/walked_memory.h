/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a hostile process, at address 0x10000, as the sampler's headers read it. For fuzz
 * targets of walks, whose reads must be bounded. Include it before the header that walks.
 */
#pragma once

#include "base/runtime_bounds.h"
#include "pilotlight/runtime.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_walk.bpf.h"

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

/* The input is a description, words of the process, and its memory. Is it sound, and of this
 * language? */
static inline bool take_input(const uint8_t *bytes, size_t size,
	enum pilotlight_runtime_language language, struct pilotlight_runtime *runtime,
	uint64_t *words, size_t count)
{
	const size_t words_bytes = count * sizeof(*words);

	if (size < sizeof(*runtime) + words_bytes)
		return false;
	memcpy(runtime, bytes, sizeof(*runtime));
	memcpy(words, bytes + sizeof(*runtime), words_bytes);
	memory.bytes = bytes + sizeof(*runtime) + words_bytes;
	memory.size = size - sizeof(*runtime) - words_bytes;
	return runtime_bounds_hold(runtime) && runtime->language == language;
}
