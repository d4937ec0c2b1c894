/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process_table makes of threads, of changes, and of files that come and go. */
#include "process/process_table.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static int new_table(void **state)
{
	return process_table_new(&process_table_default_limits, (struct process_table **)state);
}

static int free_table(void **state)
{
	process_table_free(*state);
	return 0;
}

static int map(struct process_table *table, pid_t pid, uint64_t time_ns, uint64_t start,
	uint64_t end, const char *path)
{
	struct process_mapping_event event = { .start = start, .end = end, .path = path };

	return process_table_map(table, pid, time_ns, &event, NULL);
}

/* Is it live, and not only found until it retires? */
static bool is_live(const struct process_table *table, pid_t pid)
{
	size_t cursor = 0, count = 0;
	pid_t live;

	while (process_table_next_live(table, &cursor, &live))
		count += live == pid;
	assert_int_equal(count, process_table_is_live(table, pid));
	return count > 0;
}

/* pthread_exit() in main(): the process goes on, and so does its image. */
static void a_process_lives_as_long_as_a_thread(void **state)
{
	struct process_table *table = *state;
	struct process_mapping mapping;

	assert_int_equal(process_table_exec(table, 1, 10), 0);
	assert_int_equal(map(table, 1, 11, 0x1000, 0x2000, "/a"), 0);
	assert_int_equal(process_table_fork(table, 1, 1, 20), 0);
	assert_int_equal(process_table_fork(table, 1, 1, 21), 0);
	process_table_exit(table, 1, 30);
	process_table_exit(table, 1, 31);
	process_table_retire(table, 1000);
	assert_true(process_table_find(table, 1, 999, 0x1000, &mapping));
	assert_true(is_live(table, 1));
	process_table_exit(table, 1, 1000);
	assert_false(is_live(table, 1));
	assert_true(process_table_find(table, 1, 2000, 0x1000, &mapping));
	process_table_retire(table, 1001);
	assert_false(process_table_has(table, 1, 1000));
}

