/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "tests/harness/failing_allocation.h"
#include "unwind/walk_files.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { IDS = PILOTLIGHT_FRAME_FILE_IDS_MAX };

static struct walk_files *make_files(size_t limit)
{
	struct walk_files *files = NULL;

	assert_int_equal(walk_files_new(limit, 0, &files), 0);
	return files;
}

static struct pilotlight_file_key key_of(uint64_t inode)
{
	return (struct pilotlight_file_key){ .inode = inode, .device = 8 << 20 | 1 };
}

/* A file whose binary is its inode. */
static struct walk_file *add(struct walk_files *files, uint32_t inode)
{
	struct pilotlight_file_key key = key_of(inode);
	struct walk_file *file = NULL;

	assert_int_equal(walk_files_add(files, &key, inode, &file), 0);
	return file;
}

static struct walk_file *find(struct walk_files *files, uint32_t inode)
{
	struct pilotlight_file_key key = key_of(inode);

	return walk_files_find_key(files, &key);
}

static void forget(struct walk_files *files, uint32_t inode)
{
	struct walk_file *file = find(files, inode);

	assert_non_null(file);
	walk_files_forget(files, file);
}

static void files_are_found_by_key_and_by_id(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(5000);
	static const struct pilotlight_file_key vdso;
	struct walk_file *file;

	walk_files_begin_window(files, 3);
	assert_null(walk_files_find_key(files, &vdso));
	assert_null(walk_files_find_id(files, 0));
	assert_int_equal(walk_files_add(files, &vdso, 7, &file), 0);
	assert_int_equal(file->state, WALK_FILE_PENDING);
	assert_int_equal(file->entry.used_window, 3);
	assert_int_equal(file->entry.flags, 0);
	for (uint32_t i = 1; i < 5000; i++)
		(void)add(files, i);
	assert_int_equal(walk_files_count(files), 5000);
	assert_true(walk_files_find_key(files, &vdso) &&
		    walk_files_find_key(files, &vdso)->binary == 7);
	for (uint32_t i = 1; i < 5000; i++) {
		file = find(files, i);
		assert_non_null(file);
		assert_int_equal(file->binary, i);
		assert_ptr_equal(walk_files_find_id(files, file->entry.id), file);
	}
	assert_null(find(files, 5000));
	assert_null(walk_files_find_id(files, 5000));
	assert_null(walk_files_find_id(files, UINT32_MAX));
}

