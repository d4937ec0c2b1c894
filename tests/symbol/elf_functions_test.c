/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_functions.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/elf_fixture.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static const char *const names[] = { "calloc", "free", "malloc" };
enum { CALLOC, FREE, MALLOC };

#define FUNCTION(function, at, section_)                                            \
	{                                                                           \
		.name = (function), .value = FIXTURE_TEXT_VADDR + (at), .size = 16, \
		.info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC), .section = (section_)  \
	}

static const struct fixture_symbol symbols[] = {
	FUNCTION("malloc", 0x40, FIXTURE_TEXT),
	FUNCTION("mallocx", 0x60, FIXTURE_TEXT),
	FUNCTION("free", 0x80, FIXTURE_TEXT),
	FUNCTION("calloc", 0x40, FIXTURE_TEXT), /* the same code as malloc */
	FUNCTION("free", 0x2000, FIXTURE_TEXT), /* in no segment */
	FUNCTION("calloc", 0, SHN_UNDEF),	/* of another file */
	{ .name = "free",
		.value = FIXTURE_TEXT_VADDR + 0xc0,
		.info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT),
		.section = FIXTURE_TEXT },
};

static int find(
	const struct fixture *fixture, struct elf_function *found, size_t max, size_t *ret_count)
{
	_cleanup_close_ int fd = fixture_fd(fixture);

	assert_true(fd >= 0);
	return elf_functions_find(fd, names, ARRAY_SIZE(names), found, max, ret_count);
}

static void functions_are_found_in_all_classes_and_tables(void **state)
{
	for (int i = 0; i < 8; i++) {
		struct fixture fixture = {
			.is_narrow = i & 1,
			.is_swapped = i & 2,
			.table_type = i & 4 ? SHT_DYNSYM : SHT_SYMTAB,
			.symbols = symbols,
			.symbol_count = ARRAY_SIZE(symbols),
		};
		struct elf_function found[4];
		size_t count = 7;

		fixture_build(&fixture);
		assert_int_equal(find(&fixture, found, ARRAY_SIZE(found), &count), 0);
		assert_int_equal(count, 2);
		assert_int_equal(found[0].name, CALLOC);
		assert_int_equal(found[0].offset, FIXTURE_TEXT_OFFSET + 0x40);
		assert_int_equal(found[0].size, 16);
		assert_int_equal(found[1].name, FREE);
		assert_int_equal(found[1].offset, FIXTURE_TEXT_OFFSET + 0x80);
	}
}

static void more_than_fit_are_left_out(void **state)
{
	struct fixture fixture = { .symbols = symbols, .symbol_count = ARRAY_SIZE(symbols) };
	struct elf_function found[1];
	size_t count;

	fixture_build(&fixture);
	assert_int_equal(find(&fixture, found, 1, &count), 0);
	assert_int_equal(count, 1);
}

static void a_file_without_the_functions_has_none(void **state)
{
	struct fixture fixture = { .symbols = &symbols[1], .symbol_count = 1 };
	struct elf_function found[1];
	size_t count = 7;

	fixture_build(&fixture);
	assert_int_equal(find(&fixture, found, 1, &count), 0);
	assert_int_equal(count, 0);
}

static void what_is_no_elf_file_is_refused(void **state)
{
	struct elf_function found[1];
	_cleanup_close_ int fd = fixture_bytes_fd("#!/bin/sh\n", 10);
	size_t count = 7;

	assert_int_equal(
		elf_functions_find(fd, names, ARRAY_SIZE(names), found, 1, &count), -ENOEXEC);
	assert_int_equal(count, 7);
}

static void damaged_tables_are_skipped(void **state)
{
	static const struct {
		size_t field; /* in the wide section header */
		uint64_t value;
	} damages[] = {
		{ offsetof(Elf64_Shdr, sh_link), 999 },
		{ offsetof(Elf64_Shdr, sh_link), FIXTURE_TEXT },
		{ offsetof(Elf64_Shdr, sh_offset), UINT64_MAX - 8 },
		{ offsetof(Elf64_Shdr, sh_size), UINT64_MAX },
	};

	for (size_t i = 0; i < ARRAY_SIZE(damages); i++) {
		struct fixture fixture = { .symbols = symbols,
			.symbol_count = ARRAY_SIZE(symbols) };
		struct elf_function found[4];
		size_t count;

		fixture_build(&fixture);
		fixture_patch(&fixture,
			fixture.shdrs + FIXTURE_SYMBOLS * fixture.shdr_bytes + damages[i].field,
			damages[i].value,
			damages[i].field == offsetof(Elf64_Shdr, sh_link) ? 4 : 8);
		assert_int_equal(find(&fixture, found, ARRAY_SIZE(found), &count), 0);
		assert_int_equal(count, 0);
	}
}

static void names_beyond_their_table_are_no_names(void **state)
{
	struct fixture fixture = { .symbols = symbols, .symbol_count = 1 };
	struct elf_function found[1];
	size_t count;

	fixture_build(&fixture);
	fixture_patch(&fixture,
		fixture.shdrs + FIXTURE_STRINGS * fixture.shdr_bytes +
			offsetof(Elf64_Shdr, sh_size),
		1, 8);
	assert_int_equal(find(&fixture, found, 1, &count), 0);
	assert_int_equal(count, 0);
}

static void every_allocation_may_fail(void **state)
{
	struct fixture fixture = { .symbols = symbols, .symbol_count = ARRAY_SIZE(symbols) };
	struct elf_function found[4];
	size_t count = 7;

	fixture_build(&fixture);
	assert_int_equal(FAIL_EACH_ALLOCATION(find(&fixture, found, ARRAY_SIZE(found), &count),
				 -ENOMEM, count == 7, 0),
		1);
	assert_int_equal(count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_found_in_all_classes_and_tables),
		cmocka_unit_test(more_than_fit_are_left_out),
		cmocka_unit_test(a_file_without_the_functions_has_none),
		cmocka_unit_test(what_is_no_elf_file_is_refused),
		cmocka_unit_test(damaged_tables_are_skipped),
		cmocka_unit_test(names_beyond_their_table_are_no_names),
		cmocka_unit_test(every_allocation_may_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