static void execve_leaves_one_thread(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(process_table_exec(table, 1, 10), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(process_table_fork(table, 1, 1, 20 + i), 0);
	assert_int_equal(process_table_exec(table, 1, 30), 0);
	process_table_exit(table, 1, 40);
	assert_false(is_live(table, 1));
}

static void a_child_has_one_thread(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(process_table_exec(table, 1, 10), 0);
	assert_int_equal(process_table_fork(table, 1, 1, 20), 0);
	assert_int_equal(process_table_fork(table, 2, 1, 30), 0);
	process_table_exit(table, 2, 40);
	assert_false(is_live(table, 2));
	assert_true(is_live(table, 1));
	process_table_exit(table, 1, 50);
	assert_true(is_live(table, 1));
}

/* Records were lost: beginnings, so that there are more ends than threads. */
static void a_count_that_is_too_low_is_belied(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(map(table, 1, 10, 0x1000, 0x2000, "/a"), 0);
	process_table_exit(table, 1, 20);
	assert_false(is_live(table, 1));
	/* Another end: it was alive until then. */
	process_table_exit(table, 1, 30);
	process_table_retire(table, 30);
	assert_true(process_table_has(table, 1, 25));
	/* Another thread: who made it was alive too. */
	assert_int_equal(process_table_fork(table, 1, 1, 40), 0);
	assert_true(is_live(table, 1));
	process_table_exit(table, 1, 50);
	assert_true(is_live(table, 1));
	process_table_exit(table, 1, 51);
	assert_false(is_live(table, 1));
	/* Reported late: no sign of life. */
	assert_int_equal(process_table_fork(table, 1, 1, 45), 0);
	assert_false(is_live(table, 1));
}

/* Records were lost: ends. */
static void a_count_that_is_too_high_is_corrected(void **state)
{
	struct process_table *table = *state;

	assert_int_equal(process_table_exec(table, 1, 10), 0);
	for (uint64_t i = 0; i < 5; i++)
		assert_int_equal(process_table_fork(table, 1, 1, 20 + i), 0);
	process_table_exit(table, 1, 30);
	assert_true(is_live(table, 1));
	process_table_gone(table, 1, 40);
	assert_false(is_live(table, 1));
	assert_true(process_table_has(table, 1, 40));
	process_table_retire(table, 41);
	assert_false(process_table_has(table, 1, 40));
	/* Whoever has the pid meanwhile is not meant. */
	assert_int_equal(process_table_exec(table, 2, 50), 0);
	process_table_gone(table, 2, 45);
	assert_true(is_live(table, 2));
	process_table_gone(table, 3, 45);
	/* Nor does an end of the one before end it. */
	process_table_exit(table, 2, 49);
	assert_true(is_live(table, 2));
}

static void a_count_from_proc_holds_from_its_time_on(void **state)
{
	struct process_table *table = *state;

	process_table_set_threads(table, 1, 5, 3);
	assert_false(process_table_has(table, 1, 5));
	assert_int_equal(map(table, 1, 10, 0x1000, 0x2000, "/a"), 0);
	process_table_set_threads(table, 1, 20, 2);
	/* In it already. */
	assert_int_equal(process_table_fork(table, 1, 1, 19), 0);
	process_table_exit(table, 1, 19);
	process_table_exit(table, 1, 19);
	assert_true(is_live(table, 1));
	process_table_exit(table, 1, 20);
	assert_true(is_live(table, 1));
	process_table_exit(table, 1, 21);
	assert_false(is_live(table, 1));
	process_table_set_threads(table, 1, 30, 9);
	assert_false(is_live(table, 1));
	/* Of none there is one, or it would not be there. */
	assert_int_equal(process_table_exec(table, 2, 10), 0);
	process_table_set_threads(table, 2, 9, 5);
	process_table_set_threads(table, 2, 10, 0);
	assert_true(is_live(table, 2));
	process_table_exit(table, 2, 11);
	assert_false(is_live(table, 2));
}

static uint64_t version_of(const struct process_table *table, pid_t pid)
{
	return process_table_version(table, pid, UINT64_MAX - 1);
}

/* Returns whether the version is another one than before, and notes it. */
static bool has_changed(const struct process_table *table, pid_t pid, uint64_t *version)
{
	uint64_t before = *version;

	*version = version_of(table, pid);
	return *version != before;
}

static void each_change_gives_another_version(void **state)
{
	struct process_table *table = *state;
	struct process_mapping_event there = {
		.start = 0x1000, .end = 0x2000, .path = "/a", .was_there = true
	};
	char path[PATH_MAX + 1] = "";
	uint64_t version = 0;

	assert_false(has_changed(table, 1, &version));
	assert_int_equal(process_table_map(table, 1, 10, &there, NULL), 0);
	assert_true(has_changed(table, 1, &version));
	there.start = 0x1800;
	assert_int_equal(process_table_map(table, 1, 10, &there, NULL), 0);
	assert_true(has_changed(table, 1, &version));
	/* A later scan finds what records that were lost did not tell; or nothing new. */
	assert_int_equal(process_table_map(table, 1, 25, &there, NULL), 0);
	assert_false(has_changed(table, 1, &version));
	there.start = 0x1400;
	assert_int_equal(process_table_map(table, 1, 30, &there, NULL), 0);
	assert_true(has_changed(table, 1, &version));
	assert_int_equal(process_table_fork(table, 2, 1, 40), 0);
	assert_true(has_changed(table, 2, &version));
	assert_int_equal(process_table_exec(table, 2, 50), 0);
	assert_true(has_changed(table, 2, &version));
	assert_int_equal(map(table, 2, 55, 0x3000, 0x4000, "/b"), 0);
	assert_true(has_changed(table, 2, &version));
	/* A refused mapping takes away what was there, if there was something. */
	memset(path, 'x', PATH_MAX);
	assert_int_equal(map(table, 2, 60, 0x3000, 0x4000, path), -E2BIG);
	assert_true(has_changed(table, 2, &version));
	assert_int_equal(map(table, 2, 70, 0x3000, 0x4000, path), -E2BIG);
	assert_false(has_changed(table, 2, &version));
}

static void repeated_mappings_keep_the_version(void **state)
{
	struct process_table *table = *state;
	uint64_t version;

	assert_int_equal(map(table, 1, 10, 0x1000, 0x2000, "/a"), 0);
	assert_int_equal(map(table, 1, 11, 0x10000, 0x20000, "//anon"), 0);
	assert_int_equal(map(table, 1, 12, 0x30000, 0x40000, "/b"), 0);
	version = version_of(table, 1);
	assert_int_equal(map(table, 1, 20, 0x1000, 0x2000, "/a"), 0);
	assert_int_equal(version_of(table, 1), version);
	/* Threads are no change, nor is the end. */
	assert_int_equal(process_table_fork(table, 1, 1, 20), 0);
	process_table_exit(table, 1, 21);
	process_table_exit(table, 1, 22);
	assert_int_equal(version_of(table, 1), version);
	assert_int_equal(map(table, 1, 30, 0x1000, 0x2000, "/c"), 0);
	assert_true(version_of(table, 1) != version);
}

/* A JIT that writes and executes in turn has one event for each change of its memory's rights. */
static void anonymous_memory_within_itself_is_no_change(void **state)
{
	static const struct {
		uint64_t start, end;
		const char *path;
		bool is_change;
	} cases[] = {
		{ 0x11000, 0x12000, "//anon", false },
		{ 0x10000, 0x20000, "", false },
		{ 0x10000, 0x11000, "[anon:jit]", false },
		{ 0x1f000, 0x20000, "//anon", false },
		{ 0x1f000, 0x21000, "//anon", true },
		{ 0x0f000, 0x10000, "//anon", true },
		{ 0x0f000, 0x21000, "//anon", false },
		{ 0x11000, 0x12000, "/a", true },
		{ 0x11000, 0x12000, "//anon", true },
		{ 0x0f000, 0x21000, "//anon", false },
	};
	struct process_table *table = *state;

	for (uint64_t offset = 0; offset < 2; offset++) {
		pid_t pid = 1 + (pid_t)offset;

		assert_int_equal(map(table, pid, 1, 0x10000, 0x20000, "//anon"), 0);
		for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
			const struct process_mapping_event event = {
				.start = cases[i].start,
				.end = cases[i].end,
				.path = cases[i].path,
				/* The kernel numbers its pages by their first address, or not. */
				.offset = offset * cases[i].start,
			};
			uint64_t version = version_of(table, pid);

			assert_int_equal(process_table_map(table, pid, 2, &event, NULL), 0);
			assert_int_equal(version_of(table, pid) != version, cases[i].is_change);
		}
	}
}

