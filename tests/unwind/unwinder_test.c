/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unwind/unwinder_fixture.h"

static void new_file_gets_an_entry_at_once(void **state)
{
	struct pilotlight_file_key key = key_of(7);
	struct sampler sampler;
	uint32_t first, second;
	bool is_new = false;

	init(&sampler, 10);
	assert_int_equal(unwinder_request(sampler.unwinder, &key, WALK_FILES_UNKNOWN_BINARY, &first,
				 &is_new),
		0);
	assert_true(is_new);
	assert_int_equal(unwinder_binary(sampler.unwinder, first), WALK_FILES_UNKNOWN_BINARY);
	assert_non_null(entry_of(&sampler, 7));
	assert_int_equal(entry_of(&sampler, 7)->id, first);
	assert_int_equal(entry_of(&sampler, 7)->flags, 0);
	assert_int_equal(entry_of(&sampler, 7)->used_window, 1);
	assert_int_equal(unwinder_request(sampler.unwinder, &key, 5, &second, &is_new), 0);
	assert_false(is_new);
	assert_int_equal(first, second);
	assert_int_equal(unwinder_binary(sampler.unwinder, first), 5);
	assert_int_equal(unwinder_request(sampler.unwinder, &key, WALK_FILES_UNKNOWN_BINARY,
				 &second, &is_new),
		0);
	assert_int_equal(unwinder_binary(sampler.unwinder, first), 5);
	assert_int_equal(unwinder_binary(sampler.unwinder, first + 1), WALK_FILES_UNKNOWN_BINARY);
	assert_int_equal(sampler.puts, 1);
	done(&sampler);
}

static void table_is_loaded_and_entered(void **state)
{
	struct sampler sampler;
	struct unwinder_report report;
	uint32_t id;

	init(&sampler, 10);
	id = load(&sampler, 3, 9);
	assert_int_equal(entry_of(&sampler, 3)->flags, PILOTLIGHT_FILE_HAS_TABLE);
	assert_int_equal(entry_of(&sampler, 3)->id, id);
	report = report_of(&sampler);
	assert_int_equal(report.files, 1);
	assert_int_equal(report.loaded, 1);
	assert_int_equal(report.used_bytes, 10 * 4 + 64 + 5 * 16);
	assert_int_equal(report.limit_bytes, PAGES * 4 + LINES * 64 + RULES * 16 + ESCAPES * 8);
	assert_false(unwinder_file(sampler.unwinder, id)->keeps_frame_pointers);
	done(&sampler);
}

static void file_without_rows_is_walked_by_frame_pointers(void **state)
{
	struct sampler sampler;
	uint32_t id;

	init(&sampler, 10);
	id = request(&sampler, 1);
	unwind_table_fixture_make(&fixture, 0, 1);
	fixture.summary.flags = PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS;
	assert_int_equal(set_built(&sampler, id), 0);
	assert_int_equal(entry_of(&sampler, 1)->flags, PILOTLIGHT_FILE_BY_FRAME_POINTER);
	assert_int_equal(state_of(&sampler, id), WALK_FILE_BY_FRAME_POINTER);
	assert_int_equal(report_of(&sampler).by_frame_pointer, 1);
	/* With rows, the table is used. */
	id = request(&sampler, 2);
	unwind_table_fixture_make(&fixture, 4, 2);
	fixture.summary.flags = PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS;
	assert_int_equal(set_built(&sampler, id), 0);
	assert_int_equal(entry_of(&sampler, 2)->flags, PILOTLIGHT_FILE_HAS_TABLE);
	assert_true(unwinder_file(sampler.unwinder, id)->keeps_frame_pointers);
	done(&sampler);
}

static void files_without_a_table_have_nothing(void **state)
{
	struct sampler sampler;
	uint32_t none, empty, other, damaged, without;

	init(&sampler, 10);
	none = request(&sampler, 1);
	assert_int_equal(unwinder_set_nothing(sampler.unwinder, none), 0);
	empty = request(&sampler, 2);
	assert_int_equal(set_table(&sampler, empty, 2, 0), -ENODATA);
	other = request(&sampler, 3);
	unwind_table_fixture_make(&fixture, 4, 3);
	fixture.summary.machine = EM_AARCH64;
	assert_int_equal(set_built(&sampler, other), -ENODATA);
	damaged = request(&sampler, 4);
	unwind_table_fixture_make(&fixture, 4, 4);
	fixture.pages[0] = 9;
	assert_int_equal(set_built(&sampler, damaged), -EBADMSG);
	without = request(&sampler, 5);
	unwind_table_fixture_make(&fixture, 4, 5);
	fixture.summary_count = 0;
	assert_int_equal(set_built(&sampler, without), -ENODATA);
	for (uint32_t i = 1; i <= 5; i++)
		assert_int_equal(entry_of(&sampler, i)->flags, PILOTLIGHT_FILE_HAS_NOTHING);
	assert_int_equal(report_of(&sampler).nothing, 5);
	assert_int_equal(report_of(&sampler).damaged, 1);
	assert_int_equal(report_of(&sampler).used_bytes, 0);
	/* A table may still come. */
	assert_int_equal(set_table(&sampler, none, 1, 4), 0);
	assert_int_equal(entry_of(&sampler, 1)->flags, PILOTLIGHT_FILE_HAS_TABLE);
	assert_int_equal(set_table(&sampler, 12345, 1, 4), -ENOENT);
	assert_int_equal(unwinder_set_nothing(sampler.unwinder, 12345), -ENOENT);
	done(&sampler);
}

