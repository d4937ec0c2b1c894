/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/symbols/symbols_argument.h"

#include "tests/harness/failing_allocation.h"
#include "tests/symbol/elf_fixture.h"
#include "tests/tools/symbols/symbols_run.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static int parse_address(const char *text, size_t size, uint64_t *ret_address)
{
	/* Exactly as long, so that a read beyond is seen. */
	char *copy = malloc(size ? size : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, text, size);
	r = symbols_argument_address(copy, size, ret_address);
	free(copy);
	return r;
}

static void addresses_are_hexadecimal(void **state)
{
	static const struct {
		const char *text;
		uint64_t address;
	} cases[] = {
		{ "0", 0 },
		{ "0x0", 0 },
		{ "1150", 0x1150 },
		{ "0x1150", 0x1150 },
		{ "0X1aF", 0x1af },
		{ "\t 0x10 \r", 0x10 },
		{ "ffffffffffffffff", UINT64_MAX },
		{ "0x00000000000000000000401000", 0x401000 },
	};
	static const char *const wrong[] = { "", " ", "0x", "x1", "0x 1", "1 2", "-1", "+1", "1g",
		"0x1.", "main" };
	uint64_t address = 77;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(parse_address(cases[i].text, strlen(cases[i].text), &address), 0);
		assert_true(address == cases[i].address);
	}
	address = 77;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_int_equal(parse_address(wrong[i], strlen(wrong[i]), &address), -EINVAL);
	assert_int_equal(parse_address("1\0", 2, &address), -EINVAL);
	assert_int_equal(parse_address("10000000000000000", 17, &address), -ERANGE);
	assert_true(address == 77);
}

/* A file in the current folder, without a slash. */
static void names_of_files_are_paths(void **state)
{
	struct build_id id;
	struct fault fault = { 0 };
	char *before = getcwd(NULL, 0);
	int fd;

	assert_non_null(before);
	assert_int_equal(chdir(symbols_run_cache.folder), 0);
	assert_int_equal(symbols_argument_build_id("abcdef12", &id, &fault), 0);
	fd = open("abcdef12", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	(void)close(fd);
	assert_true(symbols_argument_build_id("abcdef12", &id, &fault) < 0);
	assert_int_equal(chdir(before), 0);
	free(before);
}

static void prefixes_are_found(void **state)
{
	struct symbol_identity one = cache_fixture_identity(0x3412), found;
	struct symbol_identity other = cache_fixture_identity(0x3513), hash = one;
	struct symbol_cache *cache = symbols_run_cache.cache;
	struct fault fault = { 0 };

	hash.kind = PILOTLIGHT_SYMBOL_HTLHASH;
	hash.id.size = 16;
	memset(hash.id.bytes + 16, 0, 4);
	assert_int_equal(cache_fixture_store(cache, &one, 1, 0), 0);
	assert_int_equal(cache_fixture_store(cache, &other, 1, 0), 0);
	assert_int_equal(cache_fixture_store(cache, &hash, 1, 0), 0);
	assert_int_equal(symbols_argument_find(cache, "12345", &found, &fault), 0);
	assert_true(symbol_identity_equal(&found, &one));
	assert_int_equal(symbols_argument_find(cache, "1335", &found, &fault), 0);
	assert_true(symbol_identity_equal(&found, &other));
	assert_int_equal(symbols_argument_find(cache, "12345A5a", &found, &fault), 0);
	assert_true(symbol_identity_equal(&found, &one));
	assert_int_equal(symbols_argument_find(cache, "htlhash:1234", &found, &fault), 0);
	assert_true(symbol_identity_equal(&found, &hash));
	assert_int_equal(symbols_argument_find(
				 cache, "12345a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a", &found, &fault),
		0);
	assert_true(symbol_identity_equal(&found, &one));
	assert_string_equal(fault.text, "");
}

static void prefixes_that_fail_are_reported(void **state)
{
	static const struct {
		const char *text;
		int error;
		const char *words;
	} cases[] = {
		{ "777777", -ENOENT, "no symbols of '777777'" },
		{ "123", -EINVAL, "first 4 hex digits" },
		{ "main", -EINVAL, "'main' is no build-id" },
		{ "", -EINVAL, "'' is no build-id" },
		{ "htlhash:", -EINVAL, "is no build-id" },
		{ "12345a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a", -EINVAL, "is no build-id" },
		{ "./nothing", -ENOENT, "cannot open './nothing'" },
		{ "/dev/null", -ENOEXEC, "'/dev/null' is not an ELF file" },
	};
	struct symbol_identity found, identity;
	struct symbol_cache *cache = symbols_run_cache.cache;

	for (uint32_t i = 0; i < 6; i++) {
		identity = cache_fixture_identity(0x3412);
		identity.id.bytes[2] = (uint8_t)i;
		assert_int_equal(cache_fixture_store(cache, &identity, 1, 0), 0);
	}
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct fault fault = { 0 }, without = { 0 };

		found = identity;
		assert_int_equal(symbols_argument_find(cache, cases[i].text, &found, &fault),
			cases[i].error);
		assert_non_null(strstr(fault.text, cases[i].words));
		assert_int_equal(symbols_argument_find(NULL, cases[i].text, &found, &without),
			cases[i].error);
		assert_string_equal(fault.text, without.text);
		assert_true(symbol_identity_equal(&found, &identity));
	}
	{
		struct fault fault = { 0 };

		assert_int_equal(symbols_argument_find(cache, "1234", &found, &fault), -EEXIST);
		assert_non_null(strstr(fault.text, "'1234' begins 6 build-ids: 1234005a5a"));
		assert_non_null(strstr(fault.text, ", 1234015a5a"));
		assert_non_null(strstr(fault.text, ", …; give more digits"));
		assert_null(strstr(fault.text, "1234045a"));
	}
}

