/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "base/user_share.h"
#include "tests/harness/distinct_users.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { CAPACITY = 30000 };

/* Takes as much as the user gets, in steps of one. Returns what it holds then. */
static uint64_t take_all(struct user_share *share, uint64_t user)
{
	uint64_t taken = 0;

	while (user_share_has_room(share, user, 1)) {
		user_share_add(share, user, 1);
		taken++;
	}
	return taken;
}

static void one_user_gets_two_thirds_of_what_is_free(void **state)
{
	struct user_share share = { .capacity = CAPACITY }, seen = { 0 };
	const uint64_t user = distinct_user(&seen, 1000), next = distinct_user(&seen, 1001);

	assert_int_equal(take_all(&share, user), CAPACITY / 3 * 2);
	assert_false(user_share_has_room(&share, user, 1));
	assert_in_range(take_all(&share, next), CAPACITY / 3 / 3 * 2 - 1, CAPACITY / 3 / 3 * 2 + 1);
}

/* Users who come at the same time and want all get equal parts. */
static void greedy_users_get_equal_parts(void **state)
{
	struct user_share share = { .capacity = CAPACITY }, seen = { 0 };
	uint64_t users[9], taken[8] = { 0 };
	bool goes_on = true;

	for (size_t i = 0; i < ARRAY_SIZE(users); i++)
		users[i] = distinct_user(&seen, i * 1000);
	while (goes_on) {
		goes_on = false;
		for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
			if (!user_share_has_room(&share, users[i], 1))
				continue;
			user_share_add(&share, users[i], 1);
			taken[i]++;
			goes_on = true;
		}
	}
	for (size_t user = 0; user < ARRAY_SIZE(taken); user++)
		assert_in_range(taken[user], CAPACITY * 2 / 17 - 1, CAPACITY * 2 / 17 + 1);
	/* The next one finds room. */
	assert_in_range(
		take_all(&share, users[8]), CAPACITY / 17 * 2 / 3 - 5, CAPACITY / 17 * 2 / 3 + 5);
}

static void nothing_fits_beyond_the_capacity(void **state)
{
	struct user_share share = { .capacity = CAPACITY };

	assert_false(user_share_has_room(&share, 7, CAPACITY + 1));
	assert_false(user_share_has_room(&share, 7, UINT64_MAX));
	user_share_add(&share, 7, CAPACITY + 5);
	assert_false(user_share_has_room(&share, 8, 1));
	assert_false(user_share_has_room(&share, 8, 0));
}

static void what_is_given_back_is_free_again(void **state)
{
	struct user_share share = { .capacity = CAPACITY };

	assert_int_equal(take_all(&share, 7), CAPACITY / 3 * 2);
	user_share_remove(&share, 7, CAPACITY / 3);
	assert_int_equal(user_share_held(&share, 7), CAPACITY / 3);
	assert_int_equal(take_all(&share, 7), CAPACITY / 3);
}

static void the_level_divides_a_total_among_users_who_need_more(void **state)
{
	struct user_share share = { .capacity = CAPACITY }, seen = { 0 };

	assert_int_equal(user_share_level(&share, 0), UINT64_MAX);
	user_share_add(&share, distinct_user(&seen, 1), 100);
	user_share_add(&share, distinct_user(&seen, 10), 1000);
	user_share_add(&share, distinct_user(&seen, 100), 10000);
	assert_int_equal(user_share_level(&share, 11100), UINT64_MAX);
	assert_int_equal(user_share_level(&share, 11099), 9999);
	assert_int_equal(user_share_level(&share, 2100), 1000);
	assert_int_equal(user_share_level(&share, 2000), 950);
	assert_int_equal(user_share_level(&share, 90), 30);
	assert_int_equal(user_share_level(&share, 0), 0);
}

