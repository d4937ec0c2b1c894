/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/symbol_table.h"
#include "tests/harness/failing_allocation.h"
#include "tests/symbol/elf_fixture.h"

#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { GLOBAL_FUNCTION = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC) };

static const struct fixture_symbol two[] = {
	{ "first", FIXTURE_TEXT_VADDR, 16, GLOBAL_FUNCTION, FIXTURE_TEXT },
	{ "second", FIXTURE_TEXT_VADDR + 0x20, 0x30, GLOBAL_FUNCTION, FIXTURE_TEXT },
};

static int open_table(struct symbol_table *table, int fd)
{
	struct elf_file file;
	int r = elf_file_init(&file, fd);

	return r < 0 ? r : symbol_table_open(table, &file, SHT_SYMTAB);
}

static int open_fixture(const struct fixture *fixture, struct symbol_table *table, int *fd)
{
	*fd = fixture_fd(fixture);
	assert_true(*fd >= 0);
	return open_table(table, *fd);
}

/* Opens and closes it. */
static int try_fixture(const struct fixture *fixture)
{
	_cleanup_close_ int fd = -1;
	struct symbol_table table;
	int r;

	r = open_fixture(fixture, &table, &fd);
	if (r == 0)
		symbol_table_close(&table);
	return r;
}

static int keep_symbol(void *context, const Elf64_Sym *symbol)
{
	Elf64_Sym **next = context;

	*(*next)++ = *symbol;
	return 0;
}

static int refuse_symbol(void *context, const Elf64_Sym *symbol)
{
	(void)symbol;
	return ++*(int *)context == 2 ? -EPIPE : 0;
}

static void symbols_of_all_classes_are_read(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct fixture fixture = {
			.is_narrow = i & 1, .is_swapped = i & 2, .symbols = two, .symbol_count = 2
		};
		_cleanup_close_ int fd = -1;
		struct wanted_symbol wanted[] = { { .name = "third" }, { .name = "second" } };
		Elf64_Sym symbols[3], *end = symbols;
		char name[SYMBOL_NAME_BYTES];
		struct symbol_table table;
		size_t length;
		int seen = 0;

		fixture_build(&fixture);
		assert_int_equal(open_fixture(&fixture, &table, &fd), 0);
		assert_int_equal(table.section_count, FIXTURE_SECTIONS);
		assert_int_equal(table.sections[FIXTURE_TEXT_2].start, FIXTURE_TEXT_2_VADDR);
		assert_int_equal(table.sections[FIXTURE_TEXT_2].end,
			FIXTURE_TEXT_2_VADDR + FIXTURE_TEXT_2_BYTES);
		assert_true(table.sections[FIXTURE_TEXT_2].is_executable);
		assert_false(table.sections[FIXTURE_DATA].is_executable);
		assert_int_equal(table.sections[FIXTURE_STRINGS].end, 0);
		assert_int_equal(symbol_table_each(&table, keep_symbol, &end), 0);
		assert_ptr_equal(end, symbols + 3);
		assert_int_equal(symbols[2].st_value, two[1].value);
		assert_int_equal(symbols[2].st_size, two[1].size);
		assert_int_equal(symbols[2].st_info, GLOBAL_FUNCTION);
		assert_int_equal(symbols[2].st_shndx, FIXTURE_TEXT);
		assert_int_equal(
			symbol_table_read_name(&table, symbols[2].st_name, name, &length), 0);
		assert_string_equal(name, "second");
		assert_int_equal(length, 6);
		assert_int_equal(symbol_table_each(&table, refuse_symbol, &seen), -EPIPE);
		assert_int_equal(seen, 2);
		assert_int_equal(symbol_table_find(&table, wanted, 2), 0);
		assert_int_equal(wanted[0].vaddr, 0);
		assert_int_equal(wanted[1].vaddr, two[1].value);
		assert_int_equal(wanted[1].bytes, two[1].size);
		symbol_table_close(&table);
	}
}

