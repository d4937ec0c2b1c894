/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "kmemtrace/kmemtrace_report.h"

#include "tests/harness/failing_allocation.h"
#include "tests/kmemtrace/kmemtrace_bytes.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static int alloc(
	struct kmemtrace_report *report, uint64_t site, uint64_t pointer, uint64_t requested)
{
	return kmemtrace_report_add(report, &(struct kmemtrace_event){
						    .event_id = PILOTLIGHT_KMEMTRACE_ALLOC,
						    .call_site = site,
						    .pointer = pointer,
						    .requested_bytes = requested,
						    .allocated_bytes = requested * 2,
					    });
}

static int release(struct kmemtrace_report *report, uint64_t pointer)
{
	return kmemtrace_report_add(
		report, &(struct kmemtrace_event){ .event_id = PILOTLIGHT_KMEMTRACE_FREE,
				.call_site = SITE_B,
				.pointer = pointer });
}

static void a_free_counts_where_it_was_allocated(void **state)
{
	_cleanup_(kmemtrace_report_freep) struct kmemtrace_report *report = NULL;
	_cleanup_free_ struct kmemtrace_site *sites = NULL;
	struct kmemtrace_totals totals;
	size_t count;

	assert_int_equal(kmemtrace_report_new(&report), 0);
	assert_int_equal(alloc(report, SITE_A, 0x1000, 10), 0);
	assert_int_equal(alloc(report, SITE_A, 0x2000, 20), 0);
	assert_int_equal(alloc(report, SITE_B, 0x3000, 40), 0);
	assert_int_equal(release(report, 0x1000), 0);
	assert_int_equal(kmemtrace_report_sites(report, KMEMTRACE_BY_COUNT, &sites, &count), 0);
	assert_int_equal(count, 2);
	assert_int_equal(sites[0].address, SITE_A);
	assert_int_equal(sites[0].allocations, 2);
	assert_int_equal(sites[0].frees, 1);
	assert_int_equal(sites[0].requested_bytes, 30);
	assert_int_equal(sites[0].allocated_bytes, 60);
	assert_int_equal(sites[0].live, 1);
	assert_int_equal(sites[0].live_bytes, 40);
	assert_int_equal(sites[1].address, SITE_B);
	assert_int_equal(sites[1].live_bytes, 80);
	kmemtrace_report_totals(report, &totals);
	assert_int_equal(totals.allocations, 3);
	assert_int_equal(totals.frees, 1);
	assert_int_equal(totals.requested_bytes, 70);
	assert_int_equal(totals.allocated_bytes, 140);
	assert_int_equal(totals.live, 2);
	assert_int_equal(totals.live_bytes, 120);
}

static void first_by(struct kmemtrace_report *report, enum kmemtrace_order order, uint64_t site)
{
	_cleanup_free_ struct kmemtrace_site *sites = NULL;
	size_t count;

	assert_int_equal(kmemtrace_report_sites(report, order, &sites, &count), 0);
	assert_int_equal(sites[0].address, site);
}

static void the_order_is_chosen(void **state)
{
	_cleanup_(kmemtrace_report_freep) struct kmemtrace_report *report = NULL;
	struct kmemtrace_event tight = { .event_id = PILOTLIGHT_KMEMTRACE_ALLOC,
		.call_site = 1,
		.pointer = 0x4000,
		.requested_bytes = 1000,
		.allocated_bytes = 1000 };

	assert_int_equal(kmemtrace_report_new(&report), 0);
	assert_int_equal(kmemtrace_report_add(report, &tight), 0);
	assert_int_equal(release(report, 0x4000), 0);
	assert_int_equal(alloc(report, 2, 0x1000, 100), 0); /* wastes most */
	assert_int_equal(release(report, 0x1000), 0);
	assert_int_equal(alloc(report, 3, 0x2000, 50), 0); /* lives */
	for (int i = 0; i < 3; i++)
		assert_int_equal(alloc(report, 4, 0x5000, 1), 0);
	first_by(report, KMEMTRACE_BY_ALLOCATED, 1);
	first_by(report, KMEMTRACE_BY_WASTE, 2);
	first_by(report, KMEMTRACE_BY_LIVE, 3);
	first_by(report, KMEMTRACE_BY_COUNT, 4);
}

static void an_empty_report_has_no_sites(void **state)
{
	_cleanup_(kmemtrace_report_freep) struct kmemtrace_report *report = NULL;
	_cleanup_free_ struct kmemtrace_site *sites = NULL;
	size_t count = 77;

	assert_int_equal(kmemtrace_report_new(&report), 0);
	assert_int_equal(kmemtrace_report_sites(report, KMEMTRACE_BY_LIVE, &sites, &count), 0);
	assert_int_equal(count, 0);
}

static void doubtful_events_are_counted(void **state)
{
	_cleanup_(kmemtrace_report_freep) struct kmemtrace_report *report = NULL;
	struct kmemtrace_totals totals;

	assert_int_equal(kmemtrace_report_new(&report), 0);
	assert_int_equal(alloc(report, SITE_A, 0, 10), 0); /* failed */
	assert_int_equal(alloc(report, SITE_A, 16, 0), 0); /* kmalloc(0) */
	assert_int_equal(release(report, 0), 0);
	assert_int_equal(release(report, 16), 0);
	assert_int_equal(release(report, 0x9000), 0);
	assert_int_equal(alloc(report, SITE_A, 0x1000, 10), 0);
	assert_int_equal(alloc(report, SITE_B, 0x1000, 20), 0); /* a free was missed */
	assert_int_equal(
		kmemtrace_report_add(report, &(struct kmemtrace_event){ .event_id = 9 }), 0);
	assert_int_equal(kmemtrace_report_add(report,
				 &(struct kmemtrace_event){ .pointer = 0x7000, .is_wrong = true }),
		0);
	kmemtrace_report_totals(report, &totals);
	assert_int_equal(totals.wrong_events, 1);
	assert_int_equal(totals.failed, 1);
	assert_int_equal(totals.null_frees, 2);
	assert_int_equal(totals.unknown_frees, 1);
	assert_int_equal(totals.missed_frees, 1);
	assert_int_equal(totals.other_events, 1);
	assert_int_equal(totals.live, 1);
	assert_int_equal(totals.live_bytes, 40);
}

