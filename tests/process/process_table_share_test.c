/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How users share images, mappings and files. */
#include "process/process_table.h"

#include "tests/harness/distinct_users.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

enum { HONEST = 5, ABUSER = 6, FIRST = 100, IMAGES = 40 };

struct fixture {
	struct process_table *table;
	uint64_t honest, abuser;
};

static int map(struct process_table *table, pid_t pid, uint64_t ns, unsigned page, const char *path)
{
	const struct process_mapping_event event = {
		.start = 0x1000ULL * page, .end = 0x1000ULL * (page + 1), .path = path, .inode = 1
	};

	return process_table_map(table, pid, ns, &event, NULL);
}

static void begin(struct fixture *fixture, const struct process_table_limits *limits)
{
	struct user_share seen = { 0 };

	user_share_add(&seen, USER_UNKNOWN, 1);
	fixture->honest = distinct_user(&seen, 1000);
	fixture->abuser = distinct_user(&seen, 2000);
	assert_int_equal(process_table_new(limits, &fixture->table), 0);
	assert_int_equal(map(fixture->table, HONEST, 1, 1, "/honest"), 0);
	assert_int_equal(map(fixture->table, ABUSER, 1, 1, "/abuser"), 0);
	process_table_set_user(fixture->table, HONEST, 1, fixture->honest);
	process_table_set_user(fixture->table, ABUSER, 1, fixture->abuser);
}

static const struct process_table_limits of_images = { IMAGES, 100, 1000, 100000, 10000 };

/* All of them are alive. */
static void many_processes_of_one_user_hide_none_of_others(void **state)
{
	struct user_holdings holdings = { 0 };
	struct user_excess excess = { 0 };
	struct fixture fixture;
	int r = 0;

	begin(&fixture, &of_images);
	for (pid_t pid = FIRST; pid < FIRST + 2 * IMAGES; pid++)
		r = process_table_fork(fixture.table, pid, ABUSER, 10);
	assert_int_equal(r, -E2BIG);
	for (pid_t pid = 1000; pid < 1000 + IMAGES / 4; pid++) {
		assert_int_equal(process_table_fork(fixture.table, pid, HONEST, 20), 0);
		assert_int_equal(map(fixture.table, pid, 21, 1, "/child"), 0);
		assert_int_equal(process_table_exec(fixture.table, pid, 22), 0);
	}
	assert_true(process_table_has(fixture.table, HONEST, 5));
	for (pid_t pid = 1000; pid < 1000 + IMAGES / 4; pid++)
		assert_true(process_table_has(fixture.table, pid, 30));
	process_table_users(fixture.table, &excess, &holdings);
	assert_int_equal(excess.total[USER_PROCESSES], IMAGES + 2);
	assert_int_equal(excess.lines[0].user, fixture.abuser);
	assert_int_equal(holdings.capacity[USER_PROCESSES], IMAGES);
	process_table_free(fixture.table);
}

/* Their samples are not drained yet. */
static void short_processes_of_one_user_evict_none_of_others(void **state)
{
	struct fixture fixture;

	begin(&fixture, &of_images);
	assert_int_equal(process_table_fork(fixture.table, 50, HONEST, 2), 0);
	process_table_exit(fixture.table, 50, 3);
	for (pid_t pid = FIRST; pid < FIRST + 4 * IMAGES; pid++) {
		assert_int_equal(process_table_fork(fixture.table, pid, ABUSER, 10), 0);
		process_table_exit(fixture.table, pid, 11);
	}
	assert_true(process_table_has(fixture.table, 50, 2));
	process_table_free(fixture.table);
}

static void mappings_of_one_user_take_no_room_of_others(void **state)
{
	static const struct process_table_limits limits = { 100, 200, 1000, 100000, 600 };
	struct fixture fixture;

	begin(&fixture, &limits);
	for (pid_t pid = FIRST; pid < FIRST + 5; pid++) {
		assert_int_equal(process_table_fork(fixture.table, pid, ABUSER, 10), 0);
		for (unsigned page = 0; page < 200; page++)
			(void)map(fixture.table, pid, 11, 2 * page, "/many");
	}
	for (unsigned page = 0; page < 100; page++)
		assert_int_equal(map(fixture.table, HONEST, 20, 2 * page, "/honest"), 0);
	process_table_free(fixture.table);
}

static void files_of_one_user_take_no_room_of_others(void **state)
{
	static const struct process_table_limits limits = { 100, 100, 80, 100000, 10000 };
	struct fixture fixture;
	char path[32];

	begin(&fixture, &limits);
	for (pid_t pid = FIRST; pid < FIRST + 5; pid++) {
		assert_int_equal(process_table_fork(fixture.table, pid, ABUSER, 10), 0);
		for (unsigned page = 0; page < 100; page++) {
			(void)snprintf(path, sizeof(path), "/%d/%u", pid, page);
			(void)map(fixture.table, pid, 11, 2 * page, path);
		}
	}
	for (unsigned page = 0; page < 15; page++) {
		(void)snprintf(path, sizeof(path), "/honest/%u", page);
		assert_int_equal(map(fixture.table, HONEST, 20, 2 * page, path), 0);
	}
	process_table_free(fixture.table);
}

