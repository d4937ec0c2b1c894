/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Eviction of tables and files. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unwind/unwinder_fixture.h"

static void oldest_table_is_evicted(void **state)
{
	uint32_t oldest, older, recent, new;
	struct sampler sampler;
	struct sampler_entry before;

	init(&sampler, 10);
	older = load(&sampler, 1, 9);
	recent = load(&sampler, 3, 9);
	oldest = load(&sampler, 2, 9);
	use(&sampler, 1, 3);
	use(&sampler, 2, 2);
	use(&sampler, 3, 5);
	unwinder_begin_window(sampler.unwinder, 6);
	new = request(&sampler, 4);
	before = (struct sampler_entry){ .key = key_of(2), .file = *entry_of(&sampler, 2) };
	assert_int_equal(set_table(&sampler, new, 4, 14), -ENOSPC);
	assert_int_equal(state_of(&sampler, oldest), WALK_FILE_EVICTED);
	assert_int_equal(entry_of(&sampler, 2)->flags, 0);
	assert_int_equal(entry_of(&sampler, 2)->used_window, 2);
	assert_int_equal(state_of(&sampler, older), WALK_FILE_LOADED);
	assert_int_equal(state_of(&sampler, recent), WALK_FILE_LOADED);
	assert_int_equal(state_of(&sampler, new), WALK_FILE_EVICTED);
	/* Not yet: a program may be reading. */
	assert_no_reload(&sampler);
	assert_true(reads_right(&sampler, &before));
	unwinder_begin_window(sampler.unwinder, 7);
	assert_reload(&sampler, new);
	assert_int_equal(state_of(&sampler, new), WALK_FILE_PENDING);
	assert_no_reload(&sampler);
	assert_int_equal(set_table(&sampler, new, 4, 14), 0);
	assert_int_equal(entry_of(&sampler, 4)->flags, PILOTLIGHT_FILE_HAS_TABLE);
	assert_int_equal(report_of(&sampler).evictions, 1);
	assert_int_equal(report_of(&sampler).evicted, 1);
	assert_int_equal(report_of(&sampler).loaded, 3);
	assert_int_equal(report_of(&sampler).tables_refused, 1);
	done(&sampler);
}

/* Three tables in use and room for two: two stay, and nothing moves. */
static void working_set_beyond_the_room_does_not_thrash(void **state)
{
	struct sampler sampler;
	uint32_t ids[3];

	init(&sampler, 10);
	ids[0] = load(&sampler, 0, 15);
	ids[1] = load(&sampler, 1, 15);
	ids[2] = request(&sampler, 2);
	assert_int_equal(set_table(&sampler, ids[2], 2, 15), -ENOSPC);
	for (uint32_t window = 2; window < 50; window++) {
		unwinder_begin_window(sampler.unwinder, window);
		assert_no_reload(&sampler);
		for (uint32_t i = 0; i < 3; i++)
			use(&sampler, i, window);
	}
	assert_int_equal(state_of(&sampler, ids[0]), WALK_FILE_LOADED);
	assert_int_equal(state_of(&sampler, ids[1]), WALK_FILE_LOADED);
	assert_int_equal(state_of(&sampler, ids[2]), WALK_FILE_EVICTED);
	assert_int_equal(report_of(&sampler).evictions, 0);
	assert_int_equal(sampler.puts, 6);
	/* Used in every other window: in use. Unused for longer: idle. */
	for (uint32_t window = 50; window < 60; window++) {
		unwinder_begin_window(sampler.unwinder, window);
		assert_no_reload(&sampler);
		use(&sampler, 1, window);
		use(&sampler, 2, window);
		if (window % 2 == 0)
			use(&sampler, 0, window);
	}
	assert_int_equal(report_of(&sampler).evictions, 0);
	for (uint32_t window = 60; window < 62; window++) {
		unwinder_begin_window(sampler.unwinder, window);
		assert_no_reload(&sampler);
		use(&sampler, 1, window);
		use(&sampler, 2, window);
	}
	assert_int_equal(report_of(&sampler).evictions, 1);
	unwinder_begin_window(sampler.unwinder, 62);
	assert_reload(&sampler, ids[2]);
	assert_int_equal(set_table(&sampler, ids[2], 2, 15), 0);
	assert_int_equal(state_of(&sampler, ids[0]), WALK_FILE_EVICTED);
	done(&sampler);
}

