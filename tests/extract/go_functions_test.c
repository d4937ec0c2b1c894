/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/extract/extraction_fixture.h"

#include "tests/dwarf/go_fixture.h"
#include "tests/harness/counted_reads.h"
#include "tests/harness/failing_allocation.h"

static struct go_fixture fixture;

static int set_up_go(void **state)
{
	go_fixture_init(&fixture, GO_1_20);
	return set_up(state);
}

static int extract_go(void)
{
	return extract_fds(go_fixture_fd(&fixture), -1, -1);
}

#define assert_line(at, expected) assert_chain(GO_FIXTURE_TEXT + (at), expected)

/*
 * outer() has two files; it inlines middle(), which inlines inner(), and inner() once more by
 * itself.
 */
static struct go_fixture_function *add_functions(void)
{
	struct go_fixture_function *function;
	uint32_t unit = go_fixture_file(&fixture, "/src/outer.go");

	(void)go_fixture_file(&fixture, "/src/inner.go");
	function = go_fixture_function(&fixture, "main.outer[...]", 0x20);
	function->unit = unit;
	function->file = GO_PROGRAM(&fixture, { 0, 0x10 }, { 1, 0x20 }, { 0, 0x20 });
	function->line = GO_PROGRAM(
		&fixture, { 10, 0x8 }, { 11, 0x8 }, { 20, 0x10 }, { 21, 0x10 }, { 12, 0x20 });
	function->inlined = GO_PROGRAM(&fixture, { -1, 0x10 }, { 1, 0x10 }, { 0, 0x8 }, { 2, 0x8 });
	function->inlined_calls = 0;
	(void)go_fixture_inlined(&fixture, "main.middle", 0x8); /* called at outer.go:11 */
	(void)go_fixture_inlined(&fixture, "main.inner", 0x20); /* by middle, at inner.go:21 */
	(void)go_fixture_inlined(&fixture, "main.inner", 0x40); /* at outer.go:12 */
	(void)go_fixture_function(&fixture, "main.last", 0x80);
	fixture.functions_end = 0xa0;
	return function;
}

static void assert_names(void)
{
	assert_line(0x1f, "");
	assert_line(0x20, "main.outer[...] /src/outer.go:10:0");
	assert_line(0x2f, "main.outer[...] /src/outer.go:11:0");
	assert_line(0x30, "main.inner /src/inner.go:20:0 < main.middle /src/inner.go:21:0 < "
			  "main.outer[...] /src/outer.go:11:0");
	assert_line(0x40, "main.middle /src/inner.go:21:0 < main.outer[...] /src/outer.go:11:0");
	assert_line(0x48, "main.inner /src/inner.go:21:0 < main.outer[...] /src/outer.go:12:0");
	assert_line(0x50, "main.outer[...] /src/outer.go:12:0");
	assert_line(0x70, "main.outer[...] :0:0");
	assert_line(0x80, "main.last :0:0");
	assert_line(0xa0, "");
}

static void stripped_programs_have_names_lines_and_inlined_calls(void **state)
{
	static const enum go_version versions[] = { GO_1_18, GO_1_20 };

	for (size_t i = 0; i < 2; i++) {
		go_fixture_init(&fixture, versions[i]);
		(void)add_functions();
		go_fixture_finish(&fixture);
		assert_int_equal(extract_go(), 0);
		assert_names();
		assert_int_equal(
			symbol_file_header(file)->contents, PILOTLIGHT_SYMBOL_HAS_GO_TABLE);
		assert_int_equal(symbol_file_header(file)->units_failed, 0);
		assert_int_equal(symbol_file_header(file)->names_failed, 0);
	}
}

/* Its inlined calls are at addresses that may need relocations. */
static void go_1_16_has_names_and_lines(void **state)
{
	go_fixture_init(&fixture, GO_1_16);
	(void)add_functions();
	go_fixture_finish(&fixture);
	assert_int_equal(extract_go(), 0);
	assert_line(0x20, "main.outer[...] /src/outer.go:10:0");
	assert_line(0x30, "main.outer[...] /src/inner.go:20:0");
	assert_line(0x80, "main.last :0:0");
}

