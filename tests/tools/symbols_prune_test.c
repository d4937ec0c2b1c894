/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/symbols_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct symbol_identity young, old;

/* Of 10,000 bytes and some each. */
static int set_up(void **state)
{
	young = cache_fixture_identity(0x3412);
	old = cache_fixture_identity(0x0001);
	return symbols_run_set_up(state) == 0 &&
			       cache_fixture_store(ran.cache.cache, &young, 1, 10000) == 0 &&
			       cache_fixture_store(ran.cache.cache, &old, 1, 10000) == 0 &&
			       cache_fixture_age(&ran.cache, &old, 20000) == 0
		       ? 0
		       : -1;
}

static void the_oldest_go_first(void **state)
{
	(void)state;
	assert_int_equal(symbols_run(&symbols_prune, ""), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "removed 0 symbol files of 0 B; 2 of 2", 37);
	assert_int_equal(symbols_run(&symbols_prune, "--max-bytes 15K"), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "removed 1 symbol files of 1", 27);
	assert_non_null(strstr(ran.out, "; 1 of 1"));
	assert_false(cache_fixture_has(&ran.cache, &old));
	assert_true(cache_fixture_has(&ran.cache, &young));
	assert_int_equal(symbols_run(&symbols_prune, "--json --max-bytes 0"), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "{\"removed_entries\":1,\"removed_bytes\":1", 38);
	assert_non_null(
		strstr(ran.out, ",\"removed_drafts\":0,\"left_entries\":0,\"left_bytes\":0}\n"));
	assert_false(cache_fixture_has(&ran.cache, &young));
}

static void an_empty_cache_has_nothing(void **state)
{
	(void)state;
	assert_int_equal(symbols_run(&symbols_prune, "--cache /nowhere/at/all"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "removed 0 symbol files of 0 B; 0 of 0 B are left\n");
	assert_true(access("/nowhere", F_OK) < 0);
}

static void wrong_use_is_told(void **state)
{
	static const char *const lines[] = { "--max-bytes", "--max-bytes x", "--max-bytes 1.5G",
		"--max-bytes 99999999999T", "--max-bytes -1", "x" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(symbols_run(&symbols_prune, lines[i]), 2);
		assert_non_null(strstr(ran.err, "symbols prune --help"));
	}
	assert_true(cache_fixture_has(&ran.cache, &old));
	assert_true(cache_fixture_has(&ran.cache, &young));
	assert_int_equal(symbols_run(&symbols_prune, "--help"), EXIT_SUCCESS);
}

static void failing_allocations_are_told(void **state)
{
	size_t n;

	(void)state;
	for (n = 0;; n++) {
		int status;

		fail_allocation(n);
		status = symbols_run(&symbols_prune, "");
		if (!allocation_failed())
			break;
		assert_int_equal(status, EXIT_FAILURE);
		assert_memory_equal(ran.err, "pilotlight: ", 12);
	}
	assert_int_equal(ran.status, EXIT_SUCCESS);
	assert_true(n > 2);
}

#define CACHE_TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, symbols_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(the_oldest_go_first),
		CACHE_TEST(an_empty_cache_has_nothing),
		CACHE_TEST(wrong_use_is_told),
		CACHE_TEST(failing_allocations_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
