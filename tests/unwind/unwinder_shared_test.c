/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Shared tables, large tables, and bounds per window. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unwind/unwinder_fixture.h"

/* A file of another key, with the table of `number`. */
static uint32_t load_copy(struct sampler *sampler, uint32_t copy, uint32_t number, uint32_t pages)
{
	/* The stand-in for the sampler derives the expected rules from the key's low digits. */
	uint32_t id = request(sampler, copy * 1000 + number);

	assert_int_equal(copy * 1000 % 4, 0);
	assert_int_equal(set_table(sampler, id, number, pages), 0);
	assert_int_equal(state_of(sampler, id), WALK_FILE_LOADED);
	return id;
}

static void copies_share_one_place(void **state)
{
	struct unwinder_report report;
	struct sampler sampler;
	uint32_t first;

	init(&sampler, 20);
	first = load(&sampler, 7, 30);
	for (uint32_t copy = 1; copy < 10; copy++) {
		uint32_t id = load_copy(&sampler, copy, 7, 30);

		assert_int_not_equal(id, first);
		assert_int_equal(entry_of(&sampler, copy * 1000 + 7)->id, id);
		assert_int_equal(entry_of(&sampler, copy * 1000 + 7)->pages_at,
			entry_of(&sampler, 7)->pages_at);
	}
	report = report_of(&sampler);
	assert_int_equal(report.loaded, 10);
	assert_int_equal(report.tables, 1);
	assert_int_equal(report.used_bytes, 31 * 4 + 3 * 64 + 5 * 16);
	assert_int_equal(report.tables_refused, 0);
	done(&sampler);
}

/* A file that claims another's identity does not share its table. */
static void other_table_of_the_same_identity_is_apart(void **state)
{
	struct sampler sampler;
	uint32_t id;

	init(&sampler, 10);
	(void)load(&sampler, 1, 5);
	id = request(&sampler, 2);
	unwind_table_fixture_make(&fixture, 5, 2);
	fixture.number = 1;
	assert_int_equal(set_built(&sampler, id), 0);
	assert_int_equal(report_of(&sampler).tables, 2);
	assert_int_not_equal(entry_of(&sampler, 1)->pages_at, entry_of(&sampler, 2)->pages_at);
	done(&sampler);
}

static void shared_table_is_kept_for_its_last_user(void **state)
{
	uint32_t first, second, new;
	struct sampler sampler;

	init(&sampler, 10);
	first = load(&sampler, 7, 20);
	second = load_copy(&sampler, 1, 7, 20);
	use(&sampler, 1007, 4);
	unwinder_begin_window(sampler.unwinder, 5);
	new = request(&sampler, 2);
	/* One is idle, and its going would make no room. */
	assert_int_equal(set_table(&sampler, new, 2, 25), -ENOSPC);
	assert_int_equal(state_of(&sampler, first), WALK_FILE_LOADED);
	assert_int_equal(report_of(&sampler).evictions, 0);
	/* When both are, both go, and the place is free. */
	use(&sampler, 2, 9);
	unwinder_begin_window(sampler.unwinder, 9);
	assert_no_reload(&sampler);
	assert_int_equal(state_of(&sampler, first), WALK_FILE_EVICTED);
	assert_int_equal(state_of(&sampler, second), WALK_FILE_EVICTED);
	assert_int_equal(report_of(&sampler).tables, 0);
	unwinder_begin_window(sampler.unwinder, 10);
	assert_reload(&sampler, new);
	assert_int_equal(set_table(&sampler, new, 2, 25), 0);
	done(&sampler);
}

/* Of two idle tables, the one that no other file uses is evicted. */
static void idle_user_of_a_table_in_use_stays(void **state)
{
	struct sampler sampler;
	uint32_t shares, alone;

	init(&sampler, 10);
	shares = load(&sampler, 7, 9);
	(void)load_copy(&sampler, 1, 7, 9);
	alone = load(&sampler, 2, 19);
	use(&sampler, 2, 3);
	use(&sampler, 1007, 9);
	unwinder_begin_window(sampler.unwinder, 9);
	assert_int_equal(set_table(&sampler, request(&sampler, 3), 3, 15), -ENOSPC);
	assert_int_equal(state_of(&sampler, shares), WALK_FILE_LOADED);
	assert_int_equal(state_of(&sampler, alone), WALK_FILE_EVICTED);
	assert_int_equal(report_of(&sampler).evictions, 1);
	done(&sampler);
}

