/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Retries: tables that could not be made, and files that could not be identified. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/symbol/runtime_example.h"
#include "tests/unwind/unwinder_fixture.h"

enum { UNIDENTIFIED_FLAGS = PILOTLIGHT_FILE_HAS_NOTHING | PILOTLIGHT_FILE_BY_ADDRESS };

/* --- tables that could not be made --- */

/* The next window in which the file is offered for reloading. It is used in each. */
static uint32_t next_offer(struct sampler *sampler, uint32_t number, uint32_t id, uint32_t window)
{
	uint32_t offered;

	for (uint32_t end = window + 1000; window < end;) {
		use(sampler, number, window);
		unwinder_begin_window(sampler->unwinder, ++window);
		if (unwinder_next_reload(sampler->unwinder, &offered)) {
			assert_int_equal(offered, id);
			assert_no_reload(sampler);
			return window;
		}
	}
	fail_msg("the file is not offered again");
	return 0;
}

static void failed_table_is_retried_with_backoff(void **state)
{
	const uint32_t waits[] = { 2, 4, 8, 16, 32, 64, 64, 64 };
	struct sampler sampler;
	uint32_t id, window = 1;

	init(&sampler, 10);
	id = request(&sampler, 1);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		assert_int_equal(unwinder_retry_later(sampler.unwinder, id), 0);
		assert_int_equal(state_of(&sampler, id), WALK_FILE_RETRY);
		assert_int_equal(report_of(&sampler).retry, 1);
		assert_int_equal(next_offer(&sampler, 1, id, window), window + waits[i]);
		assert_int_equal(state_of(&sampler, id), WALK_FILE_PENDING);
		window += waits[i];
	}
	assert_int_equal(sampler.puts, 1); /* the sampler's entry was never touched */
	assert_int_equal(set_table(&sampler, id, 1, 4), 0);
	assert_int_equal(entry_of(&sampler, 1)->flags, PILOTLIGHT_FILE_HAS_TABLE);
	done(&sampler);
}

static void success_resets_the_backoff(void **state)
{
	struct sampler sampler;
	uint32_t first, second;

	init(&sampler, 10);
	(void)load(&sampler, 1, 30);
	first = request(&sampler, 2);
	assert_int_equal(unwinder_retry_later(sampler.unwinder, first), 0);
	assert_int_equal(next_offer(&sampler, 2, first, 1), 3);
	assert_int_equal(unwinder_retry_later(sampler.unwinder, first), 0);
	assert_int_equal(next_offer(&sampler, 2, first, 3), 7);
	/* There is a table but no room: it waits for room only. */
	use(&sampler, 1, 7);
	assert_int_equal(set_table(&sampler, first, 2, 20), -ENOSPC);
	assert_int_equal(state_of(&sampler, first), WALK_FILE_EVICTED);
	second = request(&sampler, 3);
	assert_int_equal(set_table(&sampler, second, 3, 5), 0);
	use(&sampler, 2, 11);
	unwinder_begin_window(sampler.unwinder, 11);
	assert_no_reload(&sampler);
	unwinder_begin_window(sampler.unwinder, 12);
	assert_reload(&sampler, first);
	assert_int_equal(unwinder_retry_later(sampler.unwinder, first), 0);
	assert_int_equal(next_offer(&sampler, 2, first, 12), 14);
	done(&sampler);
}

static void unused_file_is_not_retried(void **state)
{
	struct sampler sampler;
	uint32_t id;

	init(&sampler, 10);
	id = request(&sampler, 1);
	assert_int_equal(unwinder_retry_later(sampler.unwinder, id), 0);
	for (uint32_t window = 4; window < 20; window++) {
		unwinder_begin_window(sampler.unwinder, window);
		assert_no_reload(&sampler);
	}
	use(&sampler, 1, 20);
	unwinder_begin_window(sampler.unwinder, 20);
	assert_reload(&sampler, id);
	done(&sampler);
}

static void files_with_a_result_keep_their_state(void **state)
{
	struct sampler sampler;
	uint32_t loaded, nothing;

	init(&sampler, 10);
	loaded = load(&sampler, 1, 4);
	assert_int_equal(unwinder_retry_later(sampler.unwinder, loaded), 0);
	assert_int_equal(state_of(&sampler, loaded), WALK_FILE_LOADED);
	nothing = request(&sampler, 2);
	assert_int_equal(unwinder_set_nothing(sampler.unwinder, nothing), 0);
	assert_int_equal(unwinder_retry_later(sampler.unwinder, nothing), 0);
	assert_int_equal(state_of(&sampler, nothing), WALK_FILE_NOTHING);
	assert_int_equal(unwinder_retry_later(sampler.unwinder, 12345), -ENOENT);
	done(&sampler);
}

