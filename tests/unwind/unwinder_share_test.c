/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How users share the arrays. */
#include "tests/harness/distinct_users.h"
#include "tests/harness/failing_allocation.h"
#include "tests/unwind/unwinder_fixture.h"

enum { TABLES = 8, TABLE_PAGES_USED = 5 }; /* each table takes 4 pages and one more */

static uint64_t abuser, other;

static void choose_users(void)
{
	struct user_share seen = { 0 };

	user_share_add(&seen, USER_UNKNOWN, 1);
	abuser = distinct_user(&seen, 1000);
	other = distinct_user(&seen, 2000);
}

static uint32_t request_of(struct sampler *sampler, uint64_t user, uint32_t number)
{
	uint32_t id = request(sampler, number);

	unwinder_set_user(sampler->unwinder, id, user);
	return id;
}

/* The abuser's tables fill an array, and are all in use. */
static void fill(struct sampler *sampler, uint32_t ids[TABLES])
{
	choose_users();
	init(sampler, 60);
	for (uint32_t i = 0; i < TABLES; i++) {
		ids[i] = request_of(sampler, abuser, 1 + i);
		assert_int_equal(set_table(sampler, ids[i], 1 + i, TABLE_PAGES_USED - 1), 0);
	}
	assert_int_equal(unwinder_share(sampler->unwinder)->used, UNWINDER_WHOLE_PPM);
}

static void use_all(struct sampler *sampler, uint32_t first, uint32_t count, uint32_t window)
{
	for (uint32_t i = first; i < first + count; i++)
		use(sampler, i, window);
}

static size_t count_loaded(struct sampler *sampler, const uint32_t *ids, size_t count)
{
	size_t loaded = 0;

	for (size_t i = 0; i < count; i++)
		loaded += state_of(sampler, ids[i]) == WALK_FILE_LOADED;
	return loaded;
}

static void the_greatest_user_makes_room_for_others(void **state)
{
	uint32_t greedy[TABLES], fair[TABLES], window = 5, id;
	struct sampler sampler;

	fill(&sampler, greedy);
	for (uint32_t i = 0; i < TABLES; i++) {
		unwinder_begin_window(sampler.unwinder, window);
		use_all(&sampler, 1, TABLES, window);
		use_all(&sampler, 100, i, window);
		fair[i] = request_of(&sampler, other, 100 + i);
		(void)set_table(&sampler, fair[i], 100 + i, TABLE_PAGES_USED - 1);
		unwinder_begin_window(sampler.unwinder, ++window);
		use_all(&sampler, 1, TABLES, window);
		use_all(&sampler, 100, i + 1, window);
		while (unwinder_next_reload(sampler.unwinder, &id))
			(void)set_table(&sampler, id, unwinder_binary(sampler.unwinder, id),
				TABLE_PAGES_USED - 1);
		window++;
	}
	assert_int_equal(count_loaded(&sampler, greedy, TABLES), TABLES / 2);
	assert_int_equal(count_loaded(&sampler, fair, TABLES), TABLES / 2);
	assert_int_equal(
		user_share_held(unwinder_share(sampler.unwinder), other), UNWINDER_WHOLE_PPM / 2);
	assert_true(unwinder_excess(sampler.unwinder)->total[USER_UNWIND] >= TABLES / 2);
	done(&sampler);
}

static void several_tables_make_room_for_one(void **state)
{
	uint32_t greedy[TABLES], id;
	struct sampler sampler;

	fill(&sampler, greedy);
	unwinder_begin_window(sampler.unwinder, 5);
	use_all(&sampler, 1, TABLES, 5);
	id = request_of(&sampler, other, 100);
	assert_int_equal(set_table(&sampler, id, 100, 3 * TABLE_PAGES_USED - 1), -ENOSPC);
	assert_int_equal(count_loaded(&sampler, greedy, TABLES), TABLES - 3);
	unwinder_begin_window(sampler.unwinder, 6);
	use_all(&sampler, 1, TABLES, 6);
	use(&sampler, 100, 6);
	while (unwinder_next_reload(sampler.unwinder, &id))
		if (unwinder_binary(sampler.unwinder, id) == 100)
			assert_int_equal(set_table(&sampler, id, 100, 3 * TABLE_PAGES_USED - 1), 0);
	done(&sampler);
}