static uint64_t evicted(const struct fixture *fixture)
{
	struct process_table_counters counters;

	process_table_counters(fixture->table, &counters);
	return counters.images_evicted;
}

/* Processes that share their mappings make no room until the last of them leaves. */
static void many_that_share_mappings_leave_for_one_of_another_user(void **state)
{
	enum { CHILDREN = 600 };
	static const struct process_table_limits limits = { 1000, 400, 2000, 100000, 400 };
	struct fixture fixture;

	begin(&fixture, &limits);
	for (unsigned page = 0; page < 300; page++)
		assert_int_equal(map(fixture.table, ABUSER, 2, 2 * page, "/many"), 0);
	for (pid_t pid = FIRST; pid < FIRST + CHILDREN; pid++)
		assert_int_equal(process_table_fork(fixture.table, pid, ABUSER, 3), 0);
	for (unsigned page = 0; page < 200; page++)
		assert_int_equal(map(fixture.table, HONEST, 10, 2 * page, "/honest"), 0);
	assert_int_equal(evicted(&fixture), CHILDREN + 1);
	assert_true(process_table_has(fixture.table, HONEST, 20));
	process_table_free(fixture.table);
}

/* Its samples are drained after its end. */
static void a_process_that_ended_leaves_for_its_user(void **state)
{
	struct fixture fixture;

	begin(&fixture, &of_images);
	assert_int_equal(process_table_fork(fixture.table, 50, HONEST, 2), 0);
	assert_int_equal(process_table_fork(fixture.table, 51, HONEST, 2), 0);
	process_table_exit(fixture.table, 51, 3);
	process_table_exit(fixture.table, 50, 4);
	process_table_set_user(fixture.table, 50, 3, fixture.abuser);
	for (pid_t pid = FIRST; pid < FIRST + IMAGES - 4; pid++)
		assert_int_equal(process_table_fork(fixture.table, pid, ABUSER, 10), 0);
	assert_true(process_table_has(fixture.table, 50, 3));
	assert_int_equal(process_table_fork(fixture.table, 52, ABUSER, 10), 0);
	assert_false(process_table_has(fixture.table, 50, 3));
	assert_true(process_table_has(fixture.table, 51, 2));
	process_table_free(fixture.table);
}

static uint64_t held(const struct fixture *fixture, uint64_t user, enum user_resource resource)
{
	struct user_holdings holdings = { 0 };
	struct user_excess excess = { 0 };

	process_table_users(fixture->table, &excess, &holdings);
	for (size_t i = 0; i < USER_EXCESS_LINES; i++)
		if (holdings.lines[i].user == user)
			return holdings.lines[i].held[resource];
	return 0;
}

/* Few files have long paths; another user has many with short ones. */
static void long_paths_of_one_user_take_no_room_of_others(void **state)
{
	enum { OTHER = 7, PATH_BYTES = 20000, LONG = 1000, SHORT_FILES = 40 };
	static const struct process_table_limits limits = { 100, 100, 1000, PATH_BYTES, 10000 };
	struct user_share seen = { 0 };
	struct fixture fixture;
	char path[LONG + 1];

	begin(&fixture, &limits);
	user_share_add(&seen, fixture.honest, 1);
	user_share_add(&seen, fixture.abuser, 1);
	for (unsigned page = 0; page < SHORT_FILES; page++) {
		(void)snprintf(path, sizeof(path), "/%u", page);
		assert_int_equal(map(fixture.table, OTHER, 5, 2 * page, path), 0);
	}
	process_table_set_user(fixture.table, OTHER, 5, distinct_user(&seen, 3000));
	for (pid_t pid = FIRST; pid < FIRST + PATH_BYTES / LONG; pid++) {
		(void)snprintf(path, sizeof(path), "/%0*d", LONG - 2, pid);
		assert_int_equal(process_table_fork(fixture.table, pid, ABUSER, 10), 0);
		(void)map(fixture.table, pid, 11, 1, path);
	}
	(void)snprintf(path, sizeof(path), "/%0*d", LONG - 2, HONEST);
	assert_int_equal(map(fixture.table, HONEST, 20, 2, path), 0);
	assert_true(process_table_has(fixture.table, OTHER, 20));
	process_table_free(fixture.table);
}

/* A path that does not fit into an empty table evicts nothing. */
static void a_path_that_is_too_long_takes_no_room(void **state)
{
	static const struct process_table_limits limits = { 100, 100, 1000, 100, 10000 };
	struct fixture fixture;
	char path[201];

	begin(&fixture, &limits);
	(void)snprintf(path, sizeof(path), "/%0199d", 0);
	assert_int_equal(map(fixture.table, HONEST, 20, 2, path), -E2BIG);
	assert_true(process_table_has(fixture.table, ABUSER, 20));
	process_table_free(fixture.table);
}

