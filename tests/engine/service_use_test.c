/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/service_state.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const struct service_use before = {
	.at_ns = 1000,
	.bpf_ns = 100,
	.rated_bpf_ns = 80,
	.taking_ns = 90,
	.rated_taking_ns = 70,
	.engine_ns = 200,
	.drain_ns = 50,
	.jit_ns = 30,
	.broker_ns = 10,
	.busy_samples = 7,
};

static struct service_use later(void)
{
	struct service_use now = before;

	now.at_ns += 500;
	now.bpf_ns += 20;
	now.rated_bpf_ns += 20;
	now.taking_ns += 18;
	now.rated_taking_ns += 18;
	now.engine_ns += 40;
	now.drain_ns += 15;
	now.broker_ns += 3;
	now.busy_samples += 2;
	return now;
}

static void what_depends_on_the_rate_is_told_apart(void **state)
{
	struct service_use now = later();
	struct rate_governor_use used;

	service_use_since(&before, &now, &used);
	assert_int_equal(used.elapsed_ns, 500);
	assert_int_equal(used.sampling_ns, 20 + 15);
	assert_int_equal(used.other_ns, 40 - 15 + 3);
	assert_int_equal(used.samples, 2);
}

/* A lower rate would not make them cheaper. */
static void other_sources_do_not_depend_on_the_rate(void **state)
{
	struct service_use now = later();
	struct rate_governor_use used;

	now.bpf_ns += 1000;
	service_use_since(&before, &now, &used);
	assert_int_equal(used.sampling_ns, 20 + 15);
	assert_int_equal(used.other_ns, 40 - 15 + 3 + 1000);
	now.rated_bpf_ns += 5000;
	service_use_since(&before, &now, &used);
	assert_int_equal(used.sampling_ns, 1020 + 15);
	assert_int_equal(used.other_ns, 40 - 15 + 3);
}

/* Two thirds of the time of taking samples went to those of other sources. */
static void draining_them_does_not_depend_on_it_either(void **state)
{
	struct service_use now = later();
	struct rate_governor_use used;

	now.taking_ns += 36;
	service_use_since(&before, &now, &used);
	assert_int_equal(used.sampling_ns, 20 + 5);
	assert_int_equal(used.other_ns, 40 - 5 + 3);
	/* Nothing was drained but empty maps. */
	now.taking_ns = before.taking_ns;
	now.rated_taking_ns = before.rated_taking_ns;
	service_use_since(&before, &now, &used);
	assert_int_equal(used.sampling_ns, 20 + 15);
}

static void files_of_users_do_not_count(void **state)
{
	struct service_use now = later();
	struct rate_governor_use used;

	now.engine_ns += 1000;
	now.jit_ns += 1000;
	service_use_since(&before, &now, &used);
	assert_int_equal(used.sampling_ns, 20 + 15);
	assert_int_equal(used.other_ns, 40 - 15 + 3);
}

/* They are children of the broker, which reports their time when they have ended. */
static void symbol_workers_do_not_count(void **state)
{
	struct service_use now = later();
	struct rate_governor_use used;

	now.broker_ns += 1000;
	now.worker_ns += 1000;
	service_use_since(&before, &now, &used);
	assert_int_equal(used.sampling_ns, 20 + 15);
	assert_int_equal(used.other_ns, 40 - 15 + 3);
	now.worker_ns += 50;
	service_use_since(&before, &now, &used);
	assert_int_equal(used.other_ns, 40 - 15);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_depends_on_the_rate_is_told_apart),
		cmocka_unit_test(other_sources_do_not_depend_on_the_rate),
		cmocka_unit_test(draining_them_does_not_depend_on_it_either),
		cmocka_unit_test(files_of_users_do_not_count),
		cmocka_unit_test(symbol_workers_do_not_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