/* Nothing leaves in vain, or for a user who would hold more. */
static void no_user_displaces_one_who_holds_less(void **state)
{
	uint32_t greedy[TABLES], id;
	struct sampler sampler;

	fill(&sampler, greedy);
	unwinder_begin_window(sampler.unwinder, 5);
	use_all(&sampler, 1, TABLES, 5);
	id = request_of(&sampler, other, 100);
	assert_int_equal(set_table(&sampler, id, 100, 5 * TABLE_PAGES_USED - 1), -ENOSPC);
	id = request_of(&sampler, abuser, 101);
	assert_int_equal(set_table(&sampler, id, 101, TABLE_PAGES_USED - 1), -ENOSPC);
	assert_int_equal(count_loaded(&sampler, greedy, TABLES), TABLES);
	assert_int_equal(report_of(&sampler).evictions, 0);
	done(&sampler);
}

/* Tables of six entries of the abuser and of four of a neighbour take turns, and all are in use. */
static void fill_in_turns(struct sampler *sampler, const char *turns)
{
	struct user_share seen = { 0 };
	uint64_t neighbour;

	choose_users();
	user_share_add(&seen, abuser, 1);
	user_share_add(&seen, other, 1);
	neighbour = distinct_user(&seen, 3000);
	init(sampler, 60);
	for (uint32_t i = 0; turns[i]; i++) {
		bool is_abusers = turns[i] == 'a';
		uint32_t id = request_of(sampler, is_abusers ? abuser : neighbour, 1 + i);

		assert_int_equal(set_table(sampler, id, 1 + i, is_abusers ? 5 : 3), 0);
	}
	unwinder_begin_window(sampler->unwinder, 5);
	use_all(sampler, 1, (uint32_t)strlen(turns), 5);
}

static void no_table_leaves_without_making_room(void **state)
{
	struct sampler sampler;

	fill_in_turns(&sampler, "anananan");
	assert_int_equal(set_table(&sampler, request_of(&sampler, other, 100), 100, 7), -ENOSPC);
	assert_int_equal(report_of(&sampler).evictions, 0);
	/* One of them is enough for this. */
	assert_int_equal(set_table(&sampler, request_of(&sampler, other, 101), 101, 5), -ENOSPC);
	assert_int_equal(report_of(&sampler).evictions, 1);
	unwinder_begin_window(sampler.unwinder, 6);
	assert_int_equal(set_table(&sampler, request_of(&sampler, other, 102), 102, 5), 0);
	done(&sampler);
}

static void neighbouring_tables_leave(void **state)
{
	struct sampler sampler;
	uint32_t id;

	fill_in_turns(&sampler, "nananaa");
	id = request_of(&sampler, other, 100);
	assert_int_equal(set_table(&sampler, id, 100, 10), -ENOSPC);
	assert_int_equal(report_of(&sampler).evictions, 2);
	for (uint32_t number = 1; number <= 7; number++)
		assert_int_equal(!!(entry_of(&sampler, number)->flags & PILOTLIGHT_FILE_HAS_TABLE),
			number < 6);
	unwinder_begin_window(sampler.unwinder, 6);
	assert_int_equal(set_table(&sampler, id, 100, 10), 0);
	done(&sampler);
}

static void without_memory_no_table_leaves(void **state)
{
	for (size_t n = 0;; n++) {
		_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
		struct sampler sampler;
		uint32_t id;
		bool failed;

		fill_in_turns(&sampler, "anananan");
		id = request_of(&sampler, other, 100);
		unwind_table_fixture_make(&fixture, 5, 100);
		file = unwind_table_fixture_open(&fixture);
		fail_allocation(n);
		assert_true(unwinder_set_table(sampler.unwinder, id, file) < 0);
		failed = allocation_failed();
		assert_int_equal(report_of(&sampler).evictions, !failed);
		done(&sampler);
		if (!failed) {
			assert_true(n > 0);
			return;
		}
	}
}

static void tables_that_leave_are_not_charged(void **state)
{
	uint32_t greedy[TABLES];
	struct sampler sampler;

	fill(&sampler, greedy);
	for (uint32_t i = 0; i < TABLES; i++)
		assert_int_equal(unwinder_set_nothing(sampler.unwinder, greedy[i]), 0);
	/* A loaded table stays. */
	assert_int_equal(unwinder_share(sampler.unwinder)->used, UNWINDER_WHOLE_PPM);
	unwinder_begin_window(sampler.unwinder, 9);
	assert_int_equal(set_table(&sampler, request_of(&sampler, other, 100), 100,
				 8 * TABLE_PAGES_USED - 1),
		-ENOSPC);
	assert_int_equal(unwinder_share(sampler.unwinder)->used, 0);
	done(&sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_greatest_user_makes_room_for_others),
		cmocka_unit_test(several_tables_make_room_for_one),
		cmocka_unit_test(no_user_displaces_one_who_holds_less),
		cmocka_unit_test(no_table_leaves_without_making_room),
		cmocka_unit_test(neighbouring_tables_leave),
		cmocka_unit_test(without_memory_no_table_leaves),
		cmocka_unit_test(tables_that_leave_are_not_charged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
