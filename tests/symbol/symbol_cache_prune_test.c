/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sizes, uses, pruning, drafts of dead processes, and the lock. */
#include "symbol/symbol_cache.h"
#include "tests/symbol/symbol_cache_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { BLOCK_BYTES = 4096, ENOUGH_BYTES = 1 << 30 };

/* A replaced entry counts once; one that another process removed does not count. */
static void sizes_are_counted_once(void **state)
{
	struct symbol_identity first = cache_fixture_identity(1),
			       second = cache_fixture_identity(2);
	struct symbol_identity third = cache_fixture_identity(3);
	struct symbol_cache_counters counters;
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, 1024 * BLOCK_BYTES));
	assert_int_equal(cache_fixture_store(fixture.cache, &second, 1, 10), 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(cache_fixture_store(fixture.cache, &first, 1, 10), 0);
	symbol_cache_free(fixture.cache);
	assert_int_equal(
		symbol_cache_open(fixture.folder, 3 * BLOCK_BYTES, &fixture.cache, NULL), 0);
	for (int i = 0; i < 10; i++)
		assert_int_equal(cache_fixture_store(fixture.cache, &first, 1, 10), 0);
	assert_int_equal(symbol_cache_remove(fixture.cache, &second), 0);
	assert_int_equal(cache_fixture_store(fixture.cache, &third, 1, 5000), 0);
	assert_true(cache_fixture_has(&fixture, &first));
	symbol_cache_counters(fixture.cache, &counters);
	assert_int_equal(counters.evicted, 0);
	cache_fixture_close(&fixture);
}

/* However it was removed. */
static void removed_entries_do_not_count(void **state)
{
	struct symbol_identity removed = cache_fixture_identity(1);
	struct symbol_identity damaged = cache_fixture_identity(2);
	struct symbol_identity left = cache_fixture_identity(3);
	struct cache_fixture fixture;
	uint64_t entries, bytes;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_int_equal(cache_fixture_store(fixture.cache, &removed, 1, 10), 0);
	assert_int_equal(cache_fixture_store(fixture.cache, &damaged, 1, 5000), 0);
	assert_int_equal(cache_fixture_store(fixture.cache, &left, 1, 10), 0);
	assert_int_equal(symbol_cache_size(fixture.cache, &entries, &bytes), 0);
	assert_int_equal(entries, 3);
	assert_int_equal(cache_fixture_damage(&fixture, 2), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &damaged), -ENOENT);
	assert_int_equal(symbol_cache_size(fixture.cache, &entries, &bytes), 0);
	assert_int_equal(entries, 2);
	assert_int_equal(bytes, 2 * BLOCK_BYTES);
	assert_int_equal(symbol_cache_remove(fixture.cache, &removed), 0);
	assert_int_equal(symbol_cache_size(fixture.cache, &entries, &bytes), 0);
	assert_int_equal(entries, 1);
	assert_int_equal(bytes, BLOCK_BYTES);
	cache_fixture_close(&fixture);
}

static time_t last_use(const struct cache_fixture *fixture, const struct symbol_identity *identity)
{
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct stat status;

	assert_int_equal(stat(cache_fixture_path(fixture, identity, path), &status), 0);
	return status.st_mtim.tv_sec;
}

static void use_is_kept_to_the_minute(void **state)
{
	static const struct {
		time_t age_s;
		bool is_touched;
	} cases[] = { { 0, false }, { 1800, true }, { 100, true }, { 1000000, true },
		{ -30, false }, { -3700, true } };
	struct symbol_identity identity = cache_fixture_identity(1);
	struct pilotlight_symbol_header header;
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		time_t before, start = time(NULL);

		assert_int_equal(cache_fixture_age(&fixture, &identity, cases[i].age_s), 0);
		before = last_use(&fixture, &identity);
		if (i % 2)
			assert_int_equal(cache_fixture_find(fixture.cache, &identity), 1);
		else
			assert_int_equal(symbol_cache_peek(fixture.cache, &identity, &header), 0);
		if (cases[i].is_touched)
			assert_in_range(last_use(&fixture, &identity), start - 1, time(NULL) + 1);
		else
			assert_int_equal(last_use(&fixture, &identity), before);
	}
	cache_fixture_close(&fixture);
}

