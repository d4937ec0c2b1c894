/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/symbols/symbols_run.h"

#include "base/array.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#define INLINED "inner\n/src/inner.h:5:3\nouter\n/src/outer.h:7:2\nmain\n/src/main.c:11:4\n\n"
#define UNKNOWN "??\n??:0:0\n\n"

static int set_up(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(0x3412);

	return symbols_run_set_up(state) == 0 && symbols_run_store_example(&identity) == 0 ? 0 : -1;
}

static int look_up(const char *line)
{
	return symbols_run(&symbols_lookup, line);
}

static int look_up_lines(const char *line, const char *input)
{
	return symbols_run_with(&symbols_lookup, line, input, strlen(input));
}

static void arguments_are_answered(void **state)
{
	assert_int_equal(look_up("12345a 0x401000 401010 0x401020 0x401040 0x401060 0x401080 0x1"),
		EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	assert_string_equal(ran.out, "main\n/src/main.c:10:1\n\n" INLINED
				     "outer\n/src/outer.h:8:0\nmain\n/src/main.c:11:4\n\n"
				     "cold\n??:0:0\n\n" UNKNOWN "??\n/src/asm.S:3:0\n\n" UNKNOWN);
}

static void lines_are_answered(void **state)
{
	assert_int_equal(
		look_up_lines("12345a", "0x401000\n0x401010\r\n 0xffffffffffffffff"), EXIT_SUCCESS);
	assert_string_equal(ran.err, "");
	assert_string_equal(ran.out, "main\n/src/main.c:10:1\n\n" INLINED UNKNOWN);
	assert_int_equal(look_up_lines("12345a", ""), EXIT_SUCCESS);
	assert_string_equal(ran.out, "");
}

static void offsets_are_made_vaddrs(void **state)
{
	assert_int_equal(look_up("--offset 12345a 0x1010 0x401010 0x1100 0xfff"), EXIT_SUCCESS);
	assert_string_equal(ran.out, INLINED UNKNOWN UNKNOWN UNKNOWN);
	assert_int_equal(look_up("--offset --json 12345a 0x1040"), EXIT_SUCCESS);
	assert_string_equal(ran.out,
		"{\"address\":\"0x1040\",\"frames\":[{\"function\":\"cold\","
		"\"file\":\"\",\"line\":0,\"column\":0,\"inlined\":false}]}\n");
}

static void json_is_an_object_a_line(void **state)
{
	assert_int_equal(look_up("--json 12345a 401020 0x401060 0x401080"), EXIT_SUCCESS);
	assert_string_equal(ran.out,
		"{\"address\":\"0x401020\",\"frames\":["
		"{\"function\":\"outer\",\"file\":\"/src/outer.h\",\"line\":8,\"column\":0,"
		"\"inlined\":true},"
		"{\"function\":\"main\",\"file\":\"/src/main.c\",\"line\":11,\"column\":4,"
		"\"inlined\":false}]}\n"
		"{\"address\":\"0x401060\",\"frames\":[]}\n"
		"{\"address\":\"0x401080\",\"frames\":[{\"function\":\"\",\"file\":\"/src/asm.S\","
		"\"line\":3,\"column\":0,\"inlined\":false}]}\n");
}

static void mistakes_keep_the_count(void **state)
{
	assert_int_equal(
		look_up_lines("12345a", "0x401010\nma\x1b\"in\n\n0x401010\n"), EXIT_FAILURE);
	assert_string_equal(ran.out, INLINED UNKNOWN UNKNOWN INLINED);
	assert_non_null(strstr(ran.err, "line 2 of standard input: 'ma?\"in' is no address"));
	assert_non_null(strstr(ran.err, "line 3 of standard input: '' is no address"));
	assert_int_equal(look_up("--json 12345a main 12345678123456789"), EXIT_FAILURE);
	assert_string_equal(ran.out,
		"{\"address\":\"main\",\"frames\":[],\"error\":\"no address\"}\n"
		"{\"address\":\"12345678123456789\",\"frames\":[],\"error\":\"no address\"}\n");
	assert_non_null(strstr(ran.err, "'12345678123456789' is more than 64 bits"));
}

static void mistakes_are_reported_a_few_times(void **state)
{
	char input[201] = "";
	size_t told = 0;

	for (size_t i = 0; i < 100; i++)
		(void)strcat(input, "x\n");
	assert_int_equal(look_up_lines("12345a", input), EXIT_FAILURE);
	for (const char *at = ran.err; (at = strstr(at, "is no address")); at++)
		told++;
	assert_int_equal(told, 10);
	assert_non_null(strstr(ran.err, "and 90 more that are no addresses"));
	assert_int_equal(strlen(ran.out), 100 * strlen(UNKNOWN));
}

/* More than a batch and than a buffer, in an order of their own. */
static void many_are_answered_in_order(void **state)
{
	enum { COUNT = 20000 };
	static char input[COUNT * 16];
	const char *at = ran.out;
	size_t size = 0;

	for (unsigned i = 0; i < COUNT; i++)
		size += (size_t)snprintf(input + size, sizeof(input) - size, "0x%x\n",
			i % 3 ? 0x401080U : 0x401010U);
	assert_int_equal(symbols_run_with(&symbols_lookup, "12345a", input, size), EXIT_SUCCESS);
	for (unsigned i = 0; i < COUNT; i++) {
		const char *expected = i % 3 ? "??\n/src/asm.S:3:0\n\n" : INLINED;

		/* The harness keeps a limited part of the output. */
		if (at + 100 > ran.out + COMMAND_RUN_TEXT_BYTES)
			return;
		assert_memory_equal(at, expected, strlen(expected));
		at += strlen(expected);
	}
	assert_string_equal(at, "");
}

/* Of each length around the bounds, and before other lines or at the end. */
static void long_lines_are_cut(void **state)
{
	enum { CUT = 4096, BUFFER = 64 * 1024 };
	static const size_t sizes[] = { CUT - 1, CUT, CUT + 1, BUFFER - 1, BUFFER, BUFFER + 1,
		2 * BUFFER };
	static char input[2 * BUFFER + 32];
	static const char begin[] = "{\"address\":\"", next[] = "\nma\n0x401080";

	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		size_t kept = sizes[i] < CUT ? sizes[i] : CUT;

		memset(input, 'x', sizes[i]);
		(void)strcpy(input + sizes[i], next);
		assert_int_equal(look_up_lines("12345a", input), EXIT_FAILURE);
		assert_string_equal(ran.out, UNKNOWN UNKNOWN "??\n/src/asm.S:3:0\n\n");
		assert_non_null(strstr(ran.err, "line 2 of standard input: 'ma'"));
		input[sizes[i]] = '\0';
		assert_int_equal(look_up_lines("--json 12345a", input), EXIT_FAILURE);
		assert_int_equal(strspn(ran.out + strlen(begin), "x"), kept);
		assert_null(strchr(strchr(ran.out, '\n') + 1, '\n'));
	}
}