/* A service forks, and its child becomes another user without another program. */
static void shared_mappings_are_charged_to_the_last_user(void **state)
{
	struct fixture fixture;
	uint64_t before;

	begin(&fixture, &of_images);
	before = held(&fixture, fixture.honest, USER_MAPPINGS);
	assert_int_equal(process_table_fork(fixture.table, 50, HONEST, 2), 0);
	process_table_set_user(fixture.table, 50, 3, fixture.abuser);
	assert_int_equal(held(&fixture, fixture.honest, USER_MAPPINGS), 0);
	process_table_set_user(fixture.table, HONEST, 4, fixture.honest);
	assert_int_equal(held(&fixture, fixture.honest, USER_MAPPINGS), before);
	/* The service ends, and its child stays. */
	process_table_exit(fixture.table, HONEST, 5);
	process_table_retire(fixture.table, 6);
	process_table_set_user(fixture.table, 50, 7, fixture.abuser);
	assert_int_equal(held(&fixture, fixture.honest, USER_MAPPINGS), 0);
	assert_int_equal(held(&fixture, fixture.abuser, USER_MAPPINGS), 2 * before);
	process_table_free(fixture.table);
}

/* Until a sample says whose it is, a process counts as its parent's user's. */
static void files_are_charged_to_the_user_who_is_known_later(void **state)
{
	struct fixture fixture;
	char path[32];

	begin(&fixture, &of_images);
	assert_int_equal(process_table_fork(fixture.table, 50, HONEST, 2), 0);
	for (unsigned page = 2; page < 10; page++) {
		(void)snprintf(path, sizeof(path), "/many/%u", page);
		assert_int_equal(map(fixture.table, 50, 3, 2 * page, path), 0);
	}
	/* It also holds what its user's other processes have mapped. */
	assert_int_equal(map(fixture.table, 50, 3, 50, "/abuser"), 0);
	assert_int_equal(held(&fixture, fixture.honest, USER_FILES), 9);
	/* A child of its own does not change that. */
	assert_int_equal(process_table_fork(fixture.table, 51, 50, 4), 0);
	process_table_set_user(fixture.table, 50, 5, fixture.abuser);
	assert_int_equal(held(&fixture, fixture.honest, USER_FILES), 0);
	assert_int_equal(held(&fixture, fixture.abuser, USER_FILES), 10);
	process_table_exit(fixture.table, 50, 6);
	process_table_exit(fixture.table, 51, 6);
	process_table_retire(fixture.table, 7);
	assert_int_equal(held(&fixture, fixture.abuser, USER_FILES), 2);
	process_table_free(fixture.table);
}

/* A sample says who it is, and its children and programs are the same user's. */
static void the_user_is_inherited(void **state)
{
	struct user_holdings holdings = { 0 };
	struct user_excess excess = { 0 };
	struct fixture fixture;

	begin(&fixture, &of_images);
	assert_int_equal(process_table_fork(fixture.table, 50, ABUSER, 2), 0);
	assert_int_equal(process_table_exec(fixture.table, 50, 3), 0);
	assert_int_equal(map(fixture.table, 50, 4, 1, "/program"), 0);
	process_table_users(fixture.table, &excess, &holdings);
	for (size_t i = 0; i < USER_EXCESS_LINES; i++)
		if (holdings.lines[i].user == fixture.abuser) {
			assert_int_equal(holdings.lines[i].held[USER_PROCESSES], 3);
			assert_int_equal(holdings.lines[i].held[USER_FILES], 2);
		}
	/* The last one to leave takes its charge along. */
	process_table_exit(fixture.table, 50, 5);
	process_table_exit(fixture.table, ABUSER, 5);
	process_table_retire(fixture.table, 6);
	holdings = (struct user_holdings){ 0 };
	process_table_users(fixture.table, &excess, &holdings);
	for (size_t i = 0; i < USER_EXCESS_LINES; i++)
		if (holdings.lines[i].user == fixture.abuser)
			assert_int_equal(holdings.lines[i].held[USER_PROCESSES] +
						 holdings.lines[i].held[USER_MAPPINGS],
				0);
	process_table_free(fixture.table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_processes_of_one_user_hide_none_of_others),
		cmocka_unit_test(short_processes_of_one_user_evict_none_of_others),
		cmocka_unit_test(mappings_of_one_user_take_no_room_of_others),
		cmocka_unit_test(files_of_one_user_take_no_room_of_others),
		cmocka_unit_test(many_that_share_mappings_leave_for_one_of_another_user),
		cmocka_unit_test(a_process_that_ended_leaves_for_its_user),
		cmocka_unit_test(long_paths_of_one_user_take_no_room_of_others),
		cmocka_unit_test(a_path_that_is_too_long_takes_no_room),
		cmocka_unit_test(shared_mappings_are_charged_to_the_last_user),
		cmocka_unit_test(files_are_charged_to_the_user_who_is_known_later),
		cmocka_unit_test(the_user_is_inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