/* As the kernel gives it, and as its beginning. */
static void short_build_ids_are_found(void **state)
{
	struct symbol_identity identity = { .kind = PILOTLIGHT_SYMBOL_BUILD_ID,
		.id = { .bytes = { 1, 2, 3, 4, 5, 6, 7, 8 }, .size = 8 } };
	static const char *const texts[] = { "0102030405060708",
		"0102030405060708000000000000000000000000", "01020304", "010203040" };
	struct symbol_identity found;
	struct fault fault = { 0 };

	assert_int_equal(cache_fixture_store(symbols_run_cache.cache, &identity, 1, 0), 0);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		assert_int_equal(
			symbols_argument_find(symbols_run_cache.cache, texts[i], &found, &fault),
			0);
		assert_true(symbol_identity_equal(&found, &identity));
		assert_int_equal(found.id.size, 8);
	}
}

static void a_build_id_is_read_from_the_file(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	static struct fixture elf;
	struct symbol_identity identity;
	struct fault fault = { 0 };
	char path[64], hex[BUILD_ID_HEX_BYTES];
	struct build_id id = { .size = 9 };
	int fd;

	assert_int_equal(symbols_argument_build_id("0102030405060708", &id, &fault), 0);
	assert_string_equal(build_id_format(&id, hex), "0102030405060708");
	elf = (struct fixture){ .build_id = bytes, .build_id_bytes = sizeof(bytes) };
	fixture_build(&elf);
	fd = fixture_fd(&elf);
	assert_true(fd >= 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	/* Whoever may have written it. */
	assert_int_equal(fchmod(fd, 0666), 0);
	assert_int_equal(symbols_argument_find(NULL, path, &identity, &fault), 0);
	assert_int_equal(identity.kind, PILOTLIGHT_SYMBOL_OWNED);
	id.size = 0;
	assert_int_equal(symbols_argument_build_id(path, &id, &fault), 0);
	assert_string_equal(build_id_format(&id, hex), "0102030405060708");
	(void)close(fd);

	assert_int_equal(symbols_argument_build_id(path, &id, &fault), -ENOENT);
	assert_int_equal(symbols_argument_build_id("/dev/null", &id, &fault), -ENOEXEC);
	fault.text[0] = '\0';
	assert_int_equal(symbols_argument_build_id("owned:0102", &id, &fault), -EINVAL);
	assert_non_null(strstr(fault.text, "has no build-id"));
	fault.text[0] = '\0';
	assert_int_equal(symbols_argument_build_id("main", &id, &fault), -EINVAL);
	assert_non_null(strstr(fault.text, "'main' is neither"));
	elf.build_id_bytes = 0;
	fixture_build(&elf);
	fd = fixture_fd(&elf);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fault.text[0] = '\0';
	assert_int_equal(symbols_argument_build_id(path, &id, &fault), -EINVAL);
	assert_non_null(strstr(fault.text, "has no build-id"));
	assert_string_equal(build_id_format(&id, hex), "0102030405060708");
	(void)close(fd);
}

static void failing_allocations_are_reported(void **state)
{
	struct symbol_identity one = cache_fixture_identity(0x3412), found;
	size_t n;

	assert_int_equal(cache_fixture_store(symbols_run_cache.cache, &one, 1, 0), 0);
	for (n = 0;; n++) {
		struct fault fault = { 0 };
		int r;

		fail_allocation(n);
		r = symbols_argument_find(symbols_run_cache.cache, "12345a", &found, &fault);
		if (!allocation_failed()) {
			assert_int_equal(r, 0);
			break;
		}
		assert_int_equal(r, -ENOMEM);
		assert_non_null(strstr(fault.text, "cannot read the symbol cache"));
	}
	assert_true(n > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(addresses_are_hexadecimal),
		cmocka_unit_test(a_build_id_is_read_from_the_file),
		cmocka_unit_test_setup_teardown(
			names_of_files_are_paths, symbols_run_set_up, symbols_run_tear_down),
		cmocka_unit_test_setup_teardown(
			prefixes_are_found, symbols_run_set_up, symbols_run_tear_down),
		cmocka_unit_test_setup_teardown(
			prefixes_that_fail_are_reported, symbols_run_set_up, symbols_run_tear_down),
		cmocka_unit_test_setup_teardown(
			short_build_ids_are_found, symbols_run_set_up, symbols_run_tear_down),
		cmocka_unit_test_setup_teardown(failing_allocations_are_reported,
			symbols_run_set_up, symbols_run_tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