static void debug_files_alone_have_no_offsets(void **state)
{
	const struct pilotlight_symbol_segment segment = { 0, SYMBOL_FILE_FIXTURE_BASE, 0, 0x100 };
	struct symbol_identity identity = cache_fixture_identity(0x7777);
	static struct symbol_file_fixture file;

	symbol_file_fixture_fill(&file);
	memcpy(file.identity, identity.id.bytes, sizeof(file.identity));
	file.segments = &segment;
	symbol_file_fixture_build(&file);
	assert_int_equal(cache_fixture_commit_bytes(
				 symbols_run_cache.cache, &identity, file.bytes, file.size),
		0);
	assert_int_equal(look_up("--offset 7777 1010"), EXIT_FAILURE);
	assert_true(command_run_complained("offsets are not known"));
	assert_int_equal(look_up("7777 401010"), EXIT_SUCCESS);
	assert_string_equal(ran.out, INLINED);
}

/* Right hashes, and names that no extraction writes. */
static void hostile_names_are_cleaned(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(0x7777);
	static const struct symbol_file_fixture_frame frame = { 0, "a\x1b[1m\xff\n\"b", 0 };
	static const char *const files[] = { "/x\r\ny" };
	static struct symbol_file_fixture file;
	struct pilotlight_symbol_row row = symbol_file_fixture_row(0, 1, 7, 0);

	symbol_file_fixture_fill(&file);
	memcpy(file.identity, identity.id.bytes, sizeof(file.identity));
	file.frames = &frame;
	file.files = files;
	file.frame_count = file.file_count = file.boundary_count = file.row_count = 1;
	file.rows = &row;
	symbol_file_fixture_build(&file);
	assert_int_equal(cache_fixture_commit_bytes(
				 symbols_run_cache.cache, &identity, file.bytes, file.size),
		0);
	assert_int_equal(look_up("7777 401000"), EXIT_SUCCESS);
	assert_string_equal(ran.out, "a\xef\xbf\xbd[1m\xef\xbf\xbd\xef\xbf\xbd\"b\n"
				     "/x\xef\xbf\xbd\xef\xbf\xbdy:7:0\n\n");
	assert_int_equal(look_up("--json 7777 401000"), EXIT_SUCCESS);
	assert_non_null(strstr(ran.out, "\"function\":\"a\\u001b[1m\xef\xbf\xbd\\n\\\"b\","
					"\"file\":\"/x\\u000d\\ny\",\"line\":7"));
}