/* Half an hour after its first use. */
static void used_entries_are_not_evicted(void **state)
{
	struct symbol_identity again = cache_fixture_identity(1);
	struct symbol_identity unused = cache_fixture_identity(2);
	struct symbol_identity last = cache_fixture_identity(3);
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, 2 * BLOCK_BYTES));
	assert_int_equal(cache_fixture_store(fixture.cache, &again, 1, 10), 0);
	assert_int_equal(cache_fixture_store(fixture.cache, &unused, 1, 10), 0);
	assert_int_equal(cache_fixture_age(&fixture, &again, 1800), 0);
	assert_int_equal(cache_fixture_age(&fixture, &unused, 1000), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &again), 1);
	assert_int_equal(cache_fixture_store(fixture.cache, &last, 1, 10), 0);
	assert_true(cache_fixture_has(&fixture, &again));
	assert_false(cache_fixture_has(&fixture, &unused));
	cache_fixture_close(&fixture);
}

/* Older entries are evicted first, even if another process has just stored them. */
static void entries_in_use_are_evicted_last(void **state)
{
	enum { IN_USE = 2 };
	struct symbol_identity gone = cache_fixture_identity(10), old = cache_fixture_identity(11);
	struct symbol_identity last = cache_fixture_identity(12);
	struct symbol_identity in_use[IN_USE];
	struct cache_fixture fixture;
	struct symbol_cache *other;

	assert_true(cache_fixture_open(&fixture, 32 * BLOCK_BYTES));
	assert_int_equal(symbol_cache_open(fixture.folder, ENOUGH_BYTES, &other, NULL), 0);
	for (uint32_t i = 0; i < IN_USE; i++) {
		in_use[i] = cache_fixture_identity(i);
		assert_int_equal(cache_fixture_store(other, &in_use[i], 1, 13 * BLOCK_BYTES), 0);
		assert_int_equal(cache_fixture_age(&fixture, &in_use[i], -30), 0);
	}
	/* This store scans the folder, which is a block short of full. */
	assert_int_equal(cache_fixture_store(fixture.cache, &gone, 1, 2 * BLOCK_BYTES), 0);
	assert_int_equal(symbol_cache_remove(other, &gone), 0);
	assert_int_equal(cache_fixture_store(other, &old, 1, 3 * BLOCK_BYTES), 0);
	assert_int_equal(cache_fixture_age(&fixture, &old, 1000), 0);
	assert_int_equal(cache_fixture_age(&fixture, &in_use[0], 10), 0);
	assert_int_equal(cache_fixture_age(&fixture, &in_use[1], 5), 0);
	assert_int_equal(cache_fixture_store(fixture.cache, &last, 1, BLOCK_BYTES), 0);
	assert_false(cache_fixture_has(&fixture, &old));
	assert_true(cache_fixture_has(&fixture, &in_use[0]));
	assert_true(cache_fixture_has(&fixture, &in_use[1]));
	/* If nothing else is left, the bound takes precedence. */
	last = cache_fixture_identity(13);
	assert_int_equal(cache_fixture_store(fixture.cache, &last, 1, 10 * BLOCK_BYTES), 0);
	assert_false(cache_fixture_has(&fixture, &in_use[0]));
	assert_true(cache_fixture_has(&fixture, &in_use[1]));
	symbol_cache_free(other);
	cache_fixture_close(&fixture);
}

/* The age of the draft does not matter. */
static void storing_counts_as_a_use(void **state)
{
	struct timespec times[2] = { { .tv_nsec = UTIME_OMIT }, { .tv_sec = 1000 } };
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_cache_draft draft = { .fd = -1 };
	time_t start = time(NULL);
	struct symbol_file_fixture file;
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_int_equal(symbol_cache_begin(fixture.cache, &draft), 0);
	cache_fixture_build(&file, &identity, 1, 10);
	assert_int_equal(write(draft.fd, file.bytes, file.size), file.size);
	assert_int_equal(futimens(draft.fd, times), 0);
	assert_int_equal(symbol_cache_commit(fixture.cache, &identity, &draft), 0);
	symbol_cache_draft_done(fixture.cache, &draft);
	assert_in_range(last_use(&fixture, &identity), start - 1, time(NULL) + 1);
	cache_fixture_close(&fixture);
}

