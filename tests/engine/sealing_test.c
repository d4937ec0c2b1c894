/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "engine/sealing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { NOW = 1000 };

static void nothing_is_due_until_it_is_wanted(void **state)
{
	struct sealing sealing = { 0 };

	(void)state;
	assert_false(sealing_is_due(&sealing));
	assert_false(sealing_is_awaited(&sealing));
	sealing_ask(&sealing, NOW);
	sealing_answer(&sealing, NOW);
	sealing_want(&sealing, NOW, NOW + 5);
	assert_false(sealing_is_due(&sealing));
	assert_false(sealing_is_awaited(&sealing));
	sealing_want(&sealing, NOW + 5, NOW + 5);
	assert_true(sealing_is_due(&sealing));
	assert_true(sealing_is_awaited(&sealing));
}

static void a_window_is_ended_once_and_waited_for(void **state)
{
	struct sealing sealing = { 0 };

	(void)state;
	sealing_want(&sealing, NOW, NOW);
	sealing_ask(&sealing, NOW + 1);
	assert_false(sealing_is_due(&sealing));
	assert_true(sealing_is_awaited(&sealing));
	/* One that ended before. */
	sealing_answer(&sealing, NOW - 1);
	assert_true(sealing_is_awaited(&sealing));
	sealing_answer(&sealing, NOW + 2);
	assert_false(sealing_is_awaited(&sealing));
	sealing_answer(&sealing, NOW - 1);
	assert_false(sealing_is_awaited(&sealing));
}

static void nobody_waits_for_what_is_to_come(void **state)
{
	struct sealing sealing = { 0 };

	(void)state;
	sealing_want(&sealing, UINT64_MAX, NOW);
	assert_true(sealing_is_due(&sealing));
	sealing_ask(&sealing, NOW);
	sealing_answer(&sealing, NOW);
	assert_false(sealing_is_due(&sealing));
	assert_false(sealing_is_awaited(&sealing));
}

static void a_clock_that_is_set_back_is_followed(void **state)
{
	struct sealing sealing = { 0 };

	(void)state;
	sealing_want(&sealing, NOW, NOW);
	sealing_ask(&sealing, NOW);
	sealing_answer(&sealing, NOW);
	sealing_want(&sealing, 400, 400);
	assert_true(sealing_is_due(&sealing));
	assert_true(sealing_is_awaited(&sealing));
	sealing_ask(&sealing, 401);
	assert_false(sealing_is_due(&sealing));
	assert_true(sealing_is_awaited(&sealing));
	sealing_answer(&sealing, 402);
	assert_false(sealing_is_awaited(&sealing));
}

static void a_clock_that_is_set_back_meanwhile_is_followed(void **state)
{
	struct sealing sealing = { 0 };

	(void)state;
	/* After it was wanted: it is due all the same, and not again. */
	sealing_want(&sealing, NOW, NOW);
	assert_true(sealing_is_due(&sealing));
	sealing_ask(&sealing, 400);
	assert_false(sealing_is_due(&sealing));
	assert_true(sealing_is_awaited(&sealing));
	/* The window has begun by the old time and ends by it; the next one does not. */
	sealing_answer(&sealing, NOW + 1);
	assert_false(sealing_is_awaited(&sealing));
	sealing_want(&sealing, 410, 410);
	assert_true(sealing_is_due(&sealing));
	sealing_ask(&sealing, 410);
	sealing_answer(&sealing, 411);
	assert_false(sealing_is_due(&sealing));
	assert_false(sealing_is_awaited(&sealing));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_due_until_it_is_wanted),
		cmocka_unit_test(a_window_is_ended_once_and_waited_for),
		cmocka_unit_test(nobody_waits_for_what_is_to_come),
		cmocka_unit_test(a_clock_that_is_set_back_is_followed),
		cmocka_unit_test(a_clock_that_is_set_back_meanwhile_is_followed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