static void files_without_the_table_have_no_data(void **state)
{
	struct fixture fixture = { .symbols = two, .symbol_count = 2, .table_type = SHT_DYNSYM };

	fixture_build(&fixture);
	assert_int_equal(try_fixture(&fixture), -ENODATA);
	fixture.table_type = SHT_SYMTAB;
	fixture.symbol_count = 0;
	fixture_build(&fixture);
	assert_int_equal(try_fixture(&fixture), -ENODATA);
	fixture.symbol_count = 2;
	fixture.type = ET_REL;
	fixture_build(&fixture);
	assert_int_equal(try_fixture(&fixture), -ENODATA);
	/* No section headers. */
	fixture.type = ET_EXEC;
	fixture_build(&fixture);
	fixture_patch(&fixture, 40, 0, 8);
	assert_int_equal(try_fixture(&fixture), -ENODATA);
}

/* Sets one field of one section header and says what comes of it. */
static int try_damage(size_t section, size_t offset, uint64_t value, size_t size)
{
	struct fixture fixture = { .symbols = two, .symbol_count = 2 };

	fixture_build(&fixture);
	fixture_patch(&fixture, fixture.shdrs + section * fixture.shdr_bytes + offset, value, size);
	return try_fixture(&fixture);
}

static void damaged_tables_are_refused(void **state)
{
	struct fixture fixture = { .symbols = two, .symbol_count = 2 };
	Elf64_Shdr shdr;

	assert_int_equal(
		try_damage(FIXTURE_SYMBOLS, offsetof(Elf64_Shdr, sh_entsize), 23, 8), -ENOEXEC);
	assert_int_equal(
		try_damage(FIXTURE_SYMBOLS, offsetof(Elf64_Shdr, sh_entsize), 0, 8), -ENOEXEC);
	assert_int_equal(
		try_damage(FIXTURE_SYMBOLS, offsetof(Elf64_Shdr, sh_size), 71, 8), -ENOEXEC);
	assert_int_equal(
		try_damage(FIXTURE_SYMBOLS, offsetof(Elf64_Shdr, sh_size), UINT64_MAX - 15, 8),
		-ENOEXEC);
	assert_int_equal(
		try_damage(FIXTURE_SYMBOLS, offsetof(Elf64_Shdr, sh_offset), UINT64_MAX - 71, 8),
		-ENOEXEC);
	assert_int_equal(
		try_damage(FIXTURE_SYMBOLS, offsetof(Elf64_Shdr, sh_link), FIXTURE_SECTIONS, 4),
		-ENOEXEC);
	assert_int_equal(
		try_damage(FIXTURE_SYMBOLS, offsetof(Elf64_Shdr, sh_link), FIXTURE_NOTE, 4),
		-ENOEXEC);
	assert_int_equal(
		try_damage(FIXTURE_STRINGS, offsetof(Elf64_Shdr, sh_size), 0, 8), -ENOEXEC);
	assert_int_equal(try_damage(FIXTURE_STRINGS, offsetof(Elf64_Shdr, sh_size), UINT64_MAX, 8),
		-ENOEXEC);
	/* Names that do not end with a NUL. */
	assert_int_equal(
		try_damage(FIXTURE_STRINGS, offsetof(Elf64_Shdr, sh_size), 3, 8), -ENOEXEC);

	/* A section that ends beyond all addresses is taken as far as they go. */
	fixture_build(&fixture);
	fixture_patch(&fixture,
		fixture.shdrs + FIXTURE_TEXT * fixture.shdr_bytes + offsetof(Elf64_Shdr, sh_size),
		UINT64_MAX, sizeof(shdr.sh_size));
	{
		_cleanup_close_ int fd = -1;
		struct symbol_table table;

		assert_int_equal(open_fixture(&fixture, &table, &fd), 0);
		assert_true(table.sections[FIXTURE_TEXT].end == UINT64_MAX);
		symbol_table_close(&table);
	}
}