/* If evicting all idle tables would not be enough, none is evicted. */
static void no_table_is_evicted_in_vain(void **state)
{
	struct sampler sampler;
	uint32_t stale, new;

	init(&sampler, 10);
	stale = load(&sampler, 1, 9);
	(void)load(&sampler, 2, 19);
	use(&sampler, 2, 8);
	unwinder_begin_window(sampler.unwinder, 9);
	new = request(&sampler, 3);
	assert_int_equal(set_table(&sampler, new, 3, 24), -ENOSPC);
	for (uint32_t window = 9; window < 12; window++) {
		unwinder_begin_window(sampler.unwinder, window);
		use(&sampler, 2, window);
		use(&sampler, 3, window);
		assert_no_reload(&sampler);
	}
	assert_int_equal(state_of(&sampler, stale), WALK_FILE_LOADED);
	assert_int_equal(report_of(&sampler).evictions, 0);
	assert_int_equal(set_table(&sampler, new, 3, 12), -ENOSPC);
	assert_int_equal(state_of(&sampler, stale), WALK_FILE_EVICTED);
	done(&sampler);
}

/* One table in use and two idle ones, the older of which has been evicted in this window. Returns
 * the id of the other idle one, of file 2. */
static uint32_t evict_one_of_two(struct sampler *sampler)
{
	uint32_t second, first;

	init(sampler, 10);
	(void)load(sampler, 1, 19);
	second = load(sampler, 2, 4);
	use(sampler, 2, 2);
	first = load(sampler, 3, 4);
	use(sampler, 1, 8);
	unwinder_begin_window(sampler->unwinder, 9);
	assert_int_equal(set_table(sampler, request(sampler, 4), 4, 10), -ENOSPC);
	assert_int_equal(state_of(sampler, first), WALK_FILE_EVICTED);
	return second;
}

/* Room of a table that was evicted in this window is not counted twice. */
static void room_is_counted_once(void **state)
{
	struct sampler sampler;
	uint32_t second;

	second = evict_one_of_two(&sampler);
	assert_int_equal(set_table(&sampler, request(&sampler, 5), 5, 23), -ENOSPC);
	assert_int_equal(state_of(&sampler, second), WALK_FILE_LOADED);
	done(&sampler);
}

static void use_since_the_ranking_counts(void **state)
{
	struct sampler sampler;
	uint32_t second;

	second = evict_one_of_two(&sampler);
	use(&sampler, 2, 9);
	assert_int_equal(set_table(&sampler, request(&sampler, 5), 5, 18), -ENOSPC);
	assert_int_equal(state_of(&sampler, second), WALK_FILE_LOADED);
	done(&sampler);
}

static void evicted_table_comes_back_when_it_is_used(void **state)
{
	struct sampler sampler;
	uint32_t first, second;

	init(&sampler, 10);
	first = load(&sampler, 1, 19);
	(void)load(&sampler, 2, 19);
	use(&sampler, 2, 5);
	unwinder_begin_window(sampler.unwinder, 5);
	second = request(&sampler, 3);
	assert_int_equal(set_table(&sampler, second, 3, 19), -ENOSPC);
	assert_int_equal(state_of(&sampler, first), WALK_FILE_EVICTED);
	unwinder_begin_window(sampler.unwinder, 6);
	assert_reload(&sampler, second);
	assert_int_equal(unwinder_set_nothing(sampler.unwinder, second), 0);
	/* There is room, but the file is not used. */
	assert_no_reload(&sampler);
	unwinder_begin_window(sampler.unwinder, 7);
	assert_no_reload(&sampler);
	use(&sampler, 1, 7);
	unwinder_begin_window(sampler.unwinder, 8);
	assert_reload(&sampler, first);
	assert_int_equal(set_table(&sampler, first, 1, 19), 0);
	assert_int_equal(state_of(&sampler, first), WALK_FILE_LOADED);
	done(&sampler);
}

