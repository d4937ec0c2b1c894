/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "drain/accounts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static void every_sample_is_stored_or_dropped(void **state)
{
	const struct pilotlight_counters counters = {
		.fired = 100,
		.stored = { 40, 5 },
		.dropped = { 30, 20, 4, 1 },
		.events = { 7, 0, 5, 0, 0 },
	};
	struct accounts accounts = { 0 };

	accounts_add_counters(&accounts, &counters);
	assert_true(accounts_close(&accounts));
	assert_int_equal(accounts_stored(&accounts), 45);
	assert_int_equal(accounts_lost(&accounts), 5);
	accounts_add_counters(&accounts, &counters);
	assert_int_equal(accounts.fired, 200);
	assert_int_equal(accounts.events[PILOTLIGHT_EVENT_STACK_COLLISION], 10);
	accounts.fired++;
	assert_false(accounts_close(&accounts));
}

static void moving_keeps_the_sum(void **state)
{
	struct accounts sum = { 0 }, accounts = { .fired = 10, .stored = { 10, 0 } };

	accounts_move(&accounts, PILOTLIGHT_PATH_MAP, PILOTLIGHT_DROP_PROFILE_FULL, 3);
	assert_int_equal(accounts_stored(&accounts), 7);
	assert_int_equal(accounts_lost(&accounts), 3);
	assert_true(accounts_close(&accounts));
	accounts_add(&sum, &accounts);
	accounts_add(&sum, &accounts);
	assert_int_equal(sum.fired, 20);
	assert_int_equal(sum.dropped[PILOTLIGHT_DROP_PROFILE_FULL], 6);
	assert_true(accounts_close(&sum));
}

static void weighted_accounts_close(void **state)
{
	const struct accounts slow = {
		.fired = 12,
		.run_ns = 5,
		.watch_ns = 3,
		.stored = { 3, 4 },
		.dropped = { [PILOTLIGHT_DROP_IDLE] = 1, [PILOTLIGHT_DROP_UNREAD] = 4 },
		.events = { 9 },
		.walked = { 3 },
	};
	const struct accounts fast = {
		.fired = 100, .run_ns = 7, .stored = { 60, 0 }, .dropped = { 40 }, .events = { 1 }
	};
	const struct accounts endless = { .fired = UINT64_MAX, .stored = { UINT64_MAX } };
	struct accounts sum = { 0 };

	accounts_add_weighted(&sum, &slow, 25);
	accounts_add_weighted(&sum, &fast, 10);
	accounts_divide(&sum, 10);
	/* 7.5 and 10, the rest of the first with the second; 2.5 and 10 of the dropped. */
	assert_int_equal(sum.stored[0], 67);
	assert_int_equal(sum.stored[1], 10);
	assert_int_equal(accounts_stored(&sum), 77);
	assert_int_equal(accounts_lost(&sum) + sum.dropped[PILOTLIGHT_DROP_IDLE], 53);
	assert_int_equal(sum.fired, 130);
	assert_true(accounts_close(&sum));
	assert_int_equal(sum.walked[0], 7);
	assert_int_equal(sum.run_ns, 12);
	assert_int_equal(sum.watch_ns, 3);
	assert_int_equal(sum.events[0], 10);

	/* Those that do not close are not made to. */
	sum = (struct accounts){ 0 };
	accounts_add_weighted(&sum, &(struct accounts){ .fired = 9, .stored = { 4 } }, 10);
	accounts_divide(&sum, 10);
	assert_int_equal(sum.fired, 9);
	accounts_add_weighted(&sum, &endless, 10);
	assert_int_equal(sum.fired, UINT64_MAX);
	assert_int_equal(sum.stored[0], UINT64_MAX);
}

static void unselected_samples_are_filtered(void **state)
{
	const struct accounts all = {
		.fired = 1000,
		.stored = { 60, 40 },
		.dropped = {
			[PILOTLIGHT_DROP_IDLE] = 90,
			[PILOTLIGHT_DROP_FILTERED] = 10,
			[PILOTLIGHT_DROP_RING_FULL] = 500,
			[PILOTLIGHT_DROP_ENGINE] = 300,
		},
	};
	struct accounts accounts = all;

	accounts_select(&accounts, 5);
	assert_int_equal(accounts.stored[0], 3);
	assert_int_equal(accounts.stored[1], 2);
	assert_int_equal(accounts.dropped[PILOTLIGHT_DROP_RING_FULL], 25);
	assert_int_equal(accounts.dropped[PILOTLIGHT_DROP_ENGINE], 15);
	assert_int_equal(accounts.dropped[PILOTLIGHT_DROP_IDLE], 90);
	assert_int_equal(accounts.dropped[PILOTLIGHT_DROP_FILTERED], 10 + 95 + 760);
	assert_int_equal(accounts.fired, 1000);
	assert_true(accounts_close(&accounts));

	accounts = all;
	accounts_select(&accounts, 0);
	assert_int_equal(accounts_stored(&accounts) + accounts_lost(&accounts), 0);
	assert_true(accounts_close(&accounts));

	/* All samples are selected, or more than the accounts have. */
	accounts = all;
	accounts_select(&accounts, 100);
	assert_memory_equal(&accounts, &all, sizeof(all));
	accounts_select(&accounts, 101);
	assert_memory_equal(&accounts, &all, sizeof(all));
	accounts = (struct accounts){ 0 };
	accounts_select(&accounts, 0);
	assert_int_equal(accounts.fired, 0);
}