static void too_big_table_is_refused(void **state)
{
	struct sampler sampler;
	uint32_t small, big;

	init(&sampler, 10);
	small = load(&sampler, 1, 5);
	unwinder_begin_window(sampler.unwinder, 9);
	big = request(&sampler, 2);
	assert_int_equal(set_table(&sampler, big, 2, PAGES), -EFBIG);
	assert_int_equal(entry_of(&sampler, 2)->flags, PILOTLIGHT_FILE_HAS_NOTHING);
	assert_int_equal(state_of(&sampler, small), WALK_FILE_LOADED); /* though unused */
	assert_int_equal(report_of(&sampler).tables_refused, 1);
	assert_no_reload(&sampler);
	big = request(&sampler, 3);
	unwind_table_fixture_make(&fixture, PAGES, 3);
	fixture.summary.flags = PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS;
	assert_int_equal(set_built(&sampler, big), -EFBIG);
	assert_int_equal(entry_of(&sampler, 3)->flags, PILOTLIGHT_FILE_BY_FRAME_POINTER);
	done(&sampler);
}

/* --- replacing a table --- */

static void better_table_replaces_the_first(void **state)
{
	struct sampler sampler;
	struct sampler_entry before;
	uint32_t id;

	init(&sampler, 10);
	id = load(&sampler, 1, 5);
	before = (struct sampler_entry){ .key = key_of(1), .file = *entry_of(&sampler, 1) };
	assert_int_equal(set_table(&sampler, id, 1, 9), 0);
	assert_int_equal(entry_of(&sampler, 1)->page_count, 9);
	assert_true(reads_right(&sampler, &before)); /* a program may still have it */
	assert_int_equal(report_of(&sampler).used_bytes, 10 * 4 + 64 + 5 * 16);
	assert_int_equal(report_of(&sampler).pending_bytes, 6 * 4 + 64 + 5 * 16);
	unwinder_begin_window(sampler.unwinder, 2);
	assert_int_equal(report_of(&sampler).pending_bytes, 0);
	done(&sampler);
}

static void loaded_table_survives_failed_replacements(void **state)
{
	struct sampler sampler;
	uint32_t id;

	init(&sampler, 10);
	id = load(&sampler, 1, 30);
	assert_int_equal(set_table(&sampler, id, 1, 31), -ENOSPC);
	assert_int_equal(set_table(&sampler, id, 1, PAGES), -EFBIG);
	unwind_table_fixture_make(&fixture, 4, 1);
	fixture.lines[0].deltas[0] = 1;
	assert_int_equal(set_built(&sampler, id), -EBADMSG);
	assert_int_equal(unwinder_set_nothing(sampler.unwinder, id), 0);
	assert_int_equal(state_of(&sampler, id), WALK_FILE_LOADED);
	assert_int_equal(entry_of(&sampler, 1)->flags, PILOTLIGHT_FILE_HAS_TABLE);
	assert_int_equal(entry_of(&sampler, 1)->page_count, 30);
	assert_int_equal(sampler.puts, 2);
	done(&sampler);
}

/* --- maps that fail --- */

static void file_without_an_entry_is_not_known(void **state)
{
	struct pilotlight_file_key key = key_of(1);
	struct sampler sampler;
	bool is_new = false;
	uint32_t id = 77;

	init(&sampler, 10);
	sampler.put_error = -E2BIG;
	assert_int_equal(unwinder_request(sampler.unwinder, &key, 1, &id, &is_new), -E2BIG);
	assert_int_equal(id, 77);
	assert_int_equal(report_of(&sampler).files, 0);
	assert_int_equal(report_of(&sampler).map_errors, 1);
	sampler.put_error = 0;
	assert_int_equal(unwinder_request(sampler.unwinder, &key, 1, &id, &is_new), 0);
	assert_true(is_new);
	done(&sampler);
}

static void failed_entry_releases_the_table(void **state)
{
	struct sampler sampler;
	uint32_t id;

	init(&sampler, 10);
	id = request(&sampler, 1);
	sampler.put_error = -EBUSY;
	assert_int_equal(set_table(&sampler, id, 1, 30), -EBUSY);
	assert_int_equal(unwinder_set_nothing(sampler.unwinder, id), -EBUSY);
	assert_int_equal(state_of(&sampler, id), WALK_FILE_PENDING);
	assert_int_equal(report_of(&sampler).used_bytes, 0);
	sampler.put_error = 0;
	unwinder_begin_window(sampler.unwinder, 2);
	assert_int_equal(set_table(&sampler, id, 1, 30), 0);
	done(&sampler);
}

