/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_report.h"

#include "base/array.h"
#include "base/hash_index.h"
#include "kmemtrace/pointer_table.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* kmalloc(0) returns this pointer, which is no memory. */
enum { ZERO_SIZE_POINTER = 16 };

struct kmemtrace_report {
	struct kmemtrace_site *sites;
	size_t site_count, site_capacity;
	struct hash_index site_index; /* by address */
	struct pointer_table pointers;
	struct kmemtrace_totals totals;
};

int kmemtrace_report_new(struct kmemtrace_report **ret_report)
{
	struct kmemtrace_report *report = calloc(1, sizeof(*report));

	if (!report)
		return -ENOMEM;
	*ret_report = report;
	return 0;
}

void kmemtrace_report_free(struct kmemtrace_report *report)
{
	if (!report)
		return;
	free(report->sites);
	hash_index_done(&report->site_index);
	pointer_table_done(&report->pointers);
	free(report);
}

static bool has_address(const void *owner, uint32_t id, const void *key)
{
	const struct kmemtrace_report *report = owner;

	return report->sites[id].address == *(const uint64_t *)key;
}

static int find_site(
	struct kmemtrace_report *report, uint64_t address, uint8_t type_id, uint32_t *ret_site)
{
	uint64_t hash = hash_pair(address, 0);
	uint32_t id = hash_index_find(&report->site_index, hash, has_address, report, &address);
	int r;

	if (id != HASH_INDEX_NONE) {
		*ret_site = id;
		return 0;
	}
	/* One more, address 0, takes all beyond the bound. */
	if (report->site_count >= KMEMTRACE_SITES_MAX && address != 0)
		return find_site(report, 0, type_id, ret_site);
	r = hash_index_reserve(&report->site_index);
	if (r == 0)
		r = ARRAY_RESERVE(report->sites, &report->site_capacity, report->site_count + 1,
			KMEMTRACE_SITES_MAX + 1);
	if (r < 0)
		return r;
	id = (uint32_t)report->site_count++;
	report->sites[id] = (struct kmemtrace_site){ .address = address, .type_id = type_id };
	hash_index_insert(&report->site_index, hash, id);
	*ret_site = id;
	return 0;
}

static void release(struct kmemtrace_report *report, const struct live_pointer *live)
{
	struct kmemtrace_site *site = &report->sites[live->site];

	site->live--;
	site->live_bytes -= live->bytes;
	report->totals.live--;
	report->totals.live_bytes -= live->bytes;
	pointer_table_remove(&report->pointers, live);
}

static void keep(
	struct kmemtrace_report *report, const struct kmemtrace_event *event, uint32_t site)
{
	pointer_table_add(&report->pointers,
		&(struct live_pointer){
			.pointer = event->pointer, .bytes = event->allocated_bytes, .site = site });
	report->sites[site].live++;
	report->sites[site].live_bytes += event->allocated_bytes;
	report->totals.live++;
	report->totals.live_bytes += event->allocated_bytes;
}

static int add_allocation(struct kmemtrace_report *report, const struct kmemtrace_event *event)
{
	struct kmemtrace_totals *totals = &report->totals;
	const struct live_pointer *live;
	struct kmemtrace_site *site;
	uint32_t id;
	int r, room;

	if (event->pointer == 0) {
		totals->failed++;
		return 0;
	}
	room = pointer_table_reserve(&report->pointers, KMEMTRACE_POINTERS_MAX);
	if (room == -ENOMEM)
		return room;
	r = find_site(report, event->call_site, event->type_id, &id);
	if (r < 0)
		return r;
	live = pointer_table_find(&report->pointers, event->pointer);
	if (live) {
		totals->missed_frees++;
		release(report, live);
		room = 0;
	}
	site = &report->sites[id];
	site->allocations++;
	site->requested_bytes += event->requested_bytes;
	site->allocated_bytes += event->allocated_bytes;
	totals->allocations++;
	totals->requested_bytes += event->requested_bytes;
	totals->allocated_bytes += event->allocated_bytes;
	if (event->pointer <= ZERO_SIZE_POINTER)
		return 0;
	if (room == 0)
		keep(report, event, id);
	else
		totals->untracked++;
	return 0;
}

static void add_free(struct kmemtrace_report *report, const struct kmemtrace_event *event)
{
	const struct live_pointer *live;

	if (event->pointer <= ZERO_SIZE_POINTER) {
		report->totals.null_frees++;
		return;
	}
	report->totals.frees++;
	live = pointer_table_find(&report->pointers, event->pointer);
	if (!live) {
		report->totals.unknown_frees++;
		return;
	}
	report->sites[live->site].frees++;
	release(report, live);
}

int kmemtrace_report_add(struct kmemtrace_report *report, const struct kmemtrace_event *event)
{
	if (event->is_wrong) {
		report->totals.wrong_events++;
		return 0;
	}
	switch (event->event_id) {
	case PILOTLIGHT_KMEMTRACE_ALLOC:
		return add_allocation(report, event);
	case PILOTLIGHT_KMEMTRACE_FREE:
		add_free(report, event);
		return 0;
	default:
		report->totals.other_events++;
		return 0;
	}
}

void kmemtrace_report_totals(
	const struct kmemtrace_report *report, struct kmemtrace_totals *ret_totals)
{
	*ret_totals = report->totals;
}

static uint64_t weigh(const struct kmemtrace_site *site, enum kmemtrace_order order)
{
	switch (order) {
	case KMEMTRACE_BY_LIVE:
		return site->live_bytes;
	case KMEMTRACE_BY_WASTE:
		return site->allocated_bytes - site->requested_bytes;
	case KMEMTRACE_BY_COUNT:
		return site->allocations;
	default:
		return site->allocated_bytes;
	}
}

static int compare(const void *a, const void *b, void *context)
{
	enum kmemtrace_order order = *(const enum kmemtrace_order *)context;
	const struct kmemtrace_site *x = a, *y = b;
	uint64_t left = weigh(x, order), right = weigh(y, order);

	if (left != right)
		return left < right ? 1 : -1;
	return (x->address > y->address) - (x->address < y->address);
}

int kmemtrace_report_sites(const struct kmemtrace_report *report, enum kmemtrace_order order,
	struct kmemtrace_site **ret_sites, size_t *ret_count)
{
	struct kmemtrace_site *sites = calloc(report->site_count + 1, sizeof(*sites));

	if (!sites)
		return -ENOMEM;
	if (report->site_count > 0) {
		memcpy(sites, report->sites, report->site_count * sizeof(*sites));
		qsort_r(sites, report->site_count, sizeof(*sites), compare, &order);
	}
	*ret_sites = sites;
	*ret_count = report->site_count;
	return 0;
}