static void pruning_removes_useless_entries(void **state)
{
	struct symbol_cache_pruned pruned = { .entries = 77 };
	struct cache_fixture fixture;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_int_equal(symbol_cache_prune(fixture.cache, ENOUGH_BYTES, true, &pruned), 0);
	assert_int_equal(pruned.entries, 0);
	assert_int_equal(pruned.left_entries, 0);

	for (uint32_t i = 0; i < 5; i++) {
		struct symbol_identity identity = cache_fixture_identity(i);

		assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 5000), 0);
		assert_int_equal(cache_fixture_age(&fixture, &identity, 1000 - i), 0);
	}
	assert_int_equal(cache_fixture_store_negative(&fixture, 10, 100), 0);
	assert_int_equal(
		cache_fixture_store_negative(&fixture, 11, SYMBOL_CACHE_NEGATIVE_S + 10), 0);
	assert_int_equal(cache_fixture_damage(&fixture, 4), 0);

	assert_int_equal(symbol_cache_prune(fixture.cache, ENOUGH_BYTES, false, &pruned), 0);
	assert_int_equal(pruned.entries, 1);
	assert_int_equal(pruned.bytes, BLOCK_BYTES);
	assert_int_equal(pruned.left_entries, 6);
	assert_int_equal(pruned.left_bytes, 11 * BLOCK_BYTES);

	assert_int_equal(symbol_cache_prune(fixture.cache, ENOUGH_BYTES, true, &pruned), 0);
	assert_int_equal(pruned.entries, 1);
	assert_int_equal(pruned.bytes, 2 * BLOCK_BYTES);
	assert_int_equal(pruned.left_entries, 5);

	assert_int_equal(symbol_cache_prune(fixture.cache, 5 * BLOCK_BYTES + 1, false, &pruned), 0);
	assert_int_equal(pruned.entries, 2);
	assert_int_equal(pruned.left_entries, 3);
	assert_int_equal(pruned.left_bytes, 5 * BLOCK_BYTES);
	for (uint32_t i = 0; i < 11; i++) {
		struct symbol_identity identity = cache_fixture_identity(i);

		assert_int_equal(
			cache_fixture_has(&fixture, &identity), i == 2 || i == 3 || i == 10);
	}
	assert_int_equal(symbol_cache_prune(fixture.cache, 0, false, &pruned), 0);
	assert_int_equal(pruned.entries, 3);
	assert_int_equal(pruned.left_bytes, 0);
	cache_fixture_close(&fixture);
}

/* A child with all our descriptors, which ends when the pipe is closed. */
static pid_t start_holder(int *ret_end)
{
	int end[2];
	pid_t child;

	assert_int_equal(pipe2(end, O_CLOEXEC), 0);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		char byte;

		(void)close(end[1]);
		_exit(read(end[0], &byte, 1) == 0 ? 0 : 1);
	}
	(void)close(end[0]);
	*ret_end = end[1];
	return child;
}

static void draft_path(const struct cache_fixture *fixture, const struct symbol_cache_draft *draft,
	char path[CACHE_FIXTURE_PATH_BYTES])
{
	(void)snprintf(path, CACHE_FIXTURE_PATH_BYTES, "%s/tmp/%s", fixture->folder, draft->name);
}