static void the_users_with_the_most_refusals_are_kept(void **state)
{
	struct user_excess excess = { 0 };
	char name[USER_EXCESS_NAME_BYTES];
	size_t used = 0;

	user_excess_add(&excess, 5, USER_WINDOW, 0);
	assert_false(user_excess_is_used(&excess.lines[0]));
	for (uint64_t user = 0; user < 2 * USER_EXCESS_LINES; user++) {
		user_excess_add(&excess, 1000 + user, USER_WINDOW, 1 + user);
		user_excess_add(&excess, 1000, USER_HISTORY, 100);
	}
	for (size_t i = 0; i < USER_EXCESS_LINES; i++)
		used += user_excess_is_used(&excess.lines[i]);
	assert_int_equal(used, USER_EXCESS_LINES);
	assert_int_equal(excess.lines[0].user, 1000);
	assert_int_equal(excess.lines[0].refused[USER_WINDOW], 1);
	assert_int_equal(excess.lines[0].refused[USER_HISTORY], 200 * USER_EXCESS_LINES);
	assert_int_equal(excess.total[USER_HISTORY], 200 * USER_EXCESS_LINES);
	assert_int_equal(
		excess.total[USER_WINDOW], USER_EXCESS_LINES * (2 * USER_EXCESS_LINES + 1));
	assert_string_equal(user_excess_name(1000, name), "user 1000");
	assert_string_equal(user_excess_name(0x1a2b3c4dULL << 32, name), "container 1a2b3c4d");
}

static void reports_are_merged_by_user(void **state)
{
	struct user_excess into = { 0 }, from = { 0 };

	user_excess_add(&into, 1000, USER_WINDOW, 3);
	user_excess_add(&from, 1001, USER_HISTORY, 2);
	user_excess_add(&from, 1000, USER_HISTORY, 5);
	user_excess_merge(&into, &from);
	assert_int_equal(into.lines[0].user, 1000);
	assert_int_equal(into.lines[0].refused[USER_WINDOW], 3);
	assert_int_equal(into.lines[0].refused[USER_HISTORY], 5);
	assert_int_equal(into.lines[1].user, 1001);
	assert_int_equal(into.lines[1].refused[USER_HISTORY], 2);
	assert_int_equal(into.total[USER_HISTORY], 7);
	assert_false(user_excess_is_used(&into.lines[2]));
}

static void holdings_name_the_users_with_the_most(void **state)
{
	struct user_share share = { .capacity = 1000 }, other = { .capacity = 10 }, seen = { 0 };
	struct user_holdings holdings = { 0 }, merged = { 0 };
	const uint64_t user = distinct_user(&seen, 1000);
	size_t used = 0;

	for (size_t i = 0; i < USER_EXCESS_LINES + 8; i++)
		user_share_add(&share, distinct_user(&seen, 2000 + 100 * i), 1 + i);
	user_share_add(&other, user, 5);
	user_holdings_add(&holdings, USER_HISTORY, &share);
	user_holdings_add(&holdings, USER_BINARIES, &other);
	user_holdings_merge(&merged, &holdings);
	assert_int_equal(merged.capacity[USER_HISTORY], 1000);
	for (size_t i = 0; i < USER_EXCESS_LINES; i++) {
		const struct user_holding *line = &merged.lines[i];

		used += user_holding_is_used(line);
		assert_true(line->held[USER_HISTORY] >= 9 || line->user == user);
		if (line->user == user)
			assert_int_equal(line->held[USER_BINARIES], 5);
	}
	assert_int_equal(used, USER_EXCESS_LINES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_user_gets_two_thirds_of_what_is_free),
		cmocka_unit_test(greedy_users_get_equal_parts),
		cmocka_unit_test(nothing_fits_beyond_the_capacity),
		cmocka_unit_test(what_is_given_back_is_free_again),
		cmocka_unit_test(the_level_divides_a_total_among_users_who_need_more),
		cmocka_unit_test(the_users_with_the_most_refusals_are_kept),
		cmocka_unit_test(reports_are_merged_by_user),
		cmocka_unit_test(holdings_name_the_users_with_the_most),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
