/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tests/tools/symbols/symbols_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static char path[128], line[256];

static int set_up(void **state)
{
	struct symbol_identity identity = cache_fixture_identity(0x3412);

	if (symbols_run_set_up(state) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/out.gsym", ran.cache.folder);
	(void)snprintf(line, sizeof(line), "--gsym -o %s 1234", path);
	return symbols_run_store_example(&identity);
}

/* The file's size if it begins as GSYM version 1 does, with the build-id's length. */
static long gsym_bytes(void)
{
	static const unsigned char head[6] = { 0x4d, 0x59, 0x53, 0x47, 1, 0 };
	unsigned char found[48];
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	if (fd < 0)
		return -errno;
	size = read(fd, found, sizeof(found));
	(void)close(fd);
	if (size != sizeof(found) || stat(path, &status) < 0)
		return -EIO;
	return memcmp(found, head, sizeof(head)) == 0 && found[7] == 20 ? (long)status.st_size
									: -EBADMSG;
}

static void symbols_are_written(void **state)
{
	char expected[512];

	(void)state;
	assert_int_equal(symbols_run(&symbols_export, line), EXIT_SUCCESS);
	assert_string_equal(ran.out, "");
	assert_string_equal(ran.err, "");
	assert_true(gsym_bytes() > 48);
	(void)strcat(line, " --json");
	assert_int_equal(symbols_run(&symbols_export, line), EXIT_SUCCESS);
	(void)snprintf(expected, sizeof(expected),
		"{\"identity\":\"12345a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a\",\"format\":\"gsym\","
		"\"file\":\"%s\",\"bytes\":%ld}\n",
		path, gsym_bytes());
	assert_string_equal(ran.out, expected);
}

static void standard_output_will_do(void **state)
{
	(void)state;
	assert_int_equal(symbols_run(&symbols_export, "--gsym -o - 1234"), EXIT_SUCCESS);
	assert_memory_equal(ran.out, "MYSG\1", 5);
	assert_int_equal(symbols_run(&symbols_export, "--gsym -o - --json 1234"), 2);
	assert_non_null(strstr(ran.err, "--json needs standard output"));
}

static void failures_leave_no_file(void **state)
{
	struct symbol_identity negative = cache_fixture_identity(0x9999);

	(void)state;
	assert_int_equal(cache_fixture_store(ran.cache.cache, &negative, 0, 0), 0);
	(void)memcpy(line + strlen(line) - 4, "9999", 4);
	assert_int_equal(symbols_run(&symbols_export, line), EXIT_FAILURE);
	assert_true(symbols_run_complained("neither symbols nor debug information"));
	(void)memcpy(line + strlen(line) - 4, "8888", 4);
	assert_int_equal(symbols_run(&symbols_export, line), EXIT_FAILURE);
	assert_true(symbols_run_complained("no symbols of '8888'"));
	assert_int_equal(gsym_bytes(), -ENOENT);
	assert_int_equal(symbols_run(&symbols_export, "--gsym -o /nowhere/x 1234"), EXIT_FAILURE);
	assert_true(symbols_run_complained("/nowhere/x"));
	if (access("/dev/full", W_OK) == 0) {
		assert_int_equal(
			symbols_run(&symbols_export, "--gsym -o /dev/full 1234"), EXIT_FAILURE);
		assert_true(symbols_run_complained("No space left"));
	}
}

static void what_is_out_of_order_is_told(void **state)
{
	static const struct pilotlight_symbol_boundary boundaries[] = { { 8, 1 }, { 4, 1 } };
	struct symbol_identity identity = cache_fixture_identity(0x7777);
	static struct symbol_file_fixture file;

	(void)state;
	symbol_file_fixture_fill(&file);
	memcpy(file.identity, identity.id.bytes, sizeof(file.identity));
	file.boundaries = boundaries;
	file.boundary_count = 2;
	symbol_file_fixture_build(&file);
	assert_int_equal(
		cache_fixture_commit_bytes(ran.cache.cache, &identity, file.bytes, file.size), 0);
	(void)memcpy(line + strlen(line) - 4, "7777", 4);
	assert_int_equal(symbols_run(&symbols_export, line), EXIT_FAILURE);
	assert_true(symbols_run_complained("cannot write '7777' as GSYM: its tables are out of"));
	assert_int_equal(gsym_bytes(), -ENOENT);
}

static void wrong_use_is_told(void **state)
{
	static const char *const lines[] = { "", "1234", "--gsym 1234", "-o x 1234", "--gsym -o x",
		"--gsym -o  1234", "--gsym -o x 1234 5678", "--elf -o x 1234" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(symbols_run(&symbols_export, lines[i]), 2);
		assert_non_null(strstr(ran.err, "symbols export --help"));
	}
	assert_int_equal(symbols_run(&symbols_export, "--help"), EXIT_SUCCESS);
}

static void failing_allocations_are_told(void **state)
{
	size_t n;

	(void)state;
	for (n = 0;; n++) {
		int status;

		fail_allocation(n);
		status = symbols_run(&symbols_export, line);
		if (!allocation_failed())
			break;
		assert_int_equal(status, EXIT_FAILURE);
		assert_memory_equal(ran.err, "pilotlight: ", 12);
		assert_int_equal(gsym_bytes(), -ENOENT);
	}
	assert_int_equal(ran.status, EXIT_SUCCESS);
	assert_true(gsym_bytes() > 48);
	assert_true(n > 5);
}

#define CACHE_TEST(function) \
	cmocka_unit_test_setup_teardown(function, set_up, symbols_run_tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CACHE_TEST(symbols_are_written),
		CACHE_TEST(standard_output_will_do),
		CACHE_TEST(failures_leave_no_file),
		CACHE_TEST(what_is_out_of_order_is_told),
		CACHE_TEST(wrong_use_is_told),
		CACHE_TEST(failing_allocations_are_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
