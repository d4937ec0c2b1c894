/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides when to give freed heap back to the kernel (I4). malloc() keeps what was freed between
 * blocks that are in use: under churn, half of an engine's heap, 13 of 25 MiB. malloc_trim() takes
 * about 2 ms then, so it waits until memory is short and has grown since the last time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct heap_trim {
	uint64_t left_bytes; /* the least that was used since the last trim */
};

/* Call about once a second. After malloc_trim(), call heap_trim_done(). */
bool heap_trim_is_due(struct heap_trim *trim, uint64_t used_bytes, uint64_t budget_bytes);
void heap_trim_done(struct heap_trim *trim, uint64_t used_bytes);
