/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a search costs in files whose parts overlap. go_table_test.c tests what it finds. */
#include "dwarf/go_module.h"
#include "tests/dwarf/go_fixture.h"
#include "tests/harness/counted_reads.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum {
	PARTS = 200,
	/* Headers of parts follow the fixture. */
	BYTES = GO_FIXTURE_BYTES + PARTS * sizeof(Elf64_Shdr),
	TIMES_MAX = 4,
	TABLE_VADDR = GO_FIXTURE_TABLE + GO_FIXTURE_BIAS,
	NAMES_VADDR = TABLE_VADDR + GO_FIXTURE_NAMES,
};

static struct go_fixture fixture;
static int fd;
static struct elf_file file;
static struct go_module module;
static struct go_place place;

static int set_up(void **state)
{
	go_fixture_init(&fixture, GO_1_20);
	go_fixture_finish(&fixture);
	fd = -1;
	return 0;
}

static int tear_down(void **state)
{
	closep(&fd);
	return 0;
}

/* `headers` of PARTS follow the fixture. */
static void make_file(const void *headers, size_t size)
{
	fd = go_fixture_fd(&fixture);
	assert_int_equal(ftruncate(fd, BYTES), 0);
	assert_int_equal(pwrite(fd, headers, size, GO_FIXTURE_BYTES), size);
	assert_int_equal(elf_file_init(&file, fd), 0);
	counted_reads.bytes = counted_reads.calls = 0;
}

static void make_segments(void)
{
	Elf64_Phdr segments[PARTS];

	for (size_t i = 0; i < PARTS; i++)
		segments[i] = (Elf64_Phdr){
			.p_type = PT_LOAD,
			.p_flags = PF_R | PF_W,
			.p_vaddr = GO_FIXTURE_BIAS,
			.p_filesz = BYTES,
			.p_memsz = BYTES,
		};
	go_fixture_put(&fixture, offsetof(Elf64_Ehdr, e_phoff), GO_FIXTURE_BYTES, 8);
	go_fixture_put(&fixture, offsetof(Elf64_Ehdr, e_phnum), PARTS, 2);
	make_file(segments, sizeof(segments));
}

static void assert_cheap(void)
{
	assert_in_range(counted_reads.bytes, 1, TIMES_MAX * BYTES);
}

static void a_table_is_not_searched_in_overlapping_segments_without_end(void **state)
{
	go_fixture_put(&fixture, GO_FIXTURE_TABLE, 0, 8);
	go_fixture_put(&fixture, GO_FIXTURE_HEADERS + 0x800 + 64, 0, 1);
	make_segments();
	assert_int_equal(go_module_find_table(&file, &place), -ENOEXEC);
	assert_cheap();
}

static void a_module_is_not_searched_in_overlapping_segments_without_end(void **state)
{
	make_segments();
	assert_int_equal(go_module_find(&file, TABLE_VADDR, 1, &module), -ENOEXEC);
	assert_cheap();
	assert_int_equal(go_module_find(&file, TABLE_VADDR, NAMES_VADDR, &module), 0);
	assert_int_equal(module.words[GO_MODULE_TEXT], GO_FIXTURE_TEXT);
}

static void a_module_is_not_searched_in_overlapping_relocations_without_end(void **state)
{
	Elf64_Shdr sections[PARTS];

	for (size_t i = 0; i < PARTS; i++)
		sections[i] = (Elf64_Shdr){
			.sh_type = SHT_RELA, .sh_flags = SHF_ALLOC, .sh_size = BYTES
		};
	go_fixture_put(&fixture, offsetof(Elf64_Ehdr, e_shoff), GO_FIXTURE_BYTES, 8);
	go_fixture_put(&fixture, offsetof(Elf64_Ehdr, e_shnum), PARTS, 2);
	go_fixture_put(&fixture, offsetof(Elf64_Ehdr, e_shstrndx), 0, 2);
	make_file(sections, sizeof(sections));
	assert_int_equal(go_module_find(&file, TABLE_VADDR, 1, &module), -ENOEXEC);
	assert_cheap();
}

/* Each of these words could begin the module. */
static void a_module_is_read_where_its_second_word_is(void **state)
{
	for (uint64_t at = GO_FIXTURE_MODULE - 0x10; at < GO_FIXTURE_MODULE + 0xff0; at += 8)
		go_fixture_put(&fixture, at, TABLE_VADDR, 8);
	make_file(NULL, 0);
	assert_int_equal(go_module_find(&file, TABLE_VADDR, NAMES_VADDR, &module), -ENODATA);
	assert_in_range(counted_reads.calls, 1, 64);
	/* The last place of a module in its segment, and the first place behind. */
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t at = GO_FIXTURE_MODULE + 0xff0 - GO_MODULE_WORDS * 8 + i * 8;

		closep(&fd);
		go_fixture_put(&fixture, at + 8, NAMES_VADDR, 8);
		go_fixture_put(&fixture, at, i == 0 ? TABLE_VADDR : 0, 8);
		make_file(NULL, 0);
		assert_int_equal(go_module_find(&file, TABLE_VADDR, NAMES_VADDR, &module),
			i == 0 ? 0 : -ENODATA);
		go_fixture_put(&fixture, at + 8, TABLE_VADDR, 8);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_table_is_not_searched_in_overlapping_segments_without_end, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_module_is_not_searched_in_overlapping_segments_without_end, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_module_is_not_searched_in_overlapping_relocations_without_end, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_module_is_read_where_its_second_word_is, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
