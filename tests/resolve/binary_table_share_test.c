/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How users share the table, and how it removes what no window uses. */
#include "resolve/binary_table.h"

#include "base/array.h"
#include "tests/harness/distinct_users.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum { BINARIES = 300 };

struct fixture {
	struct binary_table *table;
	uint64_t abuser, other;
};

static void open_fixture(struct fixture *fixture)
{
	static const struct binary_table_limits limits = {
		.binaries_max = BINARIES, .descriptors_max = 1, .path_bytes_max = 96 * BINARIES
	};
	struct user_share seen = { 0 };

	/* What no user answers for must not share a counter with them, either. */
	user_share_add(&seen, USER_UNKNOWN, 1);
	user_share_add(&seen, 0, 1);
	fixture->abuser = distinct_user(&seen, 1000);
	fixture->other = distinct_user(&seen, 2000);
	assert_int_equal(binary_table_new(&limits, NULL, NULL, &fixture->table), 0);
}

/* JIT memory is a binary without a file. */
static int find(struct fixture *fixture, uint64_t user, uint32_t process, uint32_t *ret_binary)
{
	int r;

	binary_table_set_user(fixture->table, user);
	r = binary_table_find_jit(fixture->table, (pid_t)process, 1, ret_binary);
	binary_table_set_user(fixture->table, USER_UNKNOWN);
	return r;
}

/* Returns how many the user gets, with the processes from `first` on. */
static uint32_t flood(struct fixture *fixture, uint64_t user, uint32_t first)
{
	uint32_t count = 0, binary;

	while (count < 2 * BINARIES && find(fixture, user, first + count, &binary) == 0)
		count++;
	return count;
}

static uint32_t collect(struct fixture *fixture, uint32_t oldest_window)
{
	uint32_t doomed = 0;

	if (!binary_table_begin_collection(fixture->table, oldest_window))
		return 0;
	for (uint32_t i = 0; i < binary_table_count(fixture->table); i++)
		doomed += binary_table_is_doomed(fixture->table, i);
	binary_table_end_collection(fixture->table);
	return doomed;
}

/* The user of a sample, before its binaries are known. */
static void a_flood_of_binaries_costs_its_user_only(void **state)
{
	struct fixture fixture;
	const struct user_excess *excess;
	uint32_t binary;

	open_fixture(&fixture);
	assert_int_equal(flood(&fixture, fixture.abuser, 1), BINARIES / 3 * 2);
	assert_int_equal(find(&fixture, fixture.abuser, 999999, &binary), -E2BIG);
	assert_true(flood(&fixture, fixture.other, 10000) >= BINARIES / 5);
	/* What is known stays known. */
	assert_int_equal(find(&fixture, fixture.abuser, 1, &binary), 0);
	excess = binary_table_excess(fixture.table);
	assert_int_equal(excess->total[USER_BINARIES], 3);
	assert_int_equal(excess->lines[0].user, fixture.abuser);
	assert_int_equal(excess->lines[0].refused[USER_BINARIES], 2);
	binary_table_free(fixture.table);
}

/* Otherwise each sample would have the broker open the file. There is none. */
static void a_user_over_the_share_has_no_file_opened(void **state)
{
	const struct broker_process process = { .pid = 1 };
	const struct build_id id = { .bytes = { 1 }, .size = 20 };
	struct fixture fixture;
	uint32_t binary;

	open_fixture(&fixture);
	(void)flood(&fixture, fixture.abuser, 1);
	binary_table_set_user(fixture.table, fixture.abuser);
	assert_int_equal(
		binary_table_find_build_id(fixture.table, &id, &process, 1, &binary), -E2BIG);
	binary_table_free(fixture.table);
}

/* A user who has many binaries over weeks, but few at a time, is no abuser. */
static void what_no_window_uses_makes_room(void **state)
{
	struct fixture fixture;
	struct binary binary;
	uint32_t kept, first, id;

	open_fixture(&fixture);
	assert_int_equal(find(&fixture, fixture.other, 1, &kept), 0);
	assert_int_equal(find(&fixture, fixture.abuser, 2, &first), 0);
	binary_table_get(fixture.table, first, &binary);
	for (uint32_t window = 1; window < 50; window++) {
		binary_table_begin_window(fixture.table, window);
		for (uint32_t i = 0; i < BINARIES / 10; i++)
			assert_int_equal(find(&fixture, fixture.abuser, 1000 * window + i, &id), 0);
		(void)collect(&fixture, window - 1);
	}
	/* The other user has the least, so nothing of theirs leaves. */
	assert_int_equal(find(&fixture, fixture.other, 1, &id), 0);
	assert_int_equal(id, kept);
	/* The id stands for another binary now. */
	assert_true(binary_table_count(fixture.table) <= BINARIES);
	id = binary.serial;
	binary_table_get(fixture.table, first, &binary);
	assert_int_not_equal(binary.serial, id);
	assert_int_equal(binary.user, fixture.abuser);
	binary_table_free(fixture.table);
}

static void the_oldest_binaries_leave_first(void **state)
{
	struct fixture fixture;
	uint32_t id[120], again;

	open_fixture(&fixture);
	for (uint32_t i = 0; i < ARRAY_SIZE(id); i++) {
		binary_table_begin_window(fixture.table, i);
		assert_int_equal(find(&fixture, fixture.abuser, 1 + i, &id[i]), 0);
	}
	binary_table_begin_window(fixture.table, 200);
	(void)flood(&fixture, fixture.abuser, 10000);
	/* 80 are new, and the oldest 50 of the 120 are beyond a half. */
	assert_int_equal(collect(&fixture, 199), 50);
	for (uint32_t i = 0; i < ARRAY_SIZE(id); i++) {
		binary_table_begin_window(fixture.table, 300 + i);
		assert_int_equal(find(&fixture, fixture.other, 1 + i, &again), 0);
		if (i >= 56)
			assert_int_equal(again, id[i]);
	}
	binary_table_free(fixture.table);
}