/* memfd_create(), mmap(), munmap() without end do not keep the next program out. */
static void files_that_nobody_maps_are_forgotten(void **state)
{
	struct process_table *table = *state;
	struct process_table_counters counters;
	struct process_mapping mapping = { 0 };
	struct mapped_file file;
	char path[128];
	size_t bytes = 0;

	assert_int_equal(map(table, 1, 1, 0x1000, 0x2000, "/init"), 0);
	for (unsigned int i = 0; i < 40000; i++) {
		(void)snprintf(path, sizeof(path), "/memfd:%064u (deleted)", i);
		assert_int_equal(map(table, 2, 2 + i, 0x1000, 0x2000, path), 0);
		if (i == 20000)
			bytes = process_table_bytes(table);
	}
	assert_int_equal(process_table_bytes(table), bytes);
	assert_int_equal(map(table, 3, 50000, 0x1000, 0x2000, "/usr/bin/new"), 0);
	assert_true(process_table_find(table, 3, 50000, 0x1000, &mapping));
	process_table_file(table, mapping.file, &file);
	assert_string_equal(file.path, "/usr/bin/new");
	assert_true(file.identity > 40000);
	assert_true(process_table_find(table, 1, 50000, 0x1000, &mapping));
	process_table_file(table, mapping.file, &file);
	assert_string_equal(file.path, "/init");
	process_table_counters(table, &counters);
	assert_int_equal(counters.files_refused, 0);
}

