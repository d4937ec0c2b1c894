/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rings of CPUs, some of which temporarily have none. */
#include "capture/sideband_rings.h"
#include "tests/capture/made_up_events.h"
#include "tests/harness/failing_allocation.h"

static const uint32_t cpus[] = { 0, 1, 2 };
enum { CPUS = sizeof(cpus) / sizeof(cpus[0]), RING_BYTES = 8192 };

static int set_up(void **state)
{
	struct sideband_rings *rings;

	memset(&kernel, 0, sizeof(kernel));
	assert_int_equal(sideband_rings_new(RING_BYTES, NULL, &rings), 0);
	*state = rings;
	return 0;
}

static int tear_down(void **state)
{
	sideband_rings_free(*state);
	return 0;
}

static bool has_ring(const struct sideband_rings *rings, uint32_t cpu)
{
	for (size_t i = 0; i < sideband_rings_count(rings); i++)
		if (sideband_rings_get(rings, i).cpu == cpu)
			return true;
	return false;
}

static void rings_follow_the_cpus(void **state)
{
	uint64_t generation, id;

	assert_int_equal(sideband_rings_set_cpus(*state, cpus, CPUS), 0);
	assert_int_equal(sideband_rings_count(*state), CPUS);
	generation = sideband_rings_generation(*state);
	id = sideband_rings_get(*state, 0).id;
	assert_int_equal(sideband_rings_set_cpus(*state, cpus, CPUS), 0);
	assert_int_equal(sideband_rings_generation(*state), generation);
	assert_int_equal(sideband_rings_set_cpus(*state, cpus + 1, 2), 0);
	assert_int_equal(sideband_rings_count(*state), 2);
	assert_false(has_ring(*state, 0));
	assert_int_not_equal(sideband_rings_generation(*state), generation);
	assert_int_equal(sideband_rings_set_cpus(*state, cpus, CPUS), 0);
	for (size_t i = 0; i < CPUS; i++)
		assert_int_not_equal(sideband_rings_get(*state, i).id, id);
}

static void a_cpu_that_vanishes_is_skipped(void **state)
{
	kernel.error[0] = -ENODEV;
	assert_int_equal(sideband_rings_set_cpus(*state, cpus, CPUS), 0);
	assert_int_equal(sideband_rings_count(*state), 2);
}

/* Those behind it have theirs, and it has its own once that passes. */
static void one_failing_ring_does_not_stop_the_others(void **state)
{
	uint64_t generation;

	kernel.error[0] = -EMFILE;
	assert_int_equal(sideband_rings_set_cpus(*state, cpus, CPUS), -EMFILE);
	assert_false(has_ring(*state, 0));
	assert_true(has_ring(*state, 1) && has_ring(*state, 2));
	generation = sideband_rings_generation(*state);
	assert_int_equal(sideband_rings_set_cpus(*state, cpus, CPUS), -EMFILE);
	assert_int_equal(sideband_rings_generation(*state), generation);
	kernel.error[0] = 0;
	assert_int_equal(sideband_rings_set_cpus(*state, cpus, CPUS), 0);
	assert_int_equal(sideband_rings_count(*state), CPUS);
	assert_int_not_equal(sideband_rings_generation(*state), generation);
}

static void without_memory_it_fails_and_goes_on_later(void **state)
{
	struct sideband_rings *rings = NULL;

	fail_allocation(0);
	assert_int_equal(sideband_rings_new(RING_BYTES, NULL, &rings), -ENOMEM);
	assert_true(allocation_failed());
	assert_null(rings);
	fail_allocation(0);
	assert_int_equal(sideband_rings_set_cpus(*state, cpus, 1), -ENOMEM);
	assert_true(allocation_failed());
	assert_int_equal(sideband_rings_set_cpus(*state, cpus, CPUS), 0);
	assert_int_equal(sideband_rings_count(*state), CPUS);
	sideband_rings_free(NULL);
}

#define RINGS_TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		RINGS_TEST(rings_follow_the_cpus),
		RINGS_TEST(a_cpu_that_vanishes_is_skipped),
		RINGS_TEST(one_failing_ring_does_not_stop_the_others),
		RINGS_TEST(without_memory_it_fails_and_goes_on_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