/* Every field of a key counts. */
static void keys_differ_in_any_field(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(100);
	struct pilotlight_file_key keys[8] = { 0 };
	struct walk_file *file;

	keys[1].inode = 1;
	keys[2].size_bytes = 1;
	keys[3].modified_s = 1;
	keys[4].modified_ns = 1;
	keys[5].generation = 1;
	keys[6].device = 1;
	keys[7].filesystem = 1;
	for (uint32_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_int_equal(walk_files_add(files, &keys[i], i, &file), 0);
	for (uint32_t i = 0; i < ARRAY_SIZE(keys); i++)
		assert_int_equal(walk_files_find_key(files, &keys[i])->binary, i);
}

static void full_table_refuses(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(2);
	struct pilotlight_file_key key = key_of(3);
	struct walk_file *file = NULL;

	(void)add(files, 1);
	assert_false(walk_files_is_full(files));
	(void)add(files, 2);
	assert_true(walk_files_is_full(files));
	assert_int_equal(walk_files_add(files, &key, 3, &file), -ENOSPC);
	assert_null(file);
	assert_int_equal(walk_files_counters(files).refused, 1);
	forget(files, 1);
	assert_false(walk_files_is_full(files));
	assert_int_equal(walk_files_add(files, &key, 3, &file), 0);
	assert_int_equal(walk_files_counters(files).forgotten, 1);
	assert_int_equal(walk_files_count(files), 2);
}

/* Files that are gone keep their slots, which are bounded. */
static void ids_of_gone_files_are_bounded(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(4);
	struct pilotlight_file_key key = key_of(100);
	struct walk_file *file = NULL;

	walk_files_begin_window(files, 1);
	for (uint32_t i = 0; i < 8; i++) {
		(void)add(files, i);
		forget(files, i);
	}
	assert_int_equal(walk_files_add(files, &key, 0, &file), -ENOSPC);
	walk_files_begin_window(files, 3);
	assert_int_equal(walk_files_add(files, &key, 0, &file), -ENOSPC);
	assert_int_equal(walk_files_counters(files).refused, 2);
	walk_files_begin_window(files, 4);
	assert_int_equal(walk_files_add(files, &key, 0, &file), 0);
	assert_int_equal(walk_files_positions(files), 8);
}

static void ids_outlive_their_files_by_two_windows(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(100);
	struct walk_file *file;
	uint32_t id;

	walk_files_begin_window(files, 10);
	id = add(files, 42)->entry.id;
	forget(files, 42);
	assert_null(find(files, 42));
	for (uint32_t window = 10; window <= 12; window++) {
		walk_files_begin_window(files, window);
		file = walk_files_find_id(files, id);
		assert_non_null(file);
		assert_int_equal(file->state, WALK_FILE_GONE);
		assert_int_equal(file->binary, 42);
	}
	walk_files_begin_window(files, 13);
	assert_null(walk_files_find_id(files, id));
}

/* A key that comes back gets another id: it may be another file. */
static void file_that_comes_back_has_another_id(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(100);
	uint32_t before, after;

	before = add(files, 1)->entry.id;
	forget(files, 1);
	after = add(files, 1)->entry.id;
	assert_int_not_equal(before, after);
	assert_int_equal(walk_files_find_id(files, before)->state, WALK_FILE_GONE);
	assert_int_equal(walk_files_find_id(files, after)->state, WALK_FILE_PENDING);
	assert_int_equal(find(files, 1)->entry.id, after);
}

/*
 * All ids are given in turn, and twice. Two files stay throughout, one goes just before its id
 * would come again.
 */
static void ids_wrap_and_skip_known_ones(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(64);
	uint32_t first, second, third, last = 0, window = 1, given = 0;

	first = add(files, 1)->entry.id;
	second = add(files, 2)->entry.id;
	third = add(files, 3)->entry.id;
	assert_true(first < second && second < third);
	while (given < IDS - 3) {
		walk_files_begin_window(files, window++);
		for (uint32_t i = 0; i < 32 && given < IDS - 3; i++, given++) {
			last = add(files, 1000 + i)->entry.id;
			assert_true(last > third && last < IDS);
			forget(files, 1000 + i);
		}
	}
	assert_int_equal(last, IDS - 1);
	walk_files_begin_window(files, window += 10);
	forget(files, 2);
	/* The first and the third are there, and the second has just gone. */
	assert_int_equal(add(files, 1001)->entry.id, third + 1);
	assert_int_equal(walk_files_find_id(files, second)->binary, 2);
	assert_int_equal(walk_files_find_id(files, first)->binary, 1);
	assert_int_equal(walk_files_find_id(files, third)->binary, 3);
}

static void ids_are_reused_in_time(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(64);
	uint32_t id, window = 1, rounds = 0;

	id = add(files, 1)->entry.id;
	forget(files, 1);
	do {
		uint32_t given;

		walk_files_begin_window(files, window++);
		for (uint32_t i = 0; i < 32; i++) {
			given = add(files, 2)->entry.id;
			forget(files, 2);
			rounds += given == id;
		}
	} while (rounds == 0 && window < IDS);
	assert_int_equal(rounds, 1);
	assert_int_equal(walk_files_find_id(files, id)->binary, 2);
}

static void uses_make_a_file_recent(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(10);
	struct walk_file *file;

	walk_files_begin_window(files, 5);
	file = add(files, 1);
	assert_true(walk_files_is_recent(files, file));
	walk_files_begin_window(files, 6);
	assert_int_equal(walk_files_window(files), 6);
	assert_true(walk_files_is_recent(files, file));
	walk_files_begin_window(files, 7);
	assert_true(walk_files_is_recent(files, file));
	walk_files_begin_window(files, 8);
	assert_false(walk_files_is_recent(files, file));
	walk_files_use(file, 6);
	assert_true(walk_files_is_recent(files, file));
	walk_files_use(file, 2); /* an older one */
	assert_int_equal(file->entry.used_window, 6);
	walk_files_use(file, 9); /* the sampler is in the next one already */
	assert_true(walk_files_is_recent(files, file));
	walk_files_use(file, UINT32_MAX);
	assert_true(walk_files_is_recent(files, file));
}

static void stale_files_come_oldest_first(void **state)
{
	static const struct {
		uint32_t used;
		enum walk_file_state state;
	} uses[] = {
		{ 15, WALK_FILE_LOADED },
		{ 3, WALK_FILE_EVICTED },
		{ 19, WALK_FILE_LOADED }, /* recent */
		{ 12, WALK_FILE_LOADED },
		{ 1, WALK_FILE_NOTHING },
		{ 20, WALK_FILE_PENDING }, /* recent */
		{ 2, WALK_FILE_BY_FRAME_POINTER },
		{ 18, WALK_FILE_LOADED },
		{ 18, WALK_FILE_PENDING },
	};
	static const uint32_t loaded[] = { 3, 0, 7 }, others[] = { 4, 6, 1, 8 };
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(20);

	for (uint32_t i = 0; i < ARRAY_SIZE(uses); i++) {
		struct walk_file *file = add(files, i);

		file->entry.used_window = uses[i].used;
		file->state = uses[i].state;
	}
	walk_files_begin_window(files, 21);
	assert_false(walk_files_is_ranked(files));
	assert_null(walk_files_next_stale(files, true));
	walk_files_rank(files);
	assert_true(walk_files_is_ranked(files));
	for (size_t i = 0; i < ARRAY_SIZE(loaded); i++)
		assert_int_equal(walk_files_next_stale(files, true)->binary, loaded[i]);
	assert_null(walk_files_next_stale(files, true));
	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		assert_int_equal(walk_files_next_stale(files, false)->binary, others[i]);
	assert_null(walk_files_next_stale(files, false));
	walk_files_begin_window(files, 22);
	assert_false(walk_files_is_ranked(files));
	assert_null(walk_files_next_stale(files, false));
}

static void changes_since_the_ranking_are_skipped(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(3);

	walk_files_begin_window(files, 1);
	for (uint32_t i = 0; i < 3; i++)
		(void)add(files, i);
	walk_files_begin_window(files, 10);
	walk_files_rank(files);
	walk_files_use(find(files, 0), 10);
	forget(files, 1);
	(void)add(files, 5);
	assert_int_equal(walk_files_next_stale(files, false)->binary, 2);
	assert_null(walk_files_next_stale(files, false));
}

static void positions_skip_files_that_are_gone(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(10);
	uint32_t seen = 0;

	for (uint32_t i = 0; i < 5; i++)
		(void)add(files, i);
	forget(files, 1);
	walk_files_begin_window(files, 1);
	forget(files, 3);
	walk_files_begin_window(files, 3); /* of the two, one is known no more */
	for (size_t i = 0; i < walk_files_positions(files); i++) {
		const struct walk_file *file = walk_files_at(files, i);

		seen |= file ? 1U << file->binary : 0;
	}
	assert_int_equal(seen, 1 << 0 | 1 << 2 | 1 << 4);
}

static void limit_is_within_ids(void **state)
{
	_cleanup_(walk_files_freep) struct walk_files *files = make_files(SIZE_MAX);
	_cleanup_(walk_files_freep) struct walk_files *none = make_files(0);
	struct pilotlight_file_key key = key_of(1);
	struct walk_file *file = NULL;

	(void)add(files, 1);
	assert_int_equal(walk_files_add(none, &key, 1, &file), -ENOSPC);
	assert_true(walk_files_is_full(none));
	walk_files_rank(none);
	assert_null(walk_files_next_stale(none, true));
}

static void failing_allocations_are_reported(void **state)
{
	size_t n, failures = 0;

	for (n = 0;; n++) {
		_cleanup_(walk_files_freep) struct walk_files *files = NULL;
		int r;

		fail_allocation(n);
		r = walk_files_new(100, 0, &files);
		/* One more than there is room for at first. */
		for (uint32_t i = 0; i < 17 && r == 0; i++) {
			struct pilotlight_file_key key = key_of(i);
			struct walk_file *file;

			r = walk_files_add(files, &key, i, &file);
			if (r == 0)
				continue;
			assert_int_equal(walk_files_count(files), i);
			assert_null(walk_files_find_key(files, &key));
			assert_int_equal(walk_files_add(files, &key, i, &file), 0);
			assert_int_equal(file->entry.id, i);
		}
		if (!allocation_failed())
			break;
		failures++;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(failures, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_found_by_key_and_by_id),
		cmocka_unit_test(keys_differ_in_any_field),
		cmocka_unit_test(full_table_refuses),
		cmocka_unit_test(ids_of_gone_files_are_bounded),
		cmocka_unit_test(ids_outlive_their_files_by_two_windows),
		cmocka_unit_test(file_that_comes_back_has_another_id),
		cmocka_unit_test(ids_wrap_and_skip_known_ones),
		cmocka_unit_test(ids_are_reused_in_time),
		cmocka_unit_test(uses_make_a_file_recent),
		cmocka_unit_test(stale_files_come_oldest_first),
		cmocka_unit_test(changes_since_the_ranking_are_skipped),
		cmocka_unit_test(positions_skip_files_that_are_gone),
		cmocka_unit_test(limit_is_within_ids),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