/* Mappings that a fork, an end or an eviction copies and takes away all count. */
static void files_are_held_by_all_who_map_them(void **state)
{
	const struct process_table_limits limits = { 8, 4, 16, 1000, 0 };
	struct process_table *table;
	struct process_mapping mapping;
	struct mapped_file file;
	char path[16];

	assert_int_equal(process_table_new(&limits, &table), 0);
	assert_int_equal(map(table, 1, 1, 0x1000, 0x9000, "/kept"), 0);
	assert_int_equal(process_table_fork(table, 2, 1, 2), 0);
	assert_int_equal(map(table, 2, 3, 0x2000, 0x3000, "/split"), 0);
	assert_int_equal(map(table, 1, 4, 0x1000, 0x9000, "/parent"), 0);
	assert_int_equal(process_table_exec(table, 1, 5), 0);
	process_table_retire(table, 6);
	for (unsigned int i = 0; i < 100; i++) {
		(void)snprintf(path, sizeof(path), "/%u", i);
		assert_int_equal(map(table, 3, 10, 0x1000, 0x2000, path), 0);
	}
	for (uint64_t ip = 0x1000; ip < 0x9000; ip += 0x1000) {
		assert_true(process_table_find(table, 2, 20, ip, &mapping));
		process_table_file(table, mapping.file, &file);
		assert_string_equal(file.path, ip == 0x2000 ? "/split" : "/kept");
	}
	process_table_free(table);
}

static void one_image_cannot_take_all_files(void **state)
{
	const struct process_table_limits limits = { 10, 1000, 16, 10000, 0 };
	struct process_table_counters counters;
	struct process_table *table;
	char path[32];
	int r;

	assert_int_equal(process_table_new(&limits, &table), 0);
	for (pid_t pid = 1; pid <= 5; pid++) {
		for (unsigned int i = 0; i < 6; i++) {
			(void)snprintf(path, sizeof(path), "/%d.%u", pid, i);
			r = map(table, pid, 1, 0x1000 * i, 0x1000 * (i + 1), path);
			assert_int_equal(r, pid <= 4 && i < 4 ? 0 : -E2BIG);
		}
	}
	process_table_counters(table, &counters);
	assert_int_equal(counters.mappings_refused, 3 * 2);
	/* Four together do; with the end of one there is room again. */
	assert_int_equal(counters.files_refused, 2 + 6);
	process_table_exit(table, 1, 2);
	assert_int_equal(map(table, 5, 2, 0x1000, 0x2000, "/new"), -E2BIG);
	process_table_retire(table, 3);
	assert_int_equal(map(table, 5, 4, 0x1000, 0x2000, "/new"), 0);
	process_table_free(table);
}

static void one_image_cannot_take_all_bytes_of_paths(void **state)
{
	const struct process_table_limits limits = { 10, 1000, 4000, 4000, 0 };
	struct process_table *table;
	char path[128];
	unsigned int count = 0;
	int r;

	assert_int_equal(process_table_new(&limits, &table), 0);
	do {
		(void)snprintf(path, sizeof(path), "/%098u", count);
		r = map(table, 1, 1, 0x1000 * count, 0x1000 * (count + 1), path);
	} while (r == 0 && ++count < 1000);
	assert_int_equal(r, -E2BIG);
	assert_int_equal(count, 10);
	assert_int_equal(map(table, 2, 1, 0x1000, 0x2000, "/other"), 0);
	/* Shorter in the place of a long one. */
	assert_int_equal(map(table, 1, 1, 0x1000, 0x2000, "/other"), 0);
	process_table_free(table);
}

#define WITH_TABLE(test) cmocka_unit_test_setup_teardown(test, new_table, free_table)

