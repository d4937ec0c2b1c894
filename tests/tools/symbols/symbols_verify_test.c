/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/symbols/symbols_run.h"
#include "tests/tools/symbols/unwind_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct symbol_identity good, bad;

static int set_up(void **state)
{
	good = cache_fixture_identity(0x3412);
	bad = cache_fixture_identity(0x0001);
	return symbols_run_set_up(state) == 0 && symbols_run_store_example(&good) == 0 &&
			       symbols_run_store_example(&bad) == 0
		       ? 0
		       : -1;
}

static void intact_files_pass(void **state)
{
	assert_int_equal(symbols_run(&symbols_verify, ""), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "2 symbol files of ", 18);
	assert_non_null(strstr(ran.out, ": 0 damaged, 0 unreadable\n"));
	assert_string_equal(ran.err, "");
	assert_int_equal(symbols_run(&symbols_verify, "--json"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\"state\":\"ok\",\"removed\":false}\n{"));
}

static void damaged_files_are_reported(void **state)
{
	assert_int_equal(symbols_run_damage(&bad), 0);
	assert_int_equal(symbols_run(&symbols_verify, ""), EXIT_FAILURE);
	assert_memory_equal(ran.out, "01005a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a: damaged (/", 52);
	assert_non_null(strstr(ran.out, ": 1 damaged, 0 unreadable\n"));
	assert_true(cache_fixture_has(&symbols_run_cache, &bad));
	assert_int_equal(symbols_run(&symbols_verify, "--json"), EXIT_FAILURE);
	assert_non_null(strstr(ran.out, "\"state\":\"damaged\",\"removed\":false}\n{"));
	assert_non_null(strstr(ran.out, "\"state\":\"ok\",\"removed\":false}\n"));
}

static void damaged_ones_can_be_removed(void **state)
{
	assert_int_equal(symbols_run_damage(&bad), 0);
	assert_int_equal(symbols_run(&symbols_verify, "--remove"), EXIT_FAILURE);
	assert_non_null(strstr(ran.out, "5a5a: damaged, removed (/"));
	assert_false(cache_fixture_has(&symbols_run_cache, &bad));
	assert_true(cache_fixture_has(&symbols_run_cache, &good));
	assert_int_equal(symbols_run(&symbols_verify, "--remove"), EXIT_SUCCESS);
	assert_true(cache_fixture_has(&symbols_run_cache, &good));
}

static void unwind_tables_are_verified_too(void **state)
{
	struct symbol_identity senseless = cache_fixture_identity(0x0002), none;
	struct cache_fixture folder;

	assert_int_equal(unwind_folder_store(&good, 2, true), 0);
	assert_int_equal(unwind_folder_open(&folder), 0);
	none = cache_fixture_identity(0x0003);
	assert_int_equal(symbol_cache_put_negative(
				 folder.cache, &none, PILOTLIGHT_SYMBOL_NOTHING, "/nothing"),
		0);
	symbol_cache_free(folder.cache);
	assert_int_equal(symbols_run(&symbols_verify, ""), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "2 symbol files of ", 18);
	assert_non_null(strstr(ran.out, "\n2 unwind tables of "));
	assert_int_equal(unwind_folder_store(&bad, 2, true), 0);
	folder = unwind_folder_closed();
	assert_int_equal(symbols_run_damage_in(&folder, &bad), 0);
	assert_int_equal(unwind_folder_store(&senseless, 2, false), 0);
	assert_int_equal(symbols_run(&symbols_verify, "--json"), EXIT_FAILURE);
	assert_non_null(strstr(ran.out, "\"kind\":\"symbols\""));
	assert_non_null(strstr(ran.out, "\"kind\":\"unwind\""));
	assert_int_equal(symbols_run(&symbols_verify, "--remove"), EXIT_FAILURE);
	assert_non_null(
		strstr(ran.out, "01005a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a: damaged, removed (/"));
	assert_non_null(
		strstr(ran.out, "02005a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a: damaged, removed (/"));
	assert_non_null(strstr(ran.out, "\n4 unwind tables of "));
	assert_non_null(strstr(ran.out, ": 2 damaged, 0 unreadable\n"));
	assert_true(unwind_folder_has(&good) && unwind_folder_has(&none));
	assert_false(unwind_folder_has(&bad) || unwind_folder_has(&senseless));
	assert_true(cache_fixture_has(&symbols_run_cache, &bad));
	assert_int_equal(symbols_run(&symbols_verify, ""), EXIT_SUCCESS);
}

/* A symbol file is no table, wherever its checksums are right. */
static void symbols_in_the_place_of_a_table_are_damage(void **state)
{
	struct cache_fixture folder;

	assert_int_equal(unwind_folder_open(&folder), 0);
	assert_int_equal(cache_fixture_store(folder.cache, &good, 1, 100), 0);
	symbol_cache_free(folder.cache);
	assert_int_equal(symbols_run(&symbols_verify, "--remove"), EXIT_FAILURE);
	assert_false(unwind_folder_has(&good));
	assert_true(cache_fixture_has(&symbols_run_cache, &good));
}

static void other_versions_are_left_alone(void **state)
{
	static struct symbol_file_fixture file;
	char path[CACHE_FIXTURE_PATH_BYTES];
	int fd;

	symbol_file_fixture_fill(&file);
	memcpy(file.identity, bad.id.bytes, sizeof(file.identity));
	symbol_file_fixture_build(&file);
	symbol_file_fixture_header(&file)->version++;
	symbol_file_fixture_seal(file.bytes, file.size);
	fd = open(cache_fixture_path(&symbols_run_cache, &bad, path), O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, file.bytes, file.size), file.size);
	(void)close(fd);
	assert_int_equal(symbols_run(&symbols_verify, "--remove"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, ": 0 damaged, 0 unreadable, 1 of another version\n"));
	assert_true(cache_fixture_has(&symbols_run_cache, &bad));
}

static void an_empty_cache_is_good(void **state)
{
	assert_int_equal(symbols_run(&symbols_verify, "--cache /nowhere"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "0 symbol files of 0 B: 0 damaged, 0 unreadable\n");
	assert_int_equal(symbols_run(&symbols_verify, "--cache /nowhere --json"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "");
}

/* A file is not damaged because there is no memory to look at it. */
static void failing_allocations_are_reported(void **state)
{
	assert_int_equal(unwind_folder_store(&good, 1, true), 0);
	assert_true(FAIL_EACH_ALLOCATION(symbols_run(&symbols_verify, "--remove"), EXIT_FAILURE,
			    command_run_complained("") && !strstr(ran.out, "5a: damaged") &&
				    unwind_folder_has(&good),
			    EXIT_SUCCESS) > 3);
	assert_true(cache_fixture_has(&symbols_run_cache, &good) &&
		    cache_fixture_has(&symbols_run_cache, &bad));
}

#define CACHE_TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, symbols_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(intact_files_pass),
		CACHE_TEST(damaged_files_are_reported),
		CACHE_TEST(damaged_ones_can_be_removed),
		CACHE_TEST(unwind_tables_are_verified_too),
		CACHE_TEST(symbols_in_the_place_of_a_table_are_damage),
		CACHE_TEST(other_versions_are_left_alone),
		CACHE_TEST(an_empty_cache_is_good),
		CACHE_TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