/* A table that is in the arrays already needs no room. */
static void copy_is_loaded_where_there_is_no_room(void **state)
{
	struct sampler sampler;
	uint32_t first, copy;

	init(&sampler, 10);
	(void)load(&sampler, 1, 14);
	first = load(&sampler, 2, 19);
	copy = load_copy(&sampler, 1, 2, 19);
	/* Both files are evicted, and come back together. */
	use(&sampler, 1, 5);
	unwinder_begin_window(sampler.unwinder, 5);
	assert_int_equal(set_table(&sampler, request(&sampler, 3), 3, 19), -ENOSPC);
	assert_int_equal(state_of(&sampler, first), WALK_FILE_EVICTED);
	assert_int_equal(state_of(&sampler, copy), WALK_FILE_EVICTED);
	use(&sampler, 1, 8);
	use(&sampler, 2, 9);
	use(&sampler, 1002, 9);
	unwinder_begin_window(sampler.unwinder, 9);
	assert_reload(&sampler, first);
	assert_int_equal(set_table(&sampler, first, 2, 19), 0);
	assert_reload(&sampler, copy);
	assert_int_equal(set_table(&sampler, copy, 2, 19), 0);
	assert_int_equal(report_of(&sampler).tables, 2);
	done(&sampler);
}

/* A user that comes after the ranking keeps the table. */
static void user_since_the_ranking_counts(void **state)
{
	struct sampler sampler;
	uint32_t id, other;

	init(&sampler, 10);
	id = load(&sampler, 7, 14);
	other = load(&sampler, 3, 8);
	(void)load(&sampler, 2, 9);
	use(&sampler, 2, 8);
	unwinder_begin_window(sampler.unwinder, 9);
	/* Ranks, and evicts none. */
	assert_int_equal(set_table(&sampler, request(&sampler, 4), 4, 35), -ENOSPC);
	assert_int_equal(report_of(&sampler).evictions, 0);
	(void)load_copy(&sampler, 1, 7, 14);
	/* The table has a user now; without its room, evicting the other is not enough. */
	assert_int_equal(set_table(&sampler, request(&sampler, 5), 5, 24), -ENOSPC);
	assert_int_equal(state_of(&sampler, id), WALK_FILE_LOADED);
	assert_int_equal(state_of(&sampler, other), WALK_FILE_LOADED);
	assert_int_equal(report_of(&sampler).evictions, 0);
	done(&sampler);
}

static void file_that_shares_makes_room_for_a_file(void **state)
{
	struct sampler sampler;
	uint32_t idle;

	init(&sampler, 2);
	idle = load(&sampler, 7, 20);
	(void)load_copy(&sampler, 1, 7, 20);
	use(&sampler, 1007, 5);
	unwinder_begin_window(sampler.unwinder, 5);
	(void)request(&sampler, 3);
	assert_int_equal(state_of(&sampler, idle), WALK_FILE_GONE);
	assert_int_equal(report_of(&sampler).tables, 1);
	assert_int_equal(entry_of(&sampler, 1007)->flags, PILOTLIGHT_FILE_HAS_TABLE);
	done(&sampler);
}

static void failed_entry_leaves_shared_tables_alone(void **state)
{
	struct sampler sampler;
	uint32_t copy;

	init(&sampler, 10);
	(void)load(&sampler, 7, 20);
	copy = request(&sampler, 1007);
	sampler.put_error = -EBUSY;
	assert_int_equal(set_table(&sampler, copy, 7, 20), -EBUSY);
	assert_int_equal(report_of(&sampler).tables, 1);
	assert_int_equal(report_of(&sampler).pending_bytes, 0);
	done(&sampler);
}

/* --- large tables --- */

/* More than a quarter of the 40 pages is large. */
static void large_table_in_use_leaves_for_small_ones(void **state)
{
	uint32_t large, copy, small;
	struct sampler sampler;

	init(&sampler, 10);
	large = load(&sampler, 7, 35);
	copy = load_copy(&sampler, 1, 7, 35);
	small = request(&sampler, 2);
	assert_int_equal(set_table(&sampler, small, 2, 8), -ENOSPC);
	assert_int_equal(state_of(&sampler, large), WALK_FILE_EVICTED);
	assert_int_equal(state_of(&sampler, copy), WALK_FILE_EVICTED);
	unwinder_begin_window(sampler.unwinder, 2);
	assert_reload(&sampler, large); /* there is room, unless the small one comes first */
	assert_int_equal(set_table(&sampler, large, 7, 35), 0);
	assert_reload(&sampler, copy);
	assert_int_equal(set_table(&sampler, copy, 7, 35), 0);
	done(&sampler);
}

