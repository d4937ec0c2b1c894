/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Made-up events, as a writer would put them into a stream. */
#pragma once

#include "pilotlight/kmemtrace.h"

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { SITE_A = 0x1000, SITE_B = 0x2000 };

/* Each returns the size of the event that it put at `bytes`. */
static inline size_t put_alloc(
	unsigned char *bytes, int32_t sequence, uint64_t site, uint64_t pointer, uint64_t size)
{
	const struct pilotlight_kmemtrace_alloc alloc = {
		.event.event_id = PILOTLIGHT_KMEMTRACE_ALLOC,
		.event.event_bytes = sizeof(alloc),
		.event.sequence = sequence,
		.event.call_site = site,
		.event.pointer = pointer,
		.requested_bytes = size,
		.allocated_bytes = size + size / 2,
		.gfp_flags = 0xcc0,
		.node = -1,
	};

	memcpy(bytes, &alloc, sizeof(alloc));
	return sizeof(alloc);
}

static inline size_t put_free(
	unsigned char *bytes, int32_t sequence, uint64_t site, uint64_t pointer)
{
	const struct pilotlight_kmemtrace_event event = {
		.event_id = PILOTLIGHT_KMEMTRACE_FREE,
		.type_id = PILOTLIGHT_KMEMTRACE_CACHE,
		.event_bytes = sizeof(event),
		.sequence = sequence,
		.call_site = site,
		.pointer = pointer,
	};

	memcpy(bytes, &event, sizeof(event));
	return sizeof(event);
}