static void tables_beyond_the_bounds_are_refused(void **state)
{
	struct fixture fixture = { .symbols = two, .symbol_count = 2 };
	_cleanup_close_ int fd = -1;
	struct symbol_table table;
	uint64_t bytes = (UINT64_C(1) + SYMBOL_TABLE_SYMBOLS_MAX) * sizeof(Elf64_Sym);

	fixture_build(&fixture);
	fixture_patch(&fixture,
		fixture.shdrs + FIXTURE_SYMBOLS * fixture.shdr_bytes +
			offsetof(Elf64_Shdr, sh_size),
		bytes, 8);
	fd = fixture_fd(&fixture);
	/* A hole: the file is as long as it says. */
	assert_int_equal(ftruncate(fd, (off_t)(bytes + 64 * 1024)), 0);
	assert_int_equal(open_table(&table, fd), -EFBIG);
	(void)close(fd);

	/* The number of sections is in the first one, and is too great. */
	fixture_build(&fixture);
	fixture_patch(&fixture, 60, 0, 2);
	fixture_patch(&fixture, fixture.shdrs + offsetof(Elf64_Shdr, sh_size),
		SYMBOL_TABLE_SECTIONS_MAX + 1, 8);
	fd = fixture_fd(&fixture);
	assert_int_equal(ftruncate(fd, 16 * 1024 * 1024), 0);
	assert_int_equal(open_table(&table, fd), -EFBIG);
	(void)close(fd);

	/* There it may also be right. */
	fixture_patch(&fixture, fixture.shdrs + offsetof(Elf64_Shdr, sh_size), FIXTURE_SECTIONS, 8);
	fd = fixture_fd(&fixture);
	assert_int_equal(open_table(&table, fd), 0);
	assert_int_equal(table.section_count, FIXTURE_SECTIONS);
	symbol_table_close(&table);
}

static void names_are_read_as_far_as_there_is_room(void **state)
{
	static char long_name[20000], name[SYMBOL_NAME_BYTES];
	const struct fixture_symbol symbols[] = { { long_name, FIXTURE_TEXT_VADDR, 1,
		GLOBAL_FUNCTION, FIXTURE_TEXT } };
	struct fixture fixture = { .symbols = symbols, .symbol_count = 1 };
	static const size_t lengths[] = { 0, 1, 255, 256, 257, 1023, 1024, 16382, 16383 };
	_cleanup_close_ int fd = -1;
	struct symbol_table table;
	size_t length;

	memset(long_name, 'n', sizeof(long_name) - 1);
	fixture_build(&fixture);
	assert_int_equal(open_fixture(&fixture, &table, &fd), 0);
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
		assert_int_equal(symbol_table_read_name(&table,
					 (uint32_t)(sizeof(long_name) - lengths[i]), name, &length),
			0);
		assert_int_equal(length, lengths[i]);
		assert_int_equal(strlen(name), lengths[i]);
	}
	assert_int_equal(symbol_table_read_name(&table, 1, name, &length), 0);
	assert_int_equal(length, SYMBOL_NAME_BYTES - 1);
	assert_int_equal(strlen(name), SYMBOL_NAME_BYTES - 1);
	assert_int_equal(
		symbol_table_read_name(&table, (uint32_t)table.strings_bytes, name, &length),
		-ENOEXEC);
	assert_int_equal(symbol_table_read_name(&table, UINT32_MAX, name, &length), -ENOEXEC);

	/* The file shrinks after it was opened, or loses the NUL at its end. */
	assert_int_equal(pwrite(fd, "n", 1, (off_t)fixture.size - 1), 1);
	assert_int_equal(symbol_table_read_name(&table, 19000, name, &length), -ENOEXEC);
	assert_int_equal(ftruncate(fd, (off_t)fixture.strings), 0);
	assert_int_equal(symbol_table_read_name(&table, 1, name, &length), -ENOEXEC);
	symbol_table_close(&table);
}

static void failing_allocations_are_reported(void **state)
{
	struct wanted_symbol wanted = { .name = "second" };
	struct fixture fixture = { .symbols = two, .symbol_count = 2 };
	_cleanup_close_ int fd = -1;
	struct symbol_table table;

	fixture_build(&fixture);
	fd = fixture_fd(&fixture);
	assert_int_equal(FAIL_EACH_ALLOCATION(open_table(&table, fd), -ENOMEM, true, 0), 1);
	assert_int_equal(FAIL_EACH_ALLOCATION(symbol_table_find(&table, &wanted, 1), -ENOMEM,
				 wanted.vaddr == 0, 0),
		1);
	symbol_table_close(&table);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(symbols_of_all_classes_are_read),
		cmocka_unit_test(files_without_the_table_have_no_data),
		cmocka_unit_test(damaged_tables_are_refused),
		cmocka_unit_test(tables_beyond_the_bounds_are_refused),
		cmocka_unit_test(names_are_read_as_far_as_there_is_room),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