static void large_table_stays_out_while_small_ones_are_in_use(void **state)
{
	uint32_t large, other, small;
	struct sampler sampler;

	init(&sampler, 10);
	(void)load(&sampler, 1, 4);
	large = load(&sampler, 2, 18);
	other = load(&sampler, 3, 14);
	small = request(&sampler, 4);
	assert_int_equal(set_table(&sampler, small, 4, 6), -ENOSPC);
	/* Evicting one is enough. */
	assert_int_equal(state_of(&sampler, large), WALK_FILE_EVICTED);
	assert_int_equal(state_of(&sampler, other), WALK_FILE_LOADED);
	assert_int_equal(set_table(&sampler, small, 4, 6), -ENOSPC);
	assert_int_equal(report_of(&sampler).evictions, 1);
	unwinder_begin_window(sampler.unwinder, 2);
	assert_int_equal(set_table(&sampler, small, 4, 6), 0);
	for (uint32_t window = 3; window < 20; window++) {
		unwinder_begin_window(sampler.unwinder, window);
		assert_no_reload(&sampler);
		for (uint32_t number = 1; number <= 4; number++)
			use(&sampler, number, window);
	}
	assert_int_equal(report_of(&sampler).evictions, 1);
	done(&sampler);
}

static void one_large_table_leaves_a_window(void **state)
{
	uint32_t first, second;
	struct sampler sampler;

	init(&sampler, 10);
	first = load(&sampler, 1, 10);
	(void)load(&sampler, 2, 8);
	second = load(&sampler, 3, 10);
	(void)load(&sampler, 4, 8);
	/* The place of the first is enough for one of them. */
	assert_int_equal(set_table(&sampler, request(&sampler, 5), 5, 9), -ENOSPC);
	assert_int_equal(state_of(&sampler, first), WALK_FILE_EVICTED);
	unwinder_begin_window(sampler.unwinder, 2);
	assert_int_equal(set_table(&sampler, request(&sampler, 5), 5, 9), 0);
	assert_int_equal(set_table(&sampler, request(&sampler, 6), 6, 8), -ENOSPC);
	assert_int_equal(state_of(&sampler, second), WALK_FILE_EVICTED);
	assert_int_equal(report_of(&sampler).evictions, 2);
	done(&sampler);
}

static void large_tables_do_not_displace_each_other(void **state)
{
	struct sampler sampler;
	uint32_t large;

	init(&sampler, 10);
	large = load(&sampler, 1, 30);
	assert_int_equal(set_table(&sampler, request(&sampler, 2), 2, 12), -ENOSPC);
	assert_int_equal(state_of(&sampler, large), WALK_FILE_LOADED);
	done(&sampler);
}

/* --- bounds per window --- */

static void each_file_gets_its_turn_to_reload(void **state)
{
	enum { SMALL = 4, WAITING = 400, FIRST = 100 };
	static bool was_offered[WAITING];
	uint32_t offered = 0, window = 1, in_first = 0;
	struct sampler sampler;

	memset(was_offered, 0, sizeof(was_offered));
	init(&sampler, 500);
	for (uint32_t number = 1; number <= SMALL; number++)
		(void)load(&sampler, number, 9);
	for (uint32_t i = 0; i < WAITING; i++)
		assert_int_equal(
			set_table(&sampler, request(&sampler, FIRST + i), FIRST + i, 9), -ENOSPC);
	while (offered < WAITING && window < 20) {
		uint32_t id;

		for (uint32_t i = 0; i < WAITING; i++)
			use(&sampler, FIRST + i, window);
		unwinder_begin_window(sampler.unwinder, ++window);
		while (unwinder_next_reload(sampler.unwinder, &id)) {
			uint32_t number = unwinder_binary(sampler.unwinder, id);

			assert_false(was_offered[number - FIRST]);
			was_offered[number - FIRST] = true;
			assert_int_equal(unwinder_set_nothing(sampler.unwinder, id), 0);
			offered++;
		}
		if (in_first == 0)
			in_first = offered;
	}
	assert_int_equal(offered, WAITING);
	assert_in_range(in_first, 1, WAITING - 1);
	done(&sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(copies_share_one_place),
		cmocka_unit_test(other_table_of_the_same_identity_is_apart),
		cmocka_unit_test(shared_table_is_kept_for_its_last_user),
		cmocka_unit_test(idle_user_of_a_table_in_use_stays),
		cmocka_unit_test(copy_is_loaded_where_there_is_no_room),
		cmocka_unit_test(user_since_the_ranking_counts),
		cmocka_unit_test(file_that_shares_makes_room_for_a_file),
		cmocka_unit_test(failed_entry_leaves_shared_tables_alone),
		cmocka_unit_test(large_table_in_use_leaves_for_small_ones),
		cmocka_unit_test(large_table_stays_out_while_small_ones_are_in_use),
		cmocka_unit_test(one_large_table_leaves_a_window),
		cmocka_unit_test(large_tables_do_not_displace_each_other),
		cmocka_unit_test(each_file_gets_its_turn_to_reload),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