static void a_reused_pid_is_another_process(void **state)
{
	struct process_table *table = *state;
	uint64_t born_ns = 0;
	pid_t parent = 0;

	assert_int_equal(process_table_fork(table, 5, 4, 10), 0);
	assert_int_equal(process_table_exec(table, 5, 20), 0);
	assert_false(process_table_has_ended(table, 5, 15));
	assert_false(process_table_has_ended(table, 5, 25));
	assert_false(process_table_has_ended(table, 6, 25));
	process_table_exit(table, 5, 30);
	assert_true(process_table_has_ended(table, 5, 15));
	assert_int_equal(process_table_fork(table, 5, 3, 40), 0);
	assert_true(process_table_has_ended(table, 5, 25));
	assert_false(process_table_has_ended(table, 5, 45));
	assert_true(process_table_birth(table, 5, 25, &parent, &born_ns));
	assert_int_equal(parent, 4);
	assert_int_equal(born_ns, 10);
	assert_true(process_table_birth(table, 5, 45, &parent, &born_ns));
	assert_int_equal(parent, 3);
	assert_int_equal(born_ns, 40);
	/* It was there before. */
	assert_int_equal(map(table, 7, 50, 0x1000, 0x2000, "/a"), 0);
	assert_false(process_table_birth(table, 7, 60, &parent, &born_ns));
	assert_false(process_table_birth(table, 8, 60, &parent, &born_ns));
}

static void ended_images_crowd_the_room_that_live_ones_leave(void **state)
{
	const struct process_table_limits limits = {
		.images = 20, .mappings_per_image = 4, .files = 16, .path_bytes = 1024
	};
	_cleanup_(process_table_freep) struct process_table *table = NULL;

	assert_int_equal(process_table_new(&limits, &table), 0);
	assert_false(process_table_is_crowded(table));
	/* Half of it lives, of the other half more than three quarters ends. */
	for (pid_t pid = 1; pid <= 10; pid++)
		assert_int_equal(process_table_exec(table, pid, 10), 0);
	assert_false(process_table_is_crowded(table));
	for (pid_t pid = 101; pid <= 109; pid++) {
		assert_false(process_table_is_crowded(table));
		assert_int_equal(process_table_fork(table, pid, 1, 20), 0);
		process_table_exit(table, pid, 30);
	}
	assert_true(process_table_is_crowded(table));
	/* One is belied and lives. */
	assert_int_equal(map(table, 109, 40, 0x1000, 0x2000, "/a"), 0);
	assert_true(process_table_is_crowded(table));
	process_table_retire(table, 31);
	assert_false(process_table_is_crowded(table));
	/* What pushes out the oldest is counted once. */
	for (pid_t pid = 201; pid <= 300; pid++) {
		assert_int_equal(process_table_fork(table, pid, 1, 50), 0);
		process_table_exit(table, pid, 60);
	}
	assert_true(process_table_is_crowded(table));
	process_table_retire(table, 61);
	assert_false(process_table_is_crowded(table));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_TABLE(a_process_lives_as_long_as_a_thread),
		WITH_TABLE(execve_leaves_one_thread),
		WITH_TABLE(a_child_has_one_thread),
		WITH_TABLE(a_count_that_is_too_low_is_belied),
		WITH_TABLE(a_count_that_is_too_high_is_corrected),
		WITH_TABLE(a_count_from_proc_holds_from_its_time_on),
		WITH_TABLE(each_change_gives_another_version),
		WITH_TABLE(repeated_mappings_keep_the_version),
		WITH_TABLE(anonymous_memory_within_itself_is_no_change),
		WITH_TABLE(files_that_nobody_maps_are_forgotten),
		WITH_TABLE(a_reused_pid_is_another_process),
		cmocka_unit_test(ended_images_crowd_the_room_that_live_ones_leave),
		cmocka_unit_test(files_are_held_by_all_who_map_them),
		cmocka_unit_test(one_image_cannot_take_all_files),
		cmocka_unit_test(one_image_cannot_take_all_bytes_of_paths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
