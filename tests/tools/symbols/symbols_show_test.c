/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/runtime_example.h"
#include "tests/tools/symbols/symbols_run.h"
#include "tests/unwind/unwind_table_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static struct symbol_identity example;
static struct pilotlight_runtime runtime; /* of the table; version 0: it has none */
static uint32_t more_contents;		  /* of the table */

static int set_up(void **state)
{
	example = cache_fixture_identity(0x3412);
	runtime.version = 0;
	more_contents = 0;
	return symbols_run_set_up(state) == 0 && symbols_run_store_example(&example) == 0 ? 0 : -1;
}

static void each_fact_is_reported(void **state)
{
	char expected[CACHE_FIXTURE_PATH_BYTES + 16], path[CACHE_FIXTURE_PATH_BYTES];
	static const char *const facts[] = {
		"identity   12345a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\n",
		"format version 1\n",
		"\ncreated    20",
		"\nlast used  20",
		"\nsource     the binary itself\n",
		"\norigin     /usr/bin/example\n",
		"\ncontents   symtab, dwarf\n",
		"\nmachine    x86-64\n",
		"\nsegment    vaddr 0x401000, 256 bytes, offset 0x1000\n",
		"\nfunctions  2\ninlined    2\nboundaries 6\nlines      7\nfiles      4\n",
		"\nleft out   nothing\n",
	};

	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		assert_non_null(strstr(ran.out, facts[i]));
	(void)snprintf(expected, sizeof(expected), "\nfile       %s\n",
		cache_fixture_path(&symbols_run_cache, &example, path));
	assert_non_null(strstr(ran.out, expected));
}

static void json_has_each_fact(void **state)
{
	static const char *const facts[] = {
		"{\"identity\":\"12345a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\",\"path\":\"/",
		",\"version\":1,",
		",\"source\":\"binary\",\"origin\":\"/usr/bin/example\",",
		"\"contents\":[\"symtab\",\"dwarf\"],\"machine\":\"x86-64\",",
		"\"base_vaddr\":\"0x401000\",\"segments\":[{\"offset\":\"0x1000\",\"vaddr\":"
		"\"0x401000\",\"file_bytes\":256,\"memory_bytes\":256}],",
		"\"functions\":2,\"inlined\":2,\"boundaries\":6,\"lines\":7,\"files\":4,",
		"\"units_failed\":0,\"ranges_outside\":0,\"names_failed\":0,"
		"\"symbol_tables_failed\":0}\n",
	};

	assert_int_equal(symbols_run(&symbols_show, "--json 1234"), EXIT_SUCCESS);
	for (size_t i = 0; i < sizeof(facts) / sizeof(facts[0]); i++)
		assert_non_null(strstr(ran.out, facts[i]));
	assert_string_equal(strchr(ran.out, '\n'), "\n");
}

/* The cache of unwind tables, below the one of symbols. */
static struct symbol_cache *open_tables(void)
{
	char folder[sizeof(symbols_run_cache.folder) + 16];
	struct symbol_cache *cache = NULL;

	(void)snprintf(
		folder, sizeof(folder), "%s/" PILOTLIGHT_UNWIND_FOLDER, symbols_run_cache.folder);
	assert_int_equal(symbol_cache_open(folder, 1 << 30, &cache, NULL), 0);
	return cache;
}

/* A table of 12 rows in 1 line, with distinct figures. */
static void store_table(bool is_sound)
{
	static struct unwind_table_fixture fixture;
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = open_tables();
	struct symbol_file_fixture *container = &fixture.container;

	unwind_table_fixture_make(&fixture, 6, 1);
	fixture.summary.function_count = 6;
	fixture.summary.functions_failed = 3;
	fixture.summary.flags = PILOTLIGHT_UNWIND_KEEPS_FRAME_POINTERS;
	if (!is_sound)
		fixture.pages[1] = 77;
	unwind_table_fixture_build(&fixture);
	memcpy(symbol_file_fixture_header(container)->identity, example.id.bytes, example.id.size);
	symbol_file_fixture_header(container)->contents |= more_contents;
	if (runtime.version)
		(void)symbol_file_fixture_append(
			container, PILOTLIGHT_SYMBOL_RUNTIME, sizeof(runtime), &runtime, 1);
	symbol_file_fixture_finish(container);
	assert_int_equal(
		cache_fixture_commit_bytes(cache, &example, container->bytes, container->size), 0);
}

static void a_table_is_shown(void **state)
{
	/* 7 pages, a line, 5 rules: 28 + 64 + 80 bytes, and the summary's 48. */
	static const char text[] = "\nunwinding  6 functions, 3 left out\n"
				   "  rows     12 in 1 lines, 0 inferred, 0 not supported\n"
				   "  rules    5, rare ones in 0 rows\n"
				   "  size     220 B (220 bytes), 18.33 bytes a row\n"
				   "  frame pointers are kept\n";

	store_table(true);
	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, text));
	assert_int_equal(symbols_run(&symbols_show, "--json 1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out,
		",\"unwind\":{\"source\":\"binary\",\"functions\":6,\"functions_failed\":3,"
		"\"rows\":12,\"rows_inferred\":0,\"rows_unsupported\":0,\"lines\":1,\"rules\":5,"
		"\"escapes\":0,"
		"\"bytes\":220,\"bytes_per_row\":18.333,\"keeps_frame_pointers\":true,"
		"\"runtime\":null},"));
}