/* Calls that call each other end all the same; so do numbers without a call. */
static void calls_that_make_no_sense_end(void **state)
{
	struct go_fixture_function *function = add_functions();

	function->inlined =
		GO_PROGRAM(&fixture, { 0, 0x10 }, { 1, 0x10 }, { 1 << 20, 0x8 }, { -5, 0x8 });
	fixture.inlined_count = 0;
	(void)go_fixture_inlined(&fixture, "main.a", 0x10); /* by b */
	(void)go_fixture_inlined(&fixture, "main.b", 0);    /* by a */
	go_fixture_finish(&fixture);
	assert_int_equal(extract_go(), 0);
	assert_true(strstr(look_up(GO_FIXTURE_TEXT + 0x20), "main.a") != NULL);
	assert_true(strstr(look_up(GO_FIXTURE_TEXT + 0x30), "main.b") != NULL);
	assert_line(0x40, "main.outer[...] /src/inner.go:21:0");
	assert_line(0x48, "main.outer[...] /src/inner.go:21:0");
	/* A name that is none. */
	go_fixture_put(&fixture, GO_FIXTURE_INLINED + 4, GO_FIXTURE_TABLE_BYTES, 4);
	assert_int_equal(extract_go(), 0);
	assert_true(symbol_file_header(file)->names_failed > 0);
}

static void functions_do_not_overlap(void **state)
{
	(void)add_functions();
	(void)go_fixture_function(&fixture, "main.again", 0x40);
	go_fixture_finish(&fixture);
	assert_int_equal(extract_go(), 0);
	assert_line(0x20, "main.outer[...] /src/outer.go:10:0");
	assert_line(0x90, "");
	assert_int_equal(symbol_file_header(file)->units_failed, 2);
}

static void damage_costs_no_more_than_itself(void **state)
{
	struct go_fixture_function *function = add_functions();

	function->line = GO_FIXTURE_TABLE_BYTES;
	go_fixture_finish(&fixture);
	assert_int_equal(extract_go(), 0);
	assert_line(0x20, "main.outer[...] :0:0");
	assert_int_equal(symbol_file_header(file)->units_failed, 1);
	/* A function without a place in the table. */
	go_fixture_put(&fixture, go_fixture_entry(&fixture, 1), GO_FIXTURE_TABLE_BYTES, 4);
	assert_int_equal(extract_go(), 0);
	assert_line(0x20, "");
	assert_line(0x80, "main.last :0:0");
	assert_int_equal(symbol_file_header(file)->units_failed, 1);
	/* No place for the name: the functions come in order, and the names last. */
	go_fixture_put(&fixture, go_fixture_entry(&fixture, 1), GO_FIXTURE_RECORDS, 4);
	go_fixture_put(&fixture, GO_FIXTURE_TABLE + GO_FIXTURE_FUNCTIONS + GO_FIXTURE_RECORDS + 4,
		GO_FIXTURE_TABLE_BYTES, 4);
	assert_int_equal(extract_go(), 0);
	assert_line(0x20, "");
	assert_int_equal(symbol_file_header(file)->names_failed, 1);
	/* The table. */
	go_fixture_put(&fixture, GO_FIXTURE_TABLE + 8, UINT32_MAX, 8);
	assert_int_equal(extract_go(), -ENOEXEC);
	/* A table that is not understood is none. */
	go_fixture_put(&fixture, GO_FIXTURE_TABLE, 0, 8);
	assert_int_equal(extract_go(), -ENODATA);
}

/*
 * Entries of eight bytes refer to one function, whose inlined call has a high number. Each would
 * read all calls before it.
 */
static void functions_cannot_share_inlined_calls_without_end(void **state)
{
	enum { COUNT = 63, CALLS_BYTES = 0x3000, CALLS = CALLS_BYTES / 16, TIMES = 8 };
	const uint64_t segment = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr);
	struct go_fixture_function *function = go_fixture_function(&fixture, "main.many", 0);

	function->inlined = GO_PROGRAM(&fixture, { CALLS - 1, 1 });
	function->inlined_calls = 0;
	go_fixture_finish(&fixture);
	for (uint32_t i = 0; i <= COUNT; i++) {
		go_fixture_put(&fixture, go_fixture_entry(&fixture, 2 * i), i, 4);
		if (i < COUNT)
			go_fixture_put(&fixture, go_fixture_entry(&fixture, 2 * i + 1),
				GO_FIXTURE_RECORDS, 4);
	}
	go_fixture_put(&fixture, GO_FIXTURE_TABLE + 8, COUNT, 8);
	go_fixture_put(&fixture, segment + offsetof(Elf64_Phdr, p_filesz), CALLS_BYTES, 8);
	/* Called by the function itself. */
	go_fixture_put(&fixture, GO_FIXTURE_INLINED + (CALLS - 1) * 16 + 8, 1, 4);
	counted_reads.bytes = 0;
	assert_int_equal(extract_go(), 0);
	assert_true(counted_reads.bytes < TIMES * GO_FIXTURE_BYTES);
	assert_true(symbol_file_header(file)->units_failed > 0);
	assert_line(0, " :0:0 < main.many :0:0");
}