static void evicted_file_is_walked_by_frame_pointers(void **state)
{
	struct sampler sampler;
	uint32_t id;

	init(&sampler, 10);
	(void)load(&sampler, 1, 30);
	id = request(&sampler, 2);
	unwind_table_fixture_make(&fixture, 20, 2);
	fixture.summary.flags = PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS;
	assert_int_equal(set_built(&sampler, id), -ENOSPC);
	assert_int_equal(state_of(&sampler, id), WALK_FILE_EVICTED);
	assert_int_equal(entry_of(&sampler, 2)->flags, PILOTLIGHT_FILE_BY_FRAME_POINTER);
	done(&sampler);
}

/* --- files --- */

static void unused_file_makes_room_for_a_new_one(void **state)
{
	struct pilotlight_file_key key = key_of(9);
	uint32_t loaded, unused, used, new;
	struct sampler sampler;
	bool is_new;

	init(&sampler, 3);
	loaded = load(&sampler, 1, 5);
	unused = request(&sampler, 2);
	used = request(&sampler, 3);
	assert_int_equal(unwinder_request(sampler.unwinder, &key, 9, &new, &is_new), -ENOSPC);
	assert_int_equal(report_of(&sampler).files_refused, 1);
	unwinder_begin_window(sampler.unwinder, 5);
	use(&sampler, 3, 5);
	new = request(&sampler, 9);
	assert_null(entry_of(&sampler, 2));
	assert_int_equal(sampler.drops, 1);
	assert_int_equal(state_of(&sampler, unused), WALK_FILE_GONE);
	assert_int_equal(unwinder_binary(sampler.unwinder, unused), 2);
	assert_int_equal(unwinder_set_nothing(sampler.unwinder, unused), -ENOENT);
	assert_int_equal(set_table(&sampler, unused, 2, 4), -ENOENT);
	assert_int_equal(state_of(&sampler, loaded), WALK_FILE_LOADED);
	assert_int_equal(state_of(&sampler, used), WALK_FILE_PENDING);
	assert_int_not_equal(new, unused);
	/* Then a loaded one makes room. */
	(void)request(&sampler, 10);
	assert_int_equal(state_of(&sampler, loaded), WALK_FILE_GONE);
	assert_null(entry_of(&sampler, 1));
	assert_int_equal(report_of(&sampler).pending_bytes, 6 * 4 + 64 + 5 * 16);
	assert_int_equal(report_of(&sampler).files, 3);
	assert_int_equal(report_of(&sampler).files_forgotten, 2);
	key = key_of(11);
	assert_int_equal(unwinder_request(sampler.unwinder, &key, 9, &new, &is_new), -ENOSPC);
	unwinder_begin_window(sampler.unwinder, 8);
	assert_int_equal(unwinder_binary(sampler.unwinder, unused), WALK_FILES_UNKNOWN_BINARY);
	done(&sampler);
}

static bool is_not_wanted(const void *context, uint32_t binary)
{
	return binary < 10;
}

static void note_spared(void *context, uint32_t binary)
{
	bool *spared = context;

	spared[binary] = true;
}

/* The caller gives their numbers to other binaries. */
static void files_of_doomed_binaries_are_forgotten_unless_used(void **state)
{
	bool spared[16] = { false };
	const struct unwinder_collection collection = {
		.context = spared, .is_doomed = is_not_wanted, .spare = note_spared
	};
	uint32_t loaded, used, pending, gone, other, stuck;
	struct sampler sampler;

	init(&sampler, 5);
	gone = request(&sampler, 1);
	loaded = load(&sampler, 2, 5);
	used = load(&sampler, 3, 5);
	pending = request(&sampler, 4);
	other = load(&sampler, 12, 5);
	unwinder_begin_window(sampler.unwinder, 9);
	use(&sampler, 2, 8);
	use(&sampler, 3, 8);
	use(&sampler, 4, 8);
	use(&sampler, 12, 8);
	(void)request(&sampler, 13);
	assert_int_equal(state_of(&sampler, gone), WALK_FILE_GONE);
	unwinder_begin_window(sampler.unwinder, 11);
	use(&sampler, 3, 10);
	unwinder_collect(sampler.unwinder, &collection);
	assert_true(spared[1]);
	assert_true(spared[3]);
	assert_false(spared[2] || spared[4] || spared[12]);
	assert_int_equal(unwinder_binary(sampler.unwinder, gone), 1);
	assert_int_equal(unwinder_binary(sampler.unwinder, loaded), WALK_FILES_UNKNOWN_BINARY);
	assert_int_equal(unwinder_binary(sampler.unwinder, pending), WALK_FILES_UNKNOWN_BINARY);
	assert_int_equal(unwinder_binary(sampler.unwinder, used), 3);
	assert_int_equal(unwinder_binary(sampler.unwinder, other), 12);
	assert_null(entry_of(&sampler, 2));
	assert_non_null(entry_of(&sampler, 3));
	/* The sampler may still refer to one whose entry does not go. */
	unwinder_begin_window(sampler.unwinder, 20);
	stuck = used;
	spared[3] = false;
	sampler.drop_error = -EIO;
	unwinder_collect(sampler.unwinder, &collection);
	assert_true(spared[3]);
	assert_int_equal(unwinder_binary(sampler.unwinder, stuck), 3);
	done(&sampler);
}