/* After a failed map update the file is still pending. */
static void failed_map_update_is_retried(void **state)
{
	struct sampler sampler;
	uint32_t id;

	init(&sampler, 10);
	id = request(&sampler, 1);
	sampler.put_error = -ENOMEM;
	assert_int_equal(set_table(&sampler, id, 1, 4), -ENOMEM);
	assert_int_equal(unwinder_retry_later(sampler.unwinder, id), 0);
	assert_int_equal(state_of(&sampler, id), WALK_FILE_RETRY);
	sampler.put_error = 0;
	assert_int_equal(next_offer(&sampler, 1, id, 1), 3);
	assert_int_equal(set_table(&sampler, id, 1, 4), 0);
	done(&sampler);
}

static void identity_is_kept(void **state)
{
	const struct symbol_identity identity = {
		.kind = PILOTLIGHT_SYMBOL_HTLHASH,
		.id = { .bytes = { 7, 8, 9 }, .size = 16 },
	};
	struct sampler sampler;
	uint32_t id;

	init(&sampler, 10);
	id = request(&sampler, 1);
	assert_int_equal(unwinder_file(sampler.unwinder, id)->identity.id.size, 0);
	unwinder_set_identity(sampler.unwinder, id, &identity);
	unwinder_set_identity(sampler.unwinder, 12345, &identity);
	assert_int_equal(unwinder_retry_later(sampler.unwinder, id), 0);
	assert_int_equal(next_offer(&sampler, 1, id, 1), 3);
	assert_true(
		symbol_identity_equal(&unwinder_file(sampler.unwinder, id)->identity, &identity));
	done(&sampler);
}

/* --- files that could not be identified --- */

static int set_unidentified(struct sampler *sampler, uint32_t number, bool is_hopeless)
{
	struct pilotlight_file_key key = key_of(number);

	return unwinder_set_unidentified(sampler->unwinder, &key, is_hopeless);
}

static bool is_due(struct sampler *sampler, uint32_t number)
{
	const uint32_t flags = entry_of(sampler, number)->flags;

	/* It is walked by its entry, due or not. */
	assert_int_equal(flags & ~(uint32_t)PILOTLIGHT_FILE_IS_DUE, UNIDENTIFIED_FLAGS);
	return flags & PILOTLIGHT_FILE_IS_DUE;
}

/* For how many windows the sampler does not request the file, which is used in each. */
static uint32_t windows_until_due(struct sampler *sampler, uint32_t number, uint32_t *window)
{
	uint32_t count = 0;

	while (!is_due(sampler, number)) {
		use(sampler, number, *window);
		unwinder_begin_window(sampler->unwinder, ++*window);
		assert_no_reload(sampler);
		count++;
	}
	return count;
}

static void unidentified_file_is_requested_with_backoff(void **state)
{
	const uint32_t waits[] = { 1, 2, 4, 8, 16, 32, 64, 64, 64 };
	const size_t count = sizeof(waits) / sizeof(waits[0]);
	struct sampler sampler;
	uint32_t window = 1;

	init(&sampler, 10);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(set_unidentified(&sampler, 1, false), 0);
		assert_int_equal(report_of(&sampler).unidentified, 1);
		assert_int_equal(windows_until_due(&sampler, 1, &window), waits[i]);
	}
	/* Once for each answer, and once when it is due. */
	unwinder_begin_window(sampler.unwinder, ++window);
	assert_int_equal(sampler.puts, 2 * count);
	assert_int_equal(sampler.drops, 0);
	assert_int_equal(report_of(&sampler).map_errors, 0);
	done(&sampler);
}

static void hopeless_file_gets_the_longest_backoff_at_once(void **state)
{
	struct sampler sampler;
	uint32_t window = 1;

	init(&sampler, 10);
	assert_int_equal(set_unidentified(&sampler, 1, true), 0);
	assert_int_equal(windows_until_due(&sampler, 1, &window), 64);
	assert_int_equal(set_unidentified(&sampler, 1, true), 0);
	assert_int_equal(windows_until_due(&sampler, 1, &window), 64);
	done(&sampler);
}

