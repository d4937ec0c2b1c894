/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A made-up fleet, sampled with many seeds. Nothing here is random from run to run. */
#include "query/host_sample.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { HOSTS = 1000, SEEDS = 200, TENTH = HOST_SAMPLE_ALL / 10 };

/* Hosts differ by a factor of 19. */
static double value_of(unsigned host)
{
	return 1 + host * 7919 % 19;
}

static void name_of(unsigned host, char name[16])
{
	(void)snprintf(name, 16, "host-%04u", host);
}

static struct host_estimate estimate_with(uint64_t seed, uint32_t share_ppm)
{
	struct host_estimate estimate = { 0 };

	for (unsigned i = 0; i < HOSTS; i++) {
		char name[16];

		name_of(i, name);
		if (host_sample_has(name, 2991906, seed, share_ppm))
			host_estimate_add(&estimate, value_of(i), value_of(i) * value_of(i),
				host_sample_weight(share_ppm));
	}
	return estimate;
}

static double true_total(void)
{
	double total = 0;

	for (unsigned i = 0; i < HOSTS; i++)
		total += value_of(i);
	return total;
}

static void a_tenth_of_the_hosts_estimates_the_fleet(void **state)
{
	const double truth = true_total();
	unsigned held = 0;
	double sum = 0;

	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		const struct host_estimate estimate = estimate_with(seed, TENTH);

		sum += estimate.total;
		held += fabs(estimate.total - truth) <= host_estimate_error(&estimate);
	}
	print_message("mean %+.2f %%, the interval held in %u of %d\n",
		100 * (sum / SEEDS / truth - 1), held, SEEDS);
	assert_true(fabs(sum / SEEDS / truth - 1) < 0.01);
	assert_in_range(held, SEEDS * 93 / 100, SEEDS * 97 / 100);
}

static void all_hosts_have_no_error(void **state)
{
	const struct host_estimate estimate = estimate_with(1, HOST_SAMPLE_ALL);

	assert_true(fabs(estimate.total - true_total()) < 1e-6);
	assert_true(host_estimate_error(&estimate) == 0);
}

/* Another epoch and another seed draw other hosts, and no host is drawn in all of them. */
static void draws_are_independent(void **state)
{
	unsigned both_epochs = 0, both_seeds = 0, drawn = 0;

	for (unsigned i = 0; i < HOSTS; i++) {
		char name[16];

		name_of(i, name);
		drawn += host_sample_has(name, 1, 7, HOST_SAMPLE_ALL / 2);
		both_epochs += host_sample_has(name, 1, 7, HOST_SAMPLE_ALL / 2) &&
			       host_sample_has(name, 2, 7, HOST_SAMPLE_ALL / 2);
		both_seeds += host_sample_has(name, 1, 7, HOST_SAMPLE_ALL / 2) &&
			      host_sample_has(name, 1, 8, HOST_SAMPLE_ALL / 2);
	}
	assert_in_range(drawn, 450, 550);
	assert_in_range(both_epochs, 200, 300);
	assert_in_range(both_seeds, 200, 300);
}

/* Hosts of different versions draw alike, so the hash is for ever. */
static void the_draw_is_fixed(void **state)
{
	static const char drawn[] = "00010001010100100011";

	assert_int_equal(host_sample_seed("fleet"), 0x13408edf45e5ddde);
	for (uint64_t epoch = 0; drawn[epoch]; epoch++)
		assert_int_equal(host_sample_has("4c4c4544", epoch, host_sample_seed("fleet"),
					 HOST_SAMPLE_ALL / 2),
			drawn[epoch] == '1');
	assert_false(host_sample_has("host", 1, 1, 0));
	assert_true(host_sample_has("host", 1, 1, HOST_SAMPLE_ALL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_tenth_of_the_hosts_estimates_the_fleet),
		cmocka_unit_test(all_hosts_have_no_error),
		cmocka_unit_test(draws_are_independent),
		cmocka_unit_test(the_draw_is_fixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