static void binaries_in_use_stay(void **state)
{
	struct fixture fixture;
	uint32_t first, second, id, doomed = 0;

	open_fixture(&fixture);
	assert_int_equal(find(&fixture, fixture.abuser, 1, &first), 0);
	assert_int_equal(find(&fixture, fixture.abuser, 2, &second), 0);
	(void)flood(&fixture, fixture.abuser, 100);
	assert_int_equal(collect(&fixture, 0), 0);
	binary_table_begin_window(fixture.table, 2);
	assert_int_equal(find(&fixture, fixture.abuser, 2, &second), 0);
	assert_true(binary_table_begin_collection(fixture.table, 1));
	assert_true(binary_table_is_doomed(fixture.table, first));
	assert_false(binary_table_is_doomed(fixture.table, second));
	binary_table_spare(fixture.table, first);
	binary_table_spare(fixture.table, second);
	binary_table_end_collection(fixture.table);
	assert_int_equal(find(&fixture, fixture.abuser, 1, &id), 0);
	assert_int_equal(id, first);
	for (uint32_t i = 0; i < binary_table_count(fixture.table); i++)
		doomed += binary_table_is_doomed(fixture.table, i);
	assert_int_equal(doomed, 0);
	binary_table_free(fixture.table);
}

/* Otherwise it would stand for the next binary with that id. */
static void check_placeholder(
	int (*find_placeholder)(struct binary_table *table, uint32_t binary, uint32_t *ret_binary))
{
	struct fixture fixture;
	uint32_t first, unread, id, serial;
	struct binary binary;

	open_fixture(&fixture);
	assert_int_equal(find(&fixture, fixture.abuser, 1, &first), 0);
	(void)flood(&fixture, fixture.abuser, 100);
	binary_table_begin_window(fixture.table, 1);
	binary_table_set_user(fixture.table, fixture.other);
	assert_int_equal(find_placeholder(fixture.table, first + 1, &unread), -E2BIG);
	assert_true(collect(&fixture, 1) > 0);
	assert_int_equal(find(&fixture, fixture.abuser, 7, &first), 0);
	assert_int_equal(find_placeholder(fixture.table, first, &unread), 0);
	binary_table_get(fixture.table, unread, &binary);
	serial = binary.serial;
	(void)flood(&fixture, fixture.abuser, 10000);
	binary_table_begin_window(fixture.table, 3);
	binary_table_use(fixture.table, unread);
	assert_true(collect(&fixture, 2) > 0);
	assert_int_equal(find(&fixture, fixture.abuser, 8, &id), 0);
	assert_int_equal(id, first);
	assert_int_equal(find_placeholder(fixture.table, first, &unread), 0);
	binary_table_get(fixture.table, unread, &binary);
	assert_int_not_equal(binary.serial, serial);
	binary_table_free(fixture.table);
}

static int find_interpreted(struct binary_table *table, uint32_t binary, uint32_t *ret_binary)
{
	return binary_table_find_interpreted(table, binary, BINARY_PYTHON, ret_binary);
}

static void a_placeholder_leaves_with_its_binary(void **state)
{
	check_placeholder(binary_table_find_unread);
	check_placeholder(find_interpreted);
}

/* The user of the first sample answers for a binary. */
static void a_shared_binary_is_charged_once(void **state)
{
	struct fixture fixture;
	struct binary binary;
	uint32_t id;

	open_fixture(&fixture);
	assert_int_equal(binary_table_find_jit(fixture.table, 1, 1, &id), 0);
	binary_table_get(fixture.table, id, &binary);
	assert_int_equal(binary.user, USER_UNKNOWN);
	assert_int_equal(find(&fixture, fixture.abuser, 2, &id), 0);
	assert_int_equal(find(&fixture, fixture.other, 2, &id), 0);
	binary_table_get(fixture.table, id, &binary);
	assert_int_equal(binary.user, fixture.abuser);
	assert_int_equal(user_share_held(binary_table_share(fixture.table), fixture.abuser), 1);
	assert_int_equal(user_share_held(binary_table_share(fixture.table), fixture.other), 0);
	binary_table_free(fixture.table);
}

/* Kernel code has names whoever fills the table. */
static void kernel_code_has_room_beyond_all_shares(void **state)
{
	const struct kernel_image image = { .name = "[kernel]" };
	struct fixture fixture;
	uint32_t id;

	open_fixture(&fixture);
	(void)flood(&fixture, fixture.abuser, 1);
	(void)flood(&fixture, fixture.other, 10000);
	(void)flood(&fixture, 0, 20000);
	assert_int_equal(binary_table_find_kernel_image(fixture.table, 0, &image, &id), 0);
	binary_table_free(fixture.table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flood_of_binaries_costs_its_user_only),
		cmocka_unit_test(a_user_over_the_share_has_no_file_opened),
		cmocka_unit_test(what_no_window_uses_makes_room),
		cmocka_unit_test(the_oldest_binaries_leave_first),
		cmocka_unit_test(binaries_in_use_stay),
		cmocka_unit_test(a_placeholder_leaves_with_its_binary),
		cmocka_unit_test(a_shared_binary_is_charged_once),
		cmocka_unit_test(kernel_code_has_room_beyond_all_shares),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