static void file_identified_later_is_new(void **state)
{
	struct pilotlight_file_key key = key_of(1);
	struct sampler sampler;
	uint32_t id, window = 1;
	bool is_new = false;

	init(&sampler, 10);
	/* Another request was under way. */
	assert_int_equal(set_unidentified(&sampler, 1, false), 0);
	assert_int_equal(unwinder_request(sampler.unwinder, &key, 1, &id, &is_new), 0);
	assert_true(is_new);
	assert_int_equal(entry_of(&sampler, 1)->flags, 0);
	assert_int_equal(state_of(&sampler, id), WALK_FILE_PENDING);
	assert_int_equal(unwinder_binary(sampler.unwinder, id), 1);
	/* And after the sampler has requested it again. */
	key = key_of(2);
	assert_int_equal(set_unidentified(&sampler, 2, false), 0);
	assert_int_equal(windows_until_due(&sampler, 2, &window), 1);
	assert_int_equal(unwinder_request(sampler.unwinder, &key, 2, &id, &is_new), 0);
	assert_true(is_new);
	assert_int_equal(set_table(&sampler, id, 2, 4), 0);
	assert_int_equal(entry_of(&sampler, 2)->flags, PILOTLIGHT_FILE_HAS_TABLE);
	assert_int_equal(report_of(&sampler).unidentified, 0);
	done(&sampler);
}

static void known_file_stays_identified(void **state)
{
	struct sampler sampler;
	uint32_t id;

	init(&sampler, 10);
	id = load(&sampler, 1, 4);
	assert_int_equal(set_unidentified(&sampler, 1, false), 0);
	assert_int_equal(state_of(&sampler, id), WALK_FILE_LOADED);
	/* A second request of the same moment is not a second failure. */
	assert_int_equal(set_unidentified(&sampler, 2, false), 0);
	assert_int_equal(set_unidentified(&sampler, 2, false), 0);
	assert_int_equal(sampler.puts, 3);
	unwinder_begin_window(sampler.unwinder, 2);
	assert_true(is_due(&sampler, 2));
	done(&sampler);
}

static void unidentified_files_leave_room_for_others(void **state)
{
	struct sampler sampler;

	init(&sampler, 8);
	assert_int_equal(set_unidentified(&sampler, 1, true), 0);
	assert_int_equal(set_unidentified(&sampler, 2, true), 0);
	assert_int_equal(set_unidentified(&sampler, 3, true), -ENOSPC);
	unwinder_begin_window(sampler.unwinder, 2);
	assert_int_equal(set_unidentified(&sampler, 3, true), -ENOSPC);
	for (uint32_t number = 11; number <= 16; number++)
		(void)request(&sampler, number);
	assert_int_equal(report_of(&sampler).files, 8);
	/* Unused files make room, due or not. */
	unwinder_begin_window(sampler.unwinder, 70);
	assert_true(is_due(&sampler, 1));
	for (uint32_t number = 21; number <= 28; number++)
		(void)request(&sampler, number);
	assert_int_equal(sampler.drops, 8);
	unwinder_begin_window(sampler.unwinder, 80);
	assert_int_equal(set_unidentified(&sampler, 3, true), 0);
	done(&sampler);
}

static void failing_maps_change_nothing(void **state)
{
	struct pilotlight_file_key key = key_of(1);
	struct sampler sampler;
	uint32_t id = 77, window = 1;
	bool is_new;

	init(&sampler, 10);
	sampler.put_error = -ENOMEM;
	assert_int_equal(set_unidentified(&sampler, 1, false), -ENOMEM);
	assert_int_equal(report_of(&sampler).files, 0);
	sampler.put_error = 0;
	assert_int_equal(set_unidentified(&sampler, 1, false), 0);
	sampler.put_error = -ENOMEM;
	assert_int_equal(unwinder_request(sampler.unwinder, &key, 1, &id, &is_new), -ENOMEM);
	assert_int_equal(id, 77);
	assert_int_equal(entry_of(&sampler, 1)->flags, UNIDENTIFIED_FLAGS);
	assert_int_equal(report_of(&sampler).unidentified, 1);
	/* The entry is due as soon as that succeeds. */
	use(&sampler, 1, window);
	unwinder_begin_window(sampler.unwinder, ++window);
	assert_false(is_due(&sampler, 1));
	sampler.put_error = 0;
	unwinder_begin_window(sampler.unwinder, ++window);
	assert_true(is_due(&sampler, 1));
	sampler.put_error = -ENOMEM;
	assert_int_equal(set_unidentified(&sampler, 1, false), -ENOMEM);
	assert_true(is_due(&sampler, 1));
	sampler.put_error = 0;
	assert_int_equal(set_unidentified(&sampler, 1, false), 0);
	assert_int_equal(windows_until_due(&sampler, 1, &window), 2);
	done(&sampler);
}