static void missing_symbols_are_reported(void **state)
{
	struct symbol_identity negative = cache_fixture_identity(0x9999);

	assert_int_equal(cache_fixture_store(symbols_run_cache.cache, &negative, 0, 0), 0);
	assert_int_equal(look_up("8888 0x1"), EXIT_FAILURE);
	assert_true(command_run_complained("no symbols of '8888'"));
	assert_string_equal(ran.out, "");
	assert_int_equal(look_up("9999 0x1"), EXIT_FAILURE);
	assert_true(command_run_complained("neither symbols nor debug information; install"));
	assert_int_equal(look_up("/proc/self/exe 0x1"), EXIT_FAILURE);
	assert_true(command_run_complained("no symbols of '/proc/self/exe' ("));
}

static void damaged_files_are_not_believed(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(0x3412);

	assert_int_equal(symbols_run_damage(&identity), 0);
	assert_int_equal(look_up("12345a 0x401000"), EXIT_FAILURE);
	assert_true(command_run_complained("no symbols of '12345a'"));
	assert_string_equal(ran.out, "");
}

static void a_cache_that_is_not_there_is_not_made(void **state)
{
	char line[256], folder[128];

	(void)snprintf(folder, sizeof(folder), "%s/none", symbols_run_cache.folder);
	(void)snprintf(line, sizeof(line), "--cache %s 12345a 0x1", folder);
	assert_int_equal(look_up(line), EXIT_FAILURE);
	assert_true(command_run_complained("no symbols of '12345a'"));
	assert_true(access(folder, F_OK) < 0);
}

static void output_that_fails_is_reported(void **state)
{
	int out = dup(STDOUT_FILENO), full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	char *argv[] = { "lookup", "--cache", symbols_run_cache.folder, "12345a", "0x401000",
		NULL };
	int err, status;

	if (full < 0) {
		print_message("no /dev/full\n");
		skip();
	}
	(void)fflush(NULL);
	(void)dup2(full, STDOUT_FILENO);
	err = command_run_replace(STDERR_FILENO, "", 0);
	optind = 0;
	status = command_main(&symbols_lookup, 5, argv);
	command_run_restore(STDERR_FILENO, err, ran.err);
	command_run_restore(STDOUT_FILENO, out, NULL);
	(void)close(full);
	assert_int_equal(status, EXIT_FAILURE);
	assert_true(command_run_complained("cannot write to standard output: No space left"));
}

static void failing_allocations_are_reported(void **state)
{
	assert_true(FAIL_EACH_ALLOCATION(look_up("12345a 0x401010"), EXIT_FAILURE,
			    !*ran.out && command_run_complained(""), EXIT_SUCCESS) > 3);
	assert_string_equal(ran.out, INLINED);
}

#define CACHE_TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, symbols_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(arguments_are_answered),
		CACHE_TEST(lines_are_answered),
		CACHE_TEST(offsets_are_made_vaddrs),
		CACHE_TEST(json_is_an_object_a_line),
		CACHE_TEST(mistakes_keep_the_count),
		CACHE_TEST(mistakes_are_reported_a_few_times),
		CACHE_TEST(many_are_answered_in_order),
		CACHE_TEST(long_lines_are_cut),
		CACHE_TEST(debug_files_alone_have_no_offsets),
		CACHE_TEST(hostile_names_are_cleaned),
		CACHE_TEST(missing_symbols_are_reported),
		CACHE_TEST(damaged_files_are_not_believed),
		CACHE_TEST(a_cache_that_is_not_there_is_not_made),
		CACHE_TEST(output_that_fails_is_reported),
		CACHE_TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