static void assert_refusal(const char *reason)
{
	char line[128];

	store_table(true);
	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_SUCCESS);
	(void)snprintf(line, sizeof(line), "\nruntime    none: %s\n", reason);
	assert_non_null(strstr(ran.out, line));
}

static void a_runtime_is_shown(void **state)
{
	runtime = runtime_example;
	store_table(true);
	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out,
		"  frame pointers are kept\nruntime    Python 3.11.2, threads by key-behind\n"));
	assert_int_equal(symbols_run(&symbols_show, "--json 1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out,
		",\"keeps_frame_pointers\":true,\"runtime\":{\"language\":\"python\","
		"\"release\":\"3.11.2\",\"anchor\":\"key-behind\"}},"));
	runtime.group = 0;
	store_table(true);
	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\nruntime    none: the description is damaged\n"));
	assert_int_equal(symbols_run(&symbols_show, "--json 1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, ",\"runtime\":null}"));
	runtime.version = 0;
	more_contents = PILOTLIGHT_SYMBOL_LACKS_RUNTIME;
	assert_refusal("this build is not understood");
	/* Zydis is only asked for where it would help. */
	more_contents |= PILOTLIGHT_SYMBOL_RUNTIME_STRIPPED;
	assert_refusal("it is stripped and does not tell where V8's own functions are");
	more_contents |= PILOTLIGHT_SYMBOL_LACKS_DECODER;
	assert_refusal("Zydis, which decodes its instructions, is not installed");
	more_contents |= PILOTLIGHT_SYMBOL_RUNTIME_COMPRESSED;
	assert_refusal("builds with compressed pointers are not supported");
}

static void a_damaged_table_is_reported(void **state)
{
	store_table(false);
	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\nunwinding  none: the table is damaged\n"));
	assert_int_equal(symbols_run(&symbols_show, "--json 1234"), EXIT_SUCCESS);
	assert_non_null(
		strstr(ran.out, ",\"unwind\":{\"source\":\"none\",\"reason\":\"damaged\"},"));
}

static void no_table_is_reported(void **state)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	char folder[sizeof(symbols_run_cache.folder) + 16];

	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\nunwinding  no table in the cache\n"));
	(void)snprintf(
		folder, sizeof(folder), "%s/" PILOTLIGHT_UNWIND_FOLDER, symbols_run_cache.folder);
	assert_int_equal(access(folder, F_OK), -1);
	assert_int_equal(symbols_run(&symbols_show, "--json 1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, ",\"unwind\":null,"));

	cache = open_tables();
	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\nunwinding  no table in the cache\n"));
	assert_int_equal(
		symbol_cache_put_negative(cache, &example, PILOTLIGHT_SYMBOL_NOTHING, "x"), 0);
	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\nunwinding  none: it has no unwind information\n"));
	assert_int_equal(
		symbol_cache_put_negative(cache, &example, PILOTLIGHT_SYMBOL_CRASHED, "x"), 0);
	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\nunwinding  none: it crashed a worker\n"));
	assert_int_equal(symbols_run(&symbols_show, "--json 1234"), EXIT_SUCCESS);
	assert_non_null(
		strstr(ran.out, ",\"unwind\":{\"source\":\"none\",\"reason\":\"crashed\"},"));
}

static void negative_entries_are_shown(void **state)
{
	struct symbol_identity negative = cache_fixture_identity(0x9999);

	assert_int_equal(cache_fixture_store(symbols_run_cache.cache, &negative, 0, 0), 0);
	assert_int_equal(symbols_run(&symbols_show, "9999"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\nsource     none: it has neither symbols nor debug "
					"information; install"));
	assert_non_null(strstr(ran.out, "\nfunctions  0\n"));
	assert_int_equal(symbols_run(&symbols_show, "9999 --json"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\"source\":\"none\",\"reason\":\"nothing\""));
}

static void missing_symbols_are_reported(void **state)
{
	assert_int_equal(symbols_run(&symbols_show, "8888"), EXIT_FAILURE);
	assert_true(command_run_complained("no symbols of '8888'"));
	assert_int_equal(symbols_run(&symbols_show, "/proc/self/exe"), EXIT_FAILURE);
	assert_true(command_run_complained("no symbols of '/proc/self/exe'"));
	assert_int_equal(symbols_run_damage(&example), 0);
	assert_int_equal(symbols_run(&symbols_show, "1234"), EXIT_FAILURE);
	assert_true(command_run_complained("or damaged ones"));
	assert_string_equal(ran.out, "");
	assert_int_equal(symbols_run(&symbols_show, "--cache /nowhere 1234"), EXIT_FAILURE);
	assert_true(command_run_complained("no symbols of '1234'"));
}

static void failing_allocations_are_reported(void **state)
{
	store_table(true);
	assert_true(FAIL_EACH_ALLOCATION(symbols_run(&symbols_show, "1234"), EXIT_FAILURE,
			    command_run_complained("") && !*ran.out, EXIT_SUCCESS) > 3);
}

#define CACHE_TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, symbols_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(each_fact_is_reported),
		CACHE_TEST(json_has_each_fact),
		CACHE_TEST(a_table_is_shown),
		CACHE_TEST(a_runtime_is_shown),
		CACHE_TEST(a_damaged_table_is_reported),
		CACHE_TEST(no_table_is_reported),
		CACHE_TEST(negative_entries_are_shown),
		CACHE_TEST(missing_symbols_are_reported),
		CACHE_TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