/* --- descriptions of interpreters --- */

static int take_runtime(void *context, uint32_t number, const struct pilotlight_runtime *described)
{
	return 0;
}

/* All have the same table, whose rules fit these numbers (reads_right()). */
static uint32_t interpreter(uint32_t i)
{
	return 1 + 1000 * i;
}

static void set_described(struct sampler *sampler, uint32_t id, uint32_t release)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct pilotlight_runtime described = runtime_example;
	_cleanup_close_ int fd = -1;

	described.release = release;
	unwind_table_fixture_make(&fixture, 2, 1);
	unwind_table_fixture_build(&fixture);
	(void)symbol_file_fixture_append(
		&fixture.container, PILOTLIGHT_SYMBOL_RUNTIME, sizeof(described), &described, 1);
	symbol_file_fixture_finish(&fixture.container);
	fd = symbol_file_fixture_fd(&fixture.container);
	assert_int_equal(symbol_file_open(fd, &file), 0);
	assert_int_equal(unwinder_set_table(sampler->unwinder, id, file), 0);
}

static void interpreter_without_a_number_is_loaded_again(void **state)
{
	struct sampler sampler;
	struct unwinder_settings settings = { .maps = &sampler.maps,
		.files_max = 100,
		.machine = EM_X86_64,
		.set_runtime = take_runtime };
	uint32_t first = UINT32_MAX, id = UINT32_MAX, count = 0;

	reset(&sampler);
	assert_int_equal(unwinder_new(&settings, &sampler.unwinder), 0);
	unwinder_begin_window(sampler.unwinder, 1);
	for (; report_of(&sampler).runtimes_refused == 0; count++) {
		id = request(&sampler, interpreter(count));
		set_described(&sampler, id, 0x03000000 + count);
		first = count == 0 ? id : first;
	}
	assert_true(count > 1 && count <= PILOTLIGHT_RUNTIMES_MAX + 1);
	assert_int_equal(
		entry_of(&sampler, interpreter(count - 1))->flags, PILOTLIGHT_FILE_HAS_TABLE);
	use(&sampler, interpreter(count - 1), 1);
	unwinder_begin_window(sampler.unwinder, 2);
	assert_no_reload(&sampler);

	/* A number becomes free, after the windows in which programs may still use it. */
	assert_int_equal(set_table(&sampler, first, 1, 2), 0);
	for (uint32_t window = 3; window < 6; window++) {
		use(&sampler, interpreter(count - 1), window - 1);
		unwinder_begin_window(sampler.unwinder, window);
	}
	assert_reload(&sampler, id);
	assert_no_reload(&sampler);
	assert_int_equal(state_of(&sampler, id), WALK_FILE_LOADED);
	/* It could not be read. */
	for (uint32_t window = 5, i = 0; i < 3; window += 2U << i++) {
		assert_int_equal(unwinder_retry_later(sampler.unwinder, id), 0);
		assert_int_equal(next_offer(&sampler, interpreter(count - 1), id, window),
			window + (2U << i));
		assert_int_equal(state_of(&sampler, id), WALK_FILE_LOADED);
	}
	set_described(&sampler, id, 0x03000000 + count);
	assert_int_equal(entry_of(&sampler, interpreter(count - 1))->flags,
		PILOTLIGHT_FILE_HAS_TABLE | PILOTLIGHT_FILE_HAS_RUNTIME);
	assert_int_equal(report_of(&sampler).interpreters, count - 1);
	done(&sampler);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(failed_table_is_retried_with_backoff),
		cmocka_unit_test(success_resets_the_backoff),
		cmocka_unit_test(unused_file_is_not_retried),
		cmocka_unit_test(files_with_a_result_keep_their_state),
		cmocka_unit_test(failed_map_update_is_retried),
		cmocka_unit_test(identity_is_kept),
		cmocka_unit_test(unidentified_file_is_requested_with_backoff),
		cmocka_unit_test(hopeless_file_gets_the_longest_backoff_at_once),
		cmocka_unit_test(file_identified_later_is_new),
		cmocka_unit_test(known_file_stays_identified),
		cmocka_unit_test(unidentified_files_leave_room_for_others),
		cmocka_unit_test(interpreter_without_a_number_is_loaded_again),
		cmocka_unit_test(failing_maps_change_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
