/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/comm_totals.h"

#include "tests/harness/failing_allocation.h"
#include "tests/render/example_profile.h"

#include <errno.h>

static void add(struct profile *profile, const char *comm, uint32_t tgid, uint64_t start_ns,
	uint32_t tid, uint64_t count)
{
	struct profile_thread thread = { .tgid = tgid,
		.tid = tid,
		.process_start_ns = start_ns,
		.comm = example_string(profile, comm) };
	struct profile_sample sample = { .count = count };

	assert_int_equal(profile_add_thread(profile, &thread, &sample.thread), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
}

static void assert_comm(const struct profile *profile, const struct comm_total *item,
	const char *comm, uint64_t samples)
{
	assert_string_equal(string_pool_get(&profile->strings, item->comm), comm);
	assert_int_equal(item->samples, samples);
}

static void threads_of_one_comm_are_summed_up(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(comm_totals_freep) struct comm_totals *totals = NULL;

	add(profile, "zz", 1, 100, 1, 5);
	add(profile, "aa", 2, 100, 2, 4);
	add(profile, "zz", 1, 100, 3, 3);
	add(profile, "bb", 1, 200, 1, 4);
	add(profile, "idle", 9, 100, 9, 0);
	assert_int_equal(comm_totals_new(profile, &totals), 0);
	assert_int_equal(totals->count, 3);
	assert_comm(profile, &totals->items[0], "zz", 8);
	assert_comm(profile, &totals->items[1], "aa", 4);
	assert_comm(profile, &totals->items[2], "bb", 4);
	assert_int_equal(totals->samples, 16);
	/* A pid that was used again is another process. */
	assert_int_equal(totals->process_count, 3);
}

static void an_empty_profile_has_no_comms(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_empty();
	_cleanup_(comm_totals_freep) struct comm_totals *totals = NULL;

	assert_int_equal(comm_totals_new(profile, &totals), 0);
	assert_int_equal(totals->count, 0);
	assert_int_equal(totals->process_count, 0);
}

static void failing_allocations_are_reported(void **state)
{
	_cleanup_(profile_freep) struct profile *profile = example_machine(false);
	struct comm_totals *totals = NULL;

	assert_int_equal(
		FAIL_EACH_ALLOCATION(comm_totals_new(profile, &totals), -ENOMEM, !totals, 0), 4);
	comm_totals_free(totals);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_of_one_comm_are_summed_up),
		cmocka_unit_test(an_empty_profile_has_no_comms),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
