/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How users share what the sampler copies of interpreters, compiled for the host. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "bpf/runtime_share.bpf.h"

enum { MOST = 900, GREEDY = 1000, HONEST = 1001, LATE = 1002 };

static struct runtime_shares shares;

static uint32_t take_all(uint32_t user, uint32_t period)
{
	uint32_t taken = 0;

	while (runtime_take(&shares, user, period, 1, MOST))
		taken++;
	return taken;
}

static void one_user_leaves_a_third(void **state)
{
	shares = (struct runtime_shares){ 0 };
	assert_int_equal(take_all(GREEDY, 1), 600);
	assert_int_equal(take_all(HONEST, 1), 200);
	assert_int_equal(take_all(LATE, 1), 67);
	assert_int_equal(take_all(GREEDY, 1), 0);
}

static void a_period_begins_anew(void **state)
{
	shares = (struct runtime_shares){ 0 };
	assert_int_equal(take_all(GREEDY, 1), 600);
	assert_int_equal(take_all(HONEST, 2), 600);
	assert_int_equal(take_all(GREEDY, 2), 200);
}

static void what_does_not_fit_is_refused(void **state)
{
	shares = (struct runtime_shares){ 0 };
	assert_false(runtime_take(&shares, HONEST, 1, MOST + 1, MOST));
	assert_true(runtime_take(&shares, HONEST, 1, MOST, MOST));
	assert_false(runtime_take(&shares, LATE, 1, 1, MOST));
	assert_false(runtime_take(&shares, LATE, 2, 1, 0));
}

static void what_one_refuses_is_left_in_the_other(void **state)
{
	static struct runtime_shares others;
	struct runtime_part first = { &shares, 1, MOST }, second = { &others, 1, MOST / 2 };

	shares = others = (struct runtime_shares){ 0 };
	for (int i = 0; i < 300; i++)
		assert_int_equal(runtime_take_both(&first, &second, GREEDY, 1), RUNTIME_TAKEN);
	assert_int_equal(runtime_take_both(&first, &second, GREEDY, 1), RUNTIME_SECOND_SPENT);
	assert_int_equal(runtime_used(&shares.all, 1), 300);
	second.period = 2;
	for (int i = 0; i < 300; i++)
		assert_int_equal(runtime_take_both(&first, &second, GREEDY, 1), RUNTIME_TAKEN);
	second.period = 3;
	assert_int_equal(runtime_take_both(&first, &second, GREEDY, 1), RUNTIME_FIRST_SPENT);
	assert_int_equal(runtime_used(&others.all, 3), 0);
	assert_int_equal(runtime_take_both(&first, &second, HONEST, 1), RUNTIME_TAKEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_leaves_a_third),
		cmocka_unit_test(a_period_begins_anew),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(what_one_refuses_is_left_in_the_other),
	};

	return cmocka_run_group_tests_name("runtime_share", tests, NULL, NULL);
}