static void drafts_of_dead_writers_are_removed(void **state)
{
	struct symbol_cache_draft draft = { .fd = -1 }, handed = { .fd = -1 };
	struct symbol_cache_pruned pruned;
	struct cache_fixture fixture;
	struct symbol_cache *other;
	char kept[CACHE_FIXTURE_PATH_BYTES], path[CACHE_FIXTURE_PATH_BYTES];
	pid_t child;
	int end;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_int_equal(symbol_cache_begin(fixture.cache, &draft), 0);
	assert_int_equal(symbol_cache_begin(fixture.cache, &handed), 0);
	assert_string_not_equal(draft.name, handed.name);
	assert_int_equal(write(draft.fd, "some", 4), 4);
	assert_int_equal(cache_fixture_make_file(fixture.folder, "tmp/1-2.draft"), 0);
	assert_int_equal(cache_fixture_make_file(fixture.folder, "tmp/notes"), 0);
	assert_int_equal(cache_fixture_make_file(fixture.folder, "tmp/.draft"), 0);

	/* The draft is alive while a process that received it has it open. */
	child = start_holder(&end);
	draft_path(&fixture, &handed, kept);
	draft_path(&fixture, &draft, path);
	(void)close(handed.fd);
	assert_int_equal(symbol_cache_open(fixture.folder, ENOUGH_BYTES, &other, NULL), 0);
	assert_int_equal(symbol_cache_prune(other, ENOUGH_BYTES, false, &pruned), 0);
	assert_int_equal(pruned.drafts, 1);
	assert_false(cache_fixture_has_file(fixture.folder, "tmp/1-2.draft"));
	assert_true(cache_fixture_has_file(fixture.folder, "tmp/notes"));
	assert_true(cache_fixture_has_file(fixture.folder, "tmp/.draft"));
	assert_int_equal(access(path, F_OK), 0);
	assert_int_equal(access(kept, F_OK), 0);

	(void)close(end);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(symbol_cache_prune(other, ENOUGH_BYTES, false, &pruned), 0);
	assert_int_equal(pruned.drafts, 1);
	assert_int_not_equal(access(kept, F_OK), 0);

	symbol_cache_draft_done(fixture.cache, &draft);
	assert_int_not_equal(access(path, F_OK), 0);
	assert_int_equal(draft.fd, -1);
	symbol_cache_draft_done(fixture.cache, &draft);
	handed.fd = -1;
	symbol_cache_draft_done(fixture.cache, &handed);

	/* The first draft of a process removes the drafts of dead processes. */
	assert_int_equal(cache_fixture_make_file(fixture.folder, "tmp/1-3.draft"), 0);
	assert_int_equal(symbol_cache_begin(other, &draft), 0);
	assert_false(cache_fixture_has_file(fixture.folder, "tmp/1-3.draft"));
	symbol_cache_draft_done(other, &draft);
	symbol_cache_free(other);
	cache_fixture_close(&fixture);
}

static void draft_without_its_name_is_not_committed(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_cache_draft draft = { .fd = -1 };
	struct symbol_file_fixture file;
	struct cache_fixture fixture;
	char path[CACHE_FIXTURE_PATH_BYTES];
	FILE *other;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_int_equal(symbol_cache_begin(fixture.cache, &draft), 0);
	cache_fixture_build(&file, &identity, 1, 10);
	assert_int_equal(write(draft.fd, file.bytes, file.size), file.size);
	draft_path(&fixture, &draft, path);
	assert_int_equal(unlink(path), 0);
	other = fopen(path, "w");
	assert_non_null(other);
	(void)fclose(other);
	assert_int_equal(symbol_cache_commit(fixture.cache, &identity, &draft), -ESTALE);
	symbol_cache_draft_done(fixture.cache, &draft);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), -ENOENT);
	cache_fixture_close(&fixture);
}

static void wait_for_a_held_lock_is_bounded(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(1);
	struct symbol_identity absent = cache_fixture_identity(2);
	struct symbol_cache_pruned pruned;
	char path[CACHE_FIXTURE_PATH_BYTES];
	struct cache_fixture fixture;
	struct stat status;
	int fd;

	assert_true(cache_fixture_open(&fixture, ENOUGH_BYTES));
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 1, 10), 0);
	(void)snprintf(path, sizeof(path), "%s/lock", fixture.folder);
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(flock(fd, LOCK_EX), 0);
	/* Once with the default patience, then a thousand times without any. */
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 2, 10), -EBUSY);
	symbol_cache_set_patience(fixture.cache, 0);
	for (int i = 0; i < 1000; i++)
		assert_int_equal(symbol_cache_put_negative(
					 fixture.cache, &absent, PILOTLIGHT_SYMBOL_NOTHING, "x"),
			-EBUSY);
	assert_int_equal(symbol_cache_prune(fixture.cache, 0, false, &pruned), -EBUSY);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), 1);
	/* Removing the lock file releases the lock. */
	assert_int_equal(unlink(path), 0);
	assert_int_equal(cache_fixture_store(fixture.cache, &identity, 2, 10), 0);
	assert_int_equal(cache_fixture_find(fixture.cache, &identity), 2);
	(void)close(fd);
	cache_fixture_close(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_counted_once),
		cmocka_unit_test(use_is_kept_to_the_minute),
		cmocka_unit_test(removed_entries_do_not_count),
		cmocka_unit_test(used_entries_are_not_evicted),
		cmocka_unit_test(entries_in_use_are_evicted_last),
		cmocka_unit_test(storing_counts_as_a_use),
		cmocka_unit_test(pruning_removes_useless_entries),
		cmocka_unit_test(drafts_of_dead_writers_are_removed),
		cmocka_unit_test(draft_without_its_name_is_not_committed),
		cmocka_unit_test(wait_for_a_held_lock_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
