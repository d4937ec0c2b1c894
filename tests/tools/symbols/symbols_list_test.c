/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/symbols/symbols_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct symbol_identity example, old, negative;

/* Named in another order than used. */
static int set_up(void **state)
{
	if (symbols_run_set_up(state) < 0)
		return -1;
	example = cache_fixture_identity(0x3412);
	old = cache_fixture_identity(0x0001);
	negative = cache_fixture_identity(0x9999);
	if (symbols_run_store_example(&example) < 0 ||
		cache_fixture_store(
			symbols_run_cache.cache, &old, PILOTLIGHT_SYMBOL_RANK_DEBUG_FILE, 0) < 0 ||
		cache_fixture_store(symbols_run_cache.cache, &negative, 0, 0) < 0)
		return -1;
	return cache_fixture_age(&symbols_run_cache, &example, 100) == 0 &&
			       cache_fixture_age(&symbols_run_cache, &old, 20000) == 0 &&
			       cache_fixture_age(&symbols_run_cache, &negative, 1000) == 0
		       ? 0
		       : -1;
}

/* Do these stand on standard output, in this order? */
static bool has_in_order(const char *first, const char *second, const char *third)
{
	const char *at = strstr(ran.out, first);

	at = at ? strstr(at, second) : NULL;
	return at && strstr(at, third);
}

static size_t count_lines(const char *text)
{
	size_t count = 0;

	for (; *text; text++)
		count += *text == '\n';
	return count;
}

static void the_last_used_comes_first(void **state)
{
	assert_int_equal(symbols_run(&symbols_list, ""), EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	assert_int_equal(count_lines(ran.out), 4);
	assert_memory_equal(ran.out, "BUILD-ID ", 9);
	assert_true(has_in_order("\n12345a5a", "\n99995a5a", "\n01005a5a"));
	assert_true(has_in_order(" binary ", " -nothing ", " debug-file "));
	assert_true(has_in_order("/usr/bin/example\n", "-nothing", "debug-file"));
}

static void names_may_come_first(void **state)
{
	assert_int_equal(symbols_run(&symbols_list, "--sort name"), EXIT_SUCCESS);
	assert_true(has_in_order("\n01005a5a", "\n12345a5a", "\n99995a5a"));
	assert_int_equal(symbols_run(&symbols_list, "--sort used"), EXIT_SUCCESS);
	assert_true(has_in_order("\n12345a5a", "\n99995a5a", "\n01005a5a"));
}

static void json_is_an_object_a_line(void **state)
{
	assert_int_equal(symbols_run(&symbols_list, "--json"), EXIT_SUCCESS);
	assert_int_equal(count_lines(ran.out), 3);
	assert_memory_equal(ran.out,
		"{\"identity\":\"12345a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\",\"bytes\":", 62);
	assert_true(has_in_order("\"source\":\"binary\",\"frames\":4,\"lines\":7,\"origin\":"
				 "\"/usr/bin/example\"}\n",
		"\"source\":\"none\",\"reason\":\"nothing\",\"frames\":0,\"lines\":0",
		"\"source\":\"debug-file\",\"frames\":1,\"lines\":0,"));
}

static void damaged_headers_are_listed(void **state)
{
	char path[CACHE_FIXTURE_PATH_BYTES];

	assert_int_equal(truncate(cache_fixture_path(&symbols_run_cache, &example, path), 100), 0);
	assert_int_equal(symbols_run(&symbols_list, "--sort name"), EXIT_SUCCESS);
	assert_true(has_in_order("12345a5a", "(unreadable)", "damaged\n"));
	assert_int_equal(symbols_run(&symbols_list, "--json"), EXIT_SUCCESS);
	assert_true(has_in_order("12345a5a", "\"bytes\":100,", "\"error\":\"damaged\"}\n"));
}

/* Their names are enough to be listed, and to be too many to be kept for sorting. */
static void too_many_to_sort_are_reported(void **state)
{
	enum { FOLDERS = 16, FILES = 4096 };
	char name[128];

	for (int folder = 0; folder < FOLDERS; folder++) {
		(void)snprintf(
			name, sizeof(name), "%s/%02x", symbols_run_cache.folder, 0xa0 + folder);
		assert_int_equal(mkdir(name, 0700), 0);
		for (int file = 0; file < FILES; file++) {
			(void)snprintf(name, sizeof(name), "%02x/%04x01.sym", 0xa0 + folder, file);
			assert_int_equal(
				cache_fixture_make_file(symbols_run_cache.folder, name), 0);
		}
	}
	assert_int_equal(symbols_run(&symbols_list, ""), EXIT_FAILURE);
	assert_string_equal(ran.out, "");
	assert_true(command_run_complained("more than 65536 symbol files"));
	assert_non_null(strstr(ran.err, "--sort name"));
	assert_int_equal(symbols_run(&symbols_list, "--sort name"), EXIT_SUCCESS);
	assert_true(has_in_order("\n01005a5a", "\n12345a5a", "\na0000001"));
}

static void an_empty_cache_has_nothing(void **state)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "--cache %s/none", symbols_run_cache.folder);
	assert_int_equal(symbols_run(&symbols_list, line), EXIT_SUCCESS);
	assert_string_equal(ran.out, "");
	assert_string_equal(ran.err, "");
	(void)snprintf(line, sizeof(line), "%s/none", symbols_run_cache.folder);
	assert_true(access(line, F_OK) < 0);
}

static void a_cache_that_cannot_be_opened_is_reported(void **state)
{
	assert_int_equal(symbols_run(&symbols_list, "--cache /dev/null"), EXIT_FAILURE);
	assert_true(command_run_complained("symbol cache"));
	assert_non_null(strstr(ran.err, "/dev/null"));
}

static void failing_allocations_are_reported(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(symbols_run(&symbols_list, ""), EXIT_FAILURE,
			    command_run_complained(""), EXIT_SUCCESS) > 3);
	assert_int_equal(count_lines(ran.out), 4);
}

#define CACHE_TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, symbols_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(the_last_used_comes_first),
		CACHE_TEST(names_may_come_first),
		CACHE_TEST(json_is_an_object_a_line),
		CACHE_TEST(damaged_headers_are_listed),
		CACHE_TEST(too_many_to_sort_are_reported),
		CACHE_TEST(an_empty_cache_has_nothing),
		CACHE_TEST(a_cache_that_cannot_be_opened_is_reported),
		CACHE_TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
