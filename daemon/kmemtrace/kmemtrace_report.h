/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sums events by call site: what was allocated there, what of it is still live, and what the
 * allocator rounded up. A free counts at the call site that allocated, found by the pointer.
 *
 * Bounds (I4): KMEMTRACE_SITES_MAX call sites, KMEMTRACE_POINTERS_MAX live pointers. What exceeds
 * them is counted. Streams lack the frees of missed events, so a pointer that is allocated again
 * was freed meanwhile. One owner, one thread.
 */
#pragma once

#include "base/cleanup.h"
#include "kmemtrace/kmemtrace_event.h"

#include <stddef.h>
#include <stdint.h>

enum { KMEMTRACE_SITES_MAX = 1 << 16, KMEMTRACE_POINTERS_MAX = 1 << 20 };

struct kmemtrace_report;

struct kmemtrace_site {
	uint64_t address; /* a return address; 0: all call sites beyond the bound */
	uint8_t type_id;  /* of its first allocation */
	uint64_t allocations, frees;
	uint64_t requested_bytes, allocated_bytes;
	uint64_t live, live_bytes; /* allocated and not freed yet */
};

struct kmemtrace_totals {
	uint64_t allocations, frees;
	uint64_t requested_bytes, allocated_bytes;
	uint64_t live, live_bytes;
	uint64_t failed;	/* allocations that returned NULL */
	uint64_t null_frees;	/* of NULL or of kmalloc(0)'s pointer: nothing is freed */
	uint64_t unknown_frees; /* of pointers that no event allocated, or that are not tracked */
	uint64_t missed_frees;	/* pointers that were allocated again */
	uint64_t untracked;	/* allocations beyond the bound of pointers; never live */
	uint64_t other_events;	/* with unknown event ids */
	uint64_t wrong_events;	/* kmemtrace_event.is_wrong; they count nowhere else */
};

/* Returns 0 or -ENOMEM. */
int kmemtrace_report_new(struct kmemtrace_report **ret_report);
void kmemtrace_report_free(struct kmemtrace_report *report);
DEFINE_CLEANUP(struct kmemtrace_report, kmemtrace_report_free);

/* Returns 0 or -ENOMEM: then the report is as before. */
int kmemtrace_report_add(struct kmemtrace_report *report, const struct kmemtrace_event *event);

void kmemtrace_report_totals(
	const struct kmemtrace_report *report, struct kmemtrace_totals *ret_totals);

enum kmemtrace_order {
	KMEMTRACE_BY_ALLOCATED, /* bytes */
	KMEMTRACE_BY_LIVE,	/* bytes */
	KMEMTRACE_BY_WASTE,	/* allocated minus requested bytes */
	KMEMTRACE_BY_COUNT,	/* allocations */
	KMEMTRACE_ORDERS,
};

/* A sorted copy of all call sites, the greatest first; the caller frees it. Returns 0 or -ENOMEM.
 */
int kmemtrace_report_sites(const struct kmemtrace_report *report, enum kmemtrace_order order,
	struct kmemtrace_site **ret_sites, size_t *ret_count);
