/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/dwarf_split_files.h"

#include "tests/base/scratch_fixture.h"
#include "tests/dwarf/split_fixture.h"
#include "tests/harness/failing_allocation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <zlib.h>

#include <cmocka.h>

static struct split_fixture s;
static struct scratch_fixture scratch;
static struct dwarf_split_files split_files;
static struct dwarf_sections found;

static int set_up(void **state)
{
	split_fixture_init(&s, 5);
	if (!scratch_fixture_init(&scratch, 1 << 20))
		return -1;
	dwarf_split_files_init(&split_files, -1, &s.opener, &scratch.scratch);
	return 0;
}

static int tear_down(void **state)
{
	if (split_files.package_fd >= 0)
		(void)close(split_files.package_fd);
	dwarf_split_files_done(&split_files);
	scratch_fixture_done(&scratch);
	return 0;
}

static void put_split(void)
{
	put_small_split(&s, SPLIT_ID, 0x1000);
	build_split(&s);
}

static void assert_found(void)
{
	assert_int_equal(dwarf_bytes_left(&found.info), s.info.size);
	assert_memory_equal(found.info.position, s.info.bytes, s.info.size);
	assert_int_equal(dwarf_bytes_left(&found.abbrev), s.abbrev.size);
	assert_int_equal(dwarf_bytes_left(&found.str), s.str.size);
}

static void files_are_asked_for_by_their_path(void **state)
{
	static const char *const cases[][3] = {
		{ "/src", "a.dwo", "/src/a.dwo" },
		{ "/src", "/obj/a.dwo", "/obj/a.dwo" },
		{ "", "obj/a.dwo", "obj/a.dwo" },
		{ "..", "../a.dwo", "../../a.dwo" },
	};

	put_split();
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		assert_int_equal(
			dwarf_split_files_find_file(&split_files, cases[i][0], cases[i][1], &found),
			0);
		assert_string_equal(s.path, cases[i][2]);
		assert_found();
	}
}

static void a_file_stays_open_for_the_next_unit(void **state)
{
	put_split();
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "a", &found), 0);
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "a", &found), 0);
	assert_int_equal(dwarf_split_files_find_file(&split_files, "", "/src/a", &found), 0);
	assert_int_equal(s.opened, 1);
	assert_found();
	/* One that is not there closes it. */
	s.has_no_file = true;
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "b", &found), -ENOENT);
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "a", &found), -ENOENT);
	assert_int_equal(s.opened, 3);
}

static void paths_are_bounded(void **state)
{
	static char name[DWARF_SPLIT_PATH_BYTES + 1];

	put_split();
	memset(name, 'x', DWARF_SPLIT_PATH_BYTES - 1);
	assert_int_equal(dwarf_split_files_find_file(&split_files, "", name, &found), 0);
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/", name, &found), -ENOENT);
	name[DWARF_SPLIT_PATH_BYTES - 1] = 'x';
	assert_int_equal(dwarf_split_files_find_file(&split_files, "", name, &found), -ENOENT);
	assert_int_equal(dwarf_split_files_find_file(&split_files, name, "a", &found), -ENOENT);
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "", &found), -ENOENT);
	assert_int_equal(s.opened, 1);
}

static void without_an_opener_no_split_file_is_found(void **state)
{
	put_split();
	split_files.opener = NULL;
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "a", &found), -ENOENT);
	assert_int_equal(dwarf_split_files_find_packaged(&split_files, SPLIT_ID, &found), -ENOENT);
}

static void other_files_are_refused(void **state)
{
	build_split(&s);
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "a", &found), -EBADMSG);
	s.elf.bytes[0] = 'x';
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "b", &found), -EBADMSG);
	s.elf.bytes[0] = ELFMAG0;
	s.elf.size = 70;
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "c", &found), -EBADMSG);
}

static void a_split_may_have_more_than_one_info(void **state)
{
	const struct fixture_section sections[] = {
		{ ".debug_info.dwo", SHT_PROGBITS, .bytes = "a", .size = 1 },
		{ ".debug_abbrev.dwo", SHT_PROGBITS, .bytes = "abbrev", .size = 6 },
		{ ".debug_info.dwo", SHT_NOBITS, .bytes = "x", .size = 1 },
		{ ".debug_info.dwo", SHT_PROGBITS, .bytes = "bc", .size = 2 },
	};

	fixture_build_sections(&s.elf, sections, 4);
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "a", &found), 0);
	assert_int_equal(dwarf_bytes_left(&found.info), 1);
	assert_true(dwarf_split_files_next_info(&split_files, &found));
	assert_int_equal(dwarf_bytes_left(&found.info), 2);
	assert_memory_equal(found.info.position, "bc", 2);
	assert_false(dwarf_split_files_next_info(&split_files, &found));
	assert_int_equal(dwarf_bytes_left(&found.info), 2);
	/* And from the beginning for the next unit. */
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "a", &found), 0);
	assert_int_equal(dwarf_bytes_left(&found.info), 1);
}