/* --- random use --- */

static uint32_t draw(uint64_t *random, uint32_t below)
{
	*random = *random * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(*random >> 33) % below;
}

/* The sampler must read right through every entry that a program of this window may have seen. */
static void hold(
	const struct sampler *sampler, struct sampler_entry *held, size_t *count, size_t max)
{
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		const struct sampler_entry *entry = &sampler->entries[i];

		if (!entry->has_entry)
			continue;
		assert_true((entry->file.flags == PILOTLIGHT_FILE_HAS_TABLE) ==
			    (entry->file.page_count > 0));
		if (entry->file.flags == PILOTLIGHT_FILE_HAS_TABLE && *count < max)
			held[(*count)++] = *entry;
	}
	for (size_t i = 0; i < *count; i++)
		assert_true(reads_right(sampler, &held[i]));
}

static void random_use_is_always_read_right(void **state)
{
	enum { FILES = 40, WINDOWS = 400, STEPS = 8, HELD_MAX = ENTRIES_MAX * (STEPS + 1) };
	static struct sampler_entry held[HELD_MAX];
	struct unwinder_report report;
	struct sampler sampler;
	uint64_t random = 1;

	init(&sampler, 16);
	for (uint32_t window = 2; window < WINDOWS; window++) {
		size_t count = 0;
		uint32_t id;

		unwinder_begin_window(sampler.unwinder, window);
		while (unwinder_next_reload(sampler.unwinder, &id))
			(void)set_table(&sampler, id, unwinder_binary(sampler.unwinder, id),
				1 + unwinder_binary(sampler.unwinder, id) % 15);
		for (int step = 0; step < STEPS; step++) {
			/* Files around a moving number are used most. */
			uint32_t number = (window / 10 + draw(&random, 10)) % FILES;
			struct pilotlight_file_key key = key_of(number);
			bool is_new;

			if (find_entry(&sampler, &key)) {
				use(&sampler, number, window);
			} else if (unwinder_request(sampler.unwinder, &key, number, &id, &is_new) ==
				   0) {
				assert_true(is_new);
				(void)set_table(&sampler, id, number, 1 + number % 15);
			}
			hold(&sampler, held, &count, HELD_MAX);
		}
	}
	report = report_of(&sampler);
	assert_true(report.evictions > 10);
	assert_true(report.files_forgotten > 10);
	assert_true(report.loaded > 0);
	assert_int_equal(report.map_errors, 0);
	assert_int_equal(report.files, report.pending + report.loaded + report.evicted +
					       report.nothing + report.by_frame_pointer +
					       report.retry + report.unidentified);
	done(&sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_table_is_evicted),
		cmocka_unit_test(working_set_beyond_the_room_does_not_thrash),
		cmocka_unit_test(no_table_is_evicted_in_vain),
		cmocka_unit_test(room_is_counted_once),
		cmocka_unit_test(use_since_the_ranking_counts),
		cmocka_unit_test(evicted_table_comes_back_when_it_is_used),
		cmocka_unit_test(evicted_file_is_walked_by_frame_pointers),
		cmocka_unit_test(unused_file_makes_room_for_a_new_one),
		cmocka_unit_test(files_of_doomed_binaries_are_forgotten_unless_used),
		cmocka_unit_test(random_use_is_always_read_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
