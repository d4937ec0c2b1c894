/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/symbols/symbols_run.h"
#include "tests/tools/symbols/unwind_folder.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cmocka.h>

static struct symbol_identity young, old;

/* Each has a little more than 10,000 bytes. */
static int set_up(void **state)
{
	young = cache_fixture_identity(0x3412);
	old = cache_fixture_identity(0x0001);
	return symbols_run_set_up(state) == 0 &&
			       cache_fixture_store(symbols_run_cache.cache, &young, 1, 10000) ==
				       0 &&
			       cache_fixture_store(symbols_run_cache.cache, &old, 1, 10000) == 0 &&
			       cache_fixture_age(&symbols_run_cache, &old, 20000) == 0
		       ? 0
		       : -1;
}

static void the_oldest_go_first(void **state)
{
	assert_int_equal(symbols_run(&symbols_prune, ""), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "removed 0 symbol files of 0 B; 2 of 2", 37);
	assert_int_equal(symbols_run(&symbols_prune, "--max-bytes 15K"), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "removed 1 symbol files of 1", 27);
	assert_non_null(strstr(ran.out, "; 1 of 1"));
	assert_false(cache_fixture_has(&symbols_run_cache, &old));
	assert_true(cache_fixture_has(&symbols_run_cache, &young));
	assert_int_equal(symbols_run(&symbols_prune, "--json --max-bytes 0"), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "{\"removed_entries\":1,\"removed_bytes\":1", 38);
	assert_non_null(strstr(ran.out, ",\"removed_drafts\":0,\"removed_fetches\":0,"
					"\"left_entries\":0,\"left_bytes\":0,"
					"\"removed_tables\":0,\"removed_table_bytes\":0,"
					"\"left_tables\":0,\"left_table_bytes\":0}\n"));
	assert_false(cache_fixture_has(&symbols_run_cache, &young));
}

/* They may have an eighth, and symbol files what they leave. */
static void unwind_tables_are_pruned_too(void **state)
{
	assert_int_equal(unwind_folder_store(&young, 10, true), 0);
	assert_int_equal(unwind_folder_store(&old, 300, true), 0);
	assert_int_equal(symbols_run(&symbols_prune, ""), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\nremoved 0 unwind tables of 0 B; 2 of "));
	assert_int_equal(symbols_run(&symbols_prune, "--json --max-bytes 400K"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\"left_entries\":2,"));
	assert_non_null(strstr(ran.out, "\"removed_tables\":0,"));
	assert_non_null(strstr(ran.out, "\"left_tables\":2,"));
	/* Less than both tables take; what one takes is not the symbol files'. */
	assert_int_equal(symbols_run(&symbols_prune, "--json --max-bytes 80K"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\"left_entries\":2,"));
	assert_non_null(strstr(ran.out, "\"removed_tables\":1,"));
	assert_non_null(strstr(ran.out, "\"left_tables\":1,"));
	assert_true(unwind_folder_has(&young) != unwind_folder_has(&old));
	assert_int_equal(symbols_run(&symbols_prune, "--max-bytes 0"), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "removed 2 symbol files of ", 26);
	assert_non_null(strstr(ran.out, "\nremoved 1 unwind tables of "));
	assert_non_null(strstr(ran.out, "; 0 of 0 B are left\nremoved 1"));
	assert_false(unwind_folder_has(&young) || unwind_folder_has(&old));
}

/* The remains of a killed fetch; if `is_alive`, a running fetch holds the lock. */
static void make_fetch_folder(const char *name, bool is_alive, int *ret_fd)
{
	char path[CACHE_FIXTURE_PATH_BYTES];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", symbols_run_cache.folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
	*ret_fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(*ret_fd >= 0);
	if (is_alive)
		assert_int_equal(flock(*ret_fd, LOCK_EX | LOCK_NB), 0);
	assert_int_equal(mkdirat(*ret_fd, "cache", 0700), 0);
	fd = openat(*ret_fd, "cache/debuginfo", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
}

static void leftover_downloads_are_removed(void **state)
{
	int alive, dead, other;

	make_fetch_folder("fetch.0123456789abcdef", false, &dead);
	make_fetch_folder("fetch.fedcba9876543210", true, &alive);
	make_fetch_folder("somebody.else", false, &other);
	assert_int_equal(symbols_run(&symbols_prune, ""), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, " of 0 B and what 1 unfinished fetches have left; 2 of "));
	assert_int_equal(faccessat(alive, "cache/debuginfo", F_OK, 0), 0);
	assert_int_equal(faccessat(other, "cache/debuginfo", F_OK, 0), 0);
	assert_int_equal(faccessat(dead, "cache/debuginfo", F_OK, 0), -1);
	(void)close(alive);
	assert_int_equal(symbols_run(&symbols_prune, "--json"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, ",\"removed_fetches\":1,"));
	assert_int_equal(symbols_run(&symbols_prune, ""), EXIT_SUCCESS);
	assert_null(strstr(ran.out, "fetches"));
	(void)close(dead);
	(void)close(other);
}

static void an_empty_cache_has_nothing(void **state)
{
	assert_int_equal(symbols_run(&symbols_prune, "--cache /nowhere/at/all"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "removed 0 symbol files of 0 B; 0 of 0 B are left\n");
	assert_true(access("/nowhere", F_OK) < 0);
}

static void failing_allocations_are_reported(void **state)
{
	assert_int_equal(unwind_folder_store(&young, 1, true), 0);
	assert_true(FAIL_EACH_ALLOCATION(symbols_run(&symbols_prune, ""), EXIT_FAILURE,
			    command_run_complained(""), EXIT_SUCCESS) > 2);
}

#define CACHE_TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, symbols_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(the_oldest_go_first),
		CACHE_TEST(unwind_tables_are_pruned_too),
		CACHE_TEST(leftover_downloads_are_removed),
		CACHE_TEST(an_empty_cache_has_nothing),
		CACHE_TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
