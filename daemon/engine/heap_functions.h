/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions by which programs allocate and free memory, of the C library and of jemalloc,
 * mimalloc and tcmalloc, and C++'s operators where an allocator brings its own.
 *
 * Or the USDT probes of an allocator that samples itself, as OpenTelemetry's profiler defines them:
 * otel_memory:alloc(address, size, weight) for each allocation that it has sampled, and
 * otel_memory:free(address) when that is freed.
 */
#pragma once

#include "pilotlight/capture_message.h"

#include <stddef.h>
#include <stdint.h>

enum { HEAP_FUNCTIONS_MAX = 64 }; /* of one file */

struct heap_function {
	uint64_t offset; /* of the probe, in the file: where it begins, or right behind */
	enum pilotlight_heap_function function;
	uint64_t semaphore, arguments; /* as in struct pilotlight_capture_probe */
};

/*
 * Finds the allocator's functions in a file; `fd` is borrowed. A file that allocates nothing by
 * itself has none: C++'s operators in libstdc++ call malloc() of another file. If it has both USDT
 * probes, it has these alone, the first of them an alloc. Returns their number, or -errno of
 * elf_functions_find().
 */
int heap_functions_find(int fd, struct heap_function functions[HEAP_FUNCTIONS_MAX]);