static void call_sites_are_bounded(void **state)
{
	_cleanup_(kmemtrace_report_freep) struct kmemtrace_report *report = NULL;
	_cleanup_free_ struct kmemtrace_site *sites = NULL;
	uint64_t allocations = 0;
	size_t count;

	assert_int_equal(kmemtrace_report_new(&report), 0);
	for (uint64_t i = 1; i <= KMEMTRACE_SITES_MAX + 100; i++)
		assert_int_equal(alloc(report, i, 0x1000, 1), 0);
	assert_int_equal(kmemtrace_report_sites(report, KMEMTRACE_BY_COUNT, &sites, &count), 0);
	assert_int_equal(count, KMEMTRACE_SITES_MAX + 1);
	assert_int_equal(sites[0].address, 0);
	assert_int_equal(sites[0].allocations, 100);
	for (size_t i = 0; i < count; i++)
		allocations += sites[i].allocations;
	assert_int_equal(allocations, KMEMTRACE_SITES_MAX + 100);
}

static void live_pointers_are_bounded(void **state)
{
	_cleanup_(kmemtrace_report_freep) struct kmemtrace_report *report = NULL;
	struct kmemtrace_totals totals;

	assert_int_equal(kmemtrace_report_new(&report), 0);
	for (uint64_t i = 1; i <= KMEMTRACE_POINTERS_MAX + 50; i++)
		assert_int_equal(alloc(report, SITE_A, 0x1000 * i, 1), 0);
	kmemtrace_report_totals(report, &totals);
	assert_int_equal(totals.live, KMEMTRACE_POINTERS_MAX);
	assert_int_equal(totals.untracked, 50);
	/* A pointer that is tracked already needs no room. */
	assert_int_equal(alloc(report, SITE_A, 0x1000, 1), 0);
	kmemtrace_report_totals(report, &totals);
	assert_int_equal(totals.untracked, 50);
	assert_int_equal(totals.missed_frees, 1);
	/* And room comes back. */
	assert_int_equal(release(report, 0x2000), 0);
	assert_int_equal(alloc(report, SITE_A, 0x10, 1), 0);
	assert_int_equal(alloc(report, SITE_A, 0x2000, 1), 0);
	kmemtrace_report_totals(report, &totals);
	assert_int_equal(totals.untracked, 50);
	assert_int_equal(totals.live, KMEMTRACE_POINTERS_MAX);
}

/* Against a plain array, with pointers that often meet in the table. */
static void live_memory_is_exact(void **state)
{
	enum { POINTERS = 3000, STEPS = 200000 };
	_cleanup_(kmemtrace_report_freep) struct kmemtrace_report *report = NULL;
	static uint64_t bytes[POINTERS];
	struct kmemtrace_totals totals;
	uint64_t live = 0, live_bytes = 0;
	unsigned seed = 7;

	memset(bytes, 0, sizeof(bytes));
	assert_int_equal(kmemtrace_report_new(&report), 0);
	for (int i = 0; i < STEPS; i++) {
		size_t which = (size_t)rand_r(&seed) % POINTERS;
		uint64_t size = 1 + (uint64_t)rand_r(&seed) % 100;

		if (bytes[which]) {
			assert_int_equal(release(report, 0x1000 + which * 8), 0);
			live--;
			live_bytes -= bytes[which] * 2;
			bytes[which] = 0;
			continue;
		}
		assert_int_equal(alloc(report, size, 0x1000 + which * 8, size), 0);
		live++;
		live_bytes += size * 2;
		bytes[which] = size;
	}
	kmemtrace_report_totals(report, &totals);
	assert_int_equal(totals.live, live);
	assert_int_equal(totals.live_bytes, live_bytes);
	assert_int_equal(totals.unknown_frees, 0);
	assert_int_equal(totals.missed_frees, 0);
}

static int fill(void)
{
	_cleanup_(kmemtrace_report_freep) struct kmemtrace_report *report = NULL;
	_cleanup_free_ struct kmemtrace_site *sites = NULL;
	int r = kmemtrace_report_new(&report);
	size_t count;

	for (uint64_t i = 1; r == 0 && i < 2000; i++)
		r = alloc(report, i, 0x1000 * i, 1);
	if (r == 0)
		r = kmemtrace_report_sites(report, KMEMTRACE_BY_LIVE, &sites, &count);
	return r;
}

static void allocations_may_fail(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(fill(), -ENOMEM, true, 0) >= 8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_free_counts_where_it_was_allocated),
		cmocka_unit_test(the_order_is_chosen),
		cmocka_unit_test(an_empty_report_has_no_sites),
		cmocka_unit_test(doubtful_events_are_counted),
		cmocka_unit_test(call_sites_are_bounded),
		cmocka_unit_test(live_pointers_are_bounded),
		cmocka_unit_test(live_memory_is_exact),
		cmocka_unit_test(allocations_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