static void a_part_of_the_accounts_is_subtracted(void **state)
{
	const struct accounts part = {
		.fired = 50,
		.run_ns = 7,
		.stored = { 30, 10 },
		.dropped = { [PILOTLIGHT_DROP_IDLE] = 8, [PILOTLIGHT_DROP_RING_FULL] = 2 },
		.events = { 4 },
		.walked = { 3, 37 },
		.ends = { 36, 1 },
	};
	const struct accounts all = {
		.fired = 200,
		.run_ns = 20,
		.stored = { 60, 20 },
		.dropped = {
			[PILOTLIGHT_DROP_IDLE] = 10,
			[PILOTLIGHT_DROP_RING_FULL] = 5,
			[PILOTLIGHT_DROP_ENGINE] = 105,
		},
		.events = { 4, 1 },
		.walked = { 10, 90 },
		.ends = { 80, 10 },
	};
	struct accounts accounts = all, more = part;

	assert_true(accounts_subtract(&accounts, &part));
	assert_int_equal(accounts.fired, 150);
	assert_int_equal(accounts.run_ns, 13);
	assert_int_equal(accounts.stored[0], 30);
	assert_int_equal(accounts.stored[1], 10);
	assert_int_equal(accounts.dropped[PILOTLIGHT_DROP_IDLE], 2);
	assert_int_equal(accounts.dropped[PILOTLIGHT_DROP_RING_FULL], 3);
	assert_int_equal(accounts.dropped[PILOTLIGHT_DROP_ENGINE], 105);
	assert_int_equal(accounts.events[0], 0);
	assert_int_equal(accounts.events[1], 1);
	assert_int_equal(accounts.walked[1], 53);
	assert_int_equal(accounts.ends[0], 44);
	assert_true(accounts_close(&accounts));
	accounts_add(&accounts, &part);
	assert_memory_equal(&accounts, &all, sizeof(all));

	/* One counter is too large, or the part does not close. */
	more.stored[0] += 31;
	more.fired += 31;
	assert_false(accounts_subtract(&accounts, &more));
	more = part;
	more.walked[0] = 11;
	assert_false(accounts_subtract(&accounts, &more));
	more = part;
	more.fired++;
	assert_false(accounts_subtract(&accounts, &more));
	more = part;
	more.stored[0] = UINT64_MAX - 9;
	more.fired = 10;
	assert_false(accounts_subtract(&accounts, &more));
	assert_memory_equal(&accounts, &all, sizeof(all));
}

static void every_reason_has_a_name_of_its_own(void **state)
{
	for (enum pilotlight_drop a = 0; a < PILOTLIGHT_DROP_COUNT; a++) {
		assert_true(strlen(accounts_drop_name(a)) > 0);
		for (enum pilotlight_drop b = 0; b < a; b++)
			assert_string_not_equal(accounts_drop_name(a), accounts_drop_name(b));
	}
	assert_false(accounts_drop_is_loss(PILOTLIGHT_DROP_IDLE));
	assert_false(accounts_drop_is_loss(PILOTLIGHT_DROP_FILTERED));
	assert_true(accounts_drop_is_loss(PILOTLIGHT_DROP_RING_FULL));
	assert_true(accounts_drop_is_loss(PILOTLIGHT_DROP_PROFILE_FULL));
}

static void sources_are_counted_apart(void **state)
{
	enum { CPU = PILOTLIGHT_SOURCE_CPU, OFFCPU = PILOTLIGHT_SOURCE_OFFCPU };
	const struct source_accounts part = { .of = {
						      [CPU] = { .fired = 5, .stored = { 5 } },
						      [OFFCPU] = { .fired = 7, .stored = { 4, 3 } },
					      } };
	struct source_accounts sum = { 0 };

	source_accounts_add(&sum, &part);
	source_accounts_add(&sum, &part);
	assert_int_equal(sum.of[CPU].fired, 10);
	assert_int_equal(sum.of[OFFCPU].stored[1], 6);
	assert_true(source_accounts_close(&sum));
	assert_true(source_accounts_subtract(&sum, &part));
	assert_memory_equal(&sum, &part, sizeof(sum));
	/* One source that cannot be subtracted keeps the others. */
	sum.of[OFFCPU].fired = sum.of[OFFCPU].stored[0] = 1;
	sum.of[OFFCPU].stored[1] = 0;
	assert_false(source_accounts_subtract(&sum, &part));
	assert_int_equal(sum.of[CPU].fired, 5);
	sum.of[OFFCPU].fired = 2;
	assert_false(source_accounts_close(&sum));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_sample_is_stored_or_dropped),
		cmocka_unit_test(moving_keeps_the_sum),
		cmocka_unit_test(weighted_accounts_close),
		cmocka_unit_test(unselected_samples_are_filtered),
		cmocka_unit_test(a_part_of_the_accounts_is_subtracted),
		cmocka_unit_test(every_reason_has_a_name_of_its_own),
		cmocka_unit_test(sources_are_counted_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