static void packages_have_units_by_their_id(void **state)
{
	put_small_split(&s, SPLIT_ID, 0x1000);
	put_index_of_all(&s, SPLIT_ID);
	build_split(&s);
	split_files.package_fd = open_built_split(&s);
	assert_true(split_files.package_fd >= 0);
	assert_int_equal(dwarf_split_files_find_packaged(&split_files, SPLIT_ID, &found), 0);
	assert_found();
	assert_int_equal(
		dwarf_split_files_find_packaged(&split_files, SPLIT_ID + 1, &found), -ENOENT);
	assert_int_equal(s.opened, 0);
}

static void damaged_packages_have_nothing(void **state)
{
	put_small_split(&s, SPLIT_ID, 0x1000);
	put_index_of_all(&s, SPLIT_ID);
	patch(&s.index, 4, UINT32_MAX, 4);
	build_split(&s);
	split_files.package_fd = open_built_split(&s);
	assert_int_equal(dwarf_split_files_find_packaged(&split_files, SPLIT_ID, &found), -ENOENT);
	assert_int_equal(dwarf_split_files_find_packaged(&split_files, SPLIT_ID, &found), -ENOENT);
}

/* What files are unpacked to is used again, or many would fill the scratch. */
static void compressed_files_share_their_room(void **state)
{
	/* 600,000 zeros by zlib, behind its header. */
	enum { UNPACKED = 600 * 1000 };
	static uint8_t packed[sizeof(Elf64_Chdr) + 4096];
	static const uint8_t zeros[UNPACKED];
	uLongf packed_bytes = 4096;
	const Elf64_Chdr header = {
		.ch_type = ELFCOMPRESS_ZLIB, .ch_size = UNPACKED, .ch_addralign = 1
	};
	struct fixture_section sections[] = {
		{ ".debug_info.dwo", SHT_PROGBITS, .flags = SHF_COMPRESSED, .bytes = packed },
		{ ".debug_abbrev.dwo", SHT_PROGBITS, .bytes = "abbrev", .size = 6 },
	};

	memcpy(packed, &header, sizeof(header));
	assert_int_equal(compress(packed + sizeof(header), &packed_bytes, zeros, UNPACKED), Z_OK);
	sections[0].size = sizeof(header) + packed_bytes;
	fixture_build_sections(&s.elf, sections, 2);
	for (int i = 0; i < 10; i++) {
		char name[] = { 'a', (char)('0' + i), '\0' };

		assert_int_equal(
			dwarf_split_files_find_file(&split_files, "/src", name, &found), 0);
		assert_int_equal(dwarf_bytes_left(&found.info), UNPACKED);
	}
	assert_int_equal(s.opened, 10);
	assert_true(scratch.scratch.used_bytes < 2 * UNPACKED);
}

static void files_are_looked_into_a_bounded_number_of_times(void **state)
{
	put_split();
	split_files.lookups_left = 2;
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "a", &found), 0);
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "a", &found), 0);
	assert_int_equal(dwarf_split_files_find_file(&split_files, "/src", "a", &found), -ENOENT);
	assert_int_equal(s.opened, 1);
}

static void failing_allocations_are_reported(void **state)
{
	size_t n;
	int r;

	put_split();
	for (n = 0; n < 100; n++) {
		(void)tear_down(state);
		assert_true(scratch_fixture_init(&scratch, 1 << 20));
		dwarf_split_files_init(&split_files, -1, &s.opener, &scratch.scratch);
		fail_allocation(n);
		r = dwarf_split_files_find_file(&split_files, "/src", "a", &found);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_asked_for_by_their_path),
		TEST(a_file_stays_open_for_the_next_unit),
		TEST(paths_are_bounded),
		TEST(without_an_opener_no_split_file_is_found),
		TEST(other_files_are_refused),
		TEST(a_split_may_have_more_than_one_info),
		TEST(packages_have_units_by_their_id),
		TEST(damaged_packages_have_nothing),
		TEST(compressed_files_share_their_room),
		TEST(files_are_looked_into_a_bounded_number_of_times),
		TEST(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
