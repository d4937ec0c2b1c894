/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parses events of the kmemtrace ABI (pilotlight/kmemtrace.h), ours and those of other writers.
 * Their bytes are not trusted (I8).
 */
#pragma once

#include "pilotlight/kmemtrace.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kmemtrace_event {
	uint8_t event_id, type_id; /* any: later versions may define more */
	int32_t sequence;
	uint64_t call_site, pointer;
	/* Of an ALLOC; else 0. */
	uint64_t requested_bytes, allocated_bytes;
	uint32_t gfp_flags;
	int32_t node;
	bool is_wrong; /* an ALLOC that allocated less than requested, which the ABI forbids */
	bool has_stack;
	uint32_t stack;
};

/*
 * Parses the event at the start of `bytes`, which needs no alignment. Returns its size in bytes; 0
 * if the event goes on beyond `size`; or -EBADMSG if no event can begin so, because its size is
 * less than its fields. A damaged feature is skipped together with those behind it.
 */
int kmemtrace_event_parse(const void *bytes, size_t size, struct kmemtrace_event *ret_event);

/* Is sequence number `a` before `b`, modulo 2^32? */
bool kmemtrace_is_before(int32_t a, int32_t b);

/* "kmalloc", "cache", "pages" or "other". */
const char *kmemtrace_type_name(uint8_t type_id);