static void failed_removal_keeps_the_table(void **state)
{
	uint32_t stale, new, next;
	struct sampler sampler;
	struct pilotlight_file_key key = key_of(4);
	bool is_new;

	init(&sampler, 2);
	stale = load(&sampler, 1, 30);
	unwinder_begin_window(sampler.unwinder, 5);
	new = request(&sampler, 2);
	sampler.put_error = -EBUSY;
	assert_int_equal(set_table(&sampler, new, 2, 30), -EBUSY);
	assert_int_equal(state_of(&sampler, stale), WALK_FILE_LOADED);
	assert_int_equal(entry_of(&sampler, 1)->flags, PILOTLIGHT_FILE_HAS_TABLE);
	sampler.put_error = 0;
	sampler.drop_error = -EBUSY;
	unwinder_begin_window(sampler.unwinder, 8);
	assert_int_equal(unwinder_request(sampler.unwinder, &key, 4, &next, &is_new), -ENOSPC);
	assert_int_equal(report_of(&sampler).files, 2);
	assert_non_null(entry_of(&sampler, 1));
	assert_non_null(entry_of(&sampler, 2));
	sampler.drop_error = 0;
	unwinder_begin_window(sampler.unwinder, 9);
	assert_int_equal(unwinder_request(sampler.unwinder, &key, 4, &next, &is_new), 0);
	done(&sampler);
}

static void unreadable_use_counts_as_none(void **state)
{
	struct sampler sampler;
	uint32_t stale, new;

	init(&sampler, 10);
	stale = load(&sampler, 1, 30);
	unwinder_begin_window(sampler.unwinder, 5);
	use(&sampler, 1, 5);
	sampler.ask_error = -EIO;
	new = request(&sampler, 2);
	assert_int_equal(set_table(&sampler, new, 2, 30), -ENOSPC);
	assert_int_equal(state_of(&sampler, stale), WALK_FILE_EVICTED);
	assert_true(report_of(&sampler).map_errors > 0);
	done(&sampler);
}

/* A use that the sampler notes while a table is made survives the new entry. */
static void use_survives_a_change_of_state(void **state)
{
	struct sampler sampler;
	uint32_t id;

	init(&sampler, 10);
	id = request(&sampler, 1);
	use(&sampler, 1, 4);
	assert_int_equal(set_table(&sampler, id, 1, 5), 0);
	assert_int_equal(entry_of(&sampler, 1)->used_window, 4);
	done(&sampler);
}

static void failing_allocations_are_reported(void **state)
{
	static struct sampler sampler;
	size_t n, failures = 0;

	for (n = 0;; n++) {
		struct unwinder_settings settings = {
			.maps = &sampler.maps,
			.files_max = 100,
			.machine = EM_X86_64,
		};
		_cleanup_(unwinder_freep) struct unwinder *unwinder = NULL;
		_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
		struct pilotlight_file_key key = key_of(1);
		bool is_new;
		uint32_t id = 77;
		int r;

		reset(&sampler);
		unwind_table_fixture_make(&fixture, 4, 1);
		file = unwind_table_fixture_open(&fixture);
		assert_non_null(file);
		fail_allocation(n);
		r = unwinder_new(&settings, &unwinder);
		if (r == 0) {
			r = unwinder_request(unwinder, &key, 1, &id, &is_new);
			if (r < 0)
				assert_int_equal(sampler.puts, 0);
		}
		if (r == 0) {
			r = unwinder_set_table(unwinder, id, file);
			if (r < 0) {
				assert_int_equal(
					unwinder_file(unwinder, id)->state, WALK_FILE_PENDING);
				assert_int_equal(unwinder_set_table(unwinder, id, file), 0);
			}
		}
		if (!allocation_failed())
			break;
		failures++;
		assert_int_equal(r, -ENOMEM);
	}
	assert_true(failures >= 10);
	unwinder_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_file_gets_an_entry_at_once),
		cmocka_unit_test(table_is_loaded_and_entered),
		cmocka_unit_test(file_without_rows_is_walked_by_frame_pointers),
		cmocka_unit_test(files_without_a_table_have_nothing),
		cmocka_unit_test(too_big_table_is_refused),
		cmocka_unit_test(better_table_replaces_the_first),
		cmocka_unit_test(loaded_table_survives_failed_replacements),
		cmocka_unit_test(file_without_an_entry_is_not_known),
		cmocka_unit_test(failed_entry_releases_the_table),
		cmocka_unit_test(failed_removal_keeps_the_table),
		cmocka_unit_test(unreadable_use_counts_as_none),
		cmocka_unit_test(use_survives_a_change_of_state),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