/* Adds a symbol table with one function at the start of the code. */
static void add_symbol_table(void)
{
	enum { STRINGS = GO_FIXTURE_HEADERS + 0xa00, SYMBOLS = GO_FIXTURE_HEADERS + 0xb00 };
	static const char strings[] = "\0linked";
	const Elf64_Shdr sections[] = {
		{ .sh_type = SHT_SYMTAB,
			.sh_offset = SYMBOLS,
			.sh_size = 2 * sizeof(Elf64_Sym),
			.sh_link = 6,
			.sh_entsize = sizeof(Elf64_Sym) },
		{ .sh_type = SHT_STRTAB, .sh_offset = STRINGS, .sh_size = sizeof(strings) },
		{ .sh_type = SHT_PROGBITS,
			.sh_flags = SHF_ALLOC | SHF_EXECINSTR,
			.sh_addr = GO_FIXTURE_TEXT,
			.sh_size = GO_FIXTURE_CODE_BYTES },
	};
	const Elf64_Sym symbol = {
		.st_name = 1,
		.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		.st_shndx = 7,
		.st_value = GO_FIXTURE_TEXT,
		.st_size = 0x10,
	};

	memcpy(fixture.bytes + GO_FIXTURE_HEADERS + 5 * sizeof(Elf64_Shdr), sections,
		sizeof(sections));
	memcpy(fixture.bytes + STRINGS, strings, sizeof(strings));
	memcpy(fixture.bytes + SYMBOLS + sizeof(symbol), &symbol, sizeof(symbol));
	go_fixture_put(&fixture, offsetof(Elf64_Ehdr, e_shnum), 8, 2);
}

static void a_table_that_is_too_big_costs_no_other_names(void **state)
{
	_cleanup_close_ int fd = -1;

	(void)add_functions();
	go_fixture_finish(&fixture);
	add_symbol_table();
	go_fixture_put(&fixture,
		GO_FIXTURE_HEADERS + 4 * sizeof(Elf64_Shdr) + offsetof(Elf64_Shdr, sh_size),
		GO_TABLE_BYTES_MAX + 1, 8);
	fd = go_fixture_fd(&fixture);
	assert_int_equal(ftruncate(fd, 2LL * GO_TABLE_BYTES_MAX), 0);
	assert_int_equal(extract_fds(TAKE_FD(fd), -1, -1), 0);
	assert_line(0, "linked :0:0");
	assert_line(0x20, "");
	assert_int_equal(symbol_file_header(file)->units_failed, 1);
}

static void no_room_is_an_error(void **state)
{
	(void)add_functions();
	go_fixture_finish(&fixture);
	request.scratch_bytes_max = 64 * 1024;
	assert_int_equal(extract_go(), -EFBIG);
}

/* The output is not read, which would allocate as well. */
static int extract_only(void)
{
	_cleanup_close_ int binary = go_fixture_fd(&fixture);
	_cleanup_close_ int scratch = memfd_create("scratch", MFD_CLOEXEC);
	_cleanup_close_ int output = memfd_create("output", MFD_CLOEXEC);
	const struct extraction_files files = { .binary_fd = binary,
		.debug_fd = -1,
		.alternate_fd = -1,
		.package_fd = -1,
		.scratch_fd = scratch,
		.output_fd = output };

	return extraction_run(&files, &request, &report);
}

static void a_failed_allocation_is_an_error(void **state)
{
	(void)add_functions();
	go_fixture_finish(&fixture);
	assert_true(FAIL_EACH_ALLOCATION(extract_only(), -ENOMEM, true, 0) > 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			stripped_programs_have_names_lines_and_inlined_calls, set_up_go, tear_down),
		cmocka_unit_test_setup_teardown(go_1_16_has_names_and_lines, set_up_go, tear_down),
		cmocka_unit_test_setup_teardown(calls_that_make_no_sense_end, set_up_go, tear_down),
		cmocka_unit_test_setup_teardown(functions_do_not_overlap, set_up_go, tear_down),
		cmocka_unit_test_setup_teardown(
			damage_costs_no_more_than_itself, set_up_go, tear_down),
		cmocka_unit_test_setup_teardown(
			functions_cannot_share_inlined_calls_without_end, set_up_go, tear_down),
		cmocka_unit_test_setup_teardown(
			a_table_that_is_too_big_costs_no_other_names, set_up_go, tear_down),
		cmocka_unit_test_setup_teardown(no_room_is_an_error, set_up_go, tear_down),
		cmocka_unit_test_setup_teardown(
			a_failed_allocation_is_an_error, set_up_go, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
