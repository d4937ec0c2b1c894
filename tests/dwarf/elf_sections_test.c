/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "dwarf/elf_sections.h"
#include "tests/dwarf/section_fixture.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>

#include <cmocka.h>

static const struct fixture_section plain[] = {
	{ .name = ".first", .type = SHT_PROGBITS, .bytes = "one", .size = 3 },
	{ .name = ".second", .type = SHT_NOBITS, .size = 9, .is_empty_in_file = true },
	{ .name = ".empty", .type = SHT_PROGBITS },
	{ .name = ".second", .type = SHT_PROGBITS, .vaddr = 0x1234, .bytes = "two", .size = 3 },
	{ .name = ".second", .type = SHT_PROGBITS, .bytes = "three", .size = 5 },
	{ .name = ".nothing", .type = SHT_NOBITS, .size = 9, .is_empty_in_file = true },
};

static struct elf_file open_memory(const struct fixture *fixture)
{
	struct elf_file file;

	assert_int_equal(elf_file_init_memory(&file, fixture->bytes, fixture->size), 0);
	return file;
}

static int find(const struct fixture *fixture, const char *name)
{
	struct elf_file file = open_memory(fixture);
	Elf64_Shdr section;

	return elf_sections_find(&file, name, &section);
}

static void sections_are_found_by_name(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct fixture fixture = { .is_narrow = i & 1, .is_swapped = i & 2 };
		_cleanup_close_ int fd = -1;
		struct elf_file file;
		Elf64_Shdr section = { .sh_size = 77 };
		char text[3];

		fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
		fd = fixture_fd(&fixture);
		assert_int_equal(elf_file_init(&file, fd), 0);
		assert_int_equal(elf_sections_find(&file, ".third", &section), -ENODATA);
		assert_int_equal(elf_sections_find(&file, "", &section), -ENODATA);
		assert_int_equal(elf_sections_find(&file, ".nothing", &section), -ENODATA);
		assert_int_equal(elf_sections_find(&file, ".empty", &section), -ENODATA);
		assert_int_equal(elf_sections_find(&file, ".firs", &section), -ENODATA);
		assert_int_equal(section.sh_size, 77);
		/* The first that has contents. */
		assert_int_equal(elf_sections_find(&file, ".second", &section), 0);
		assert_int_equal(section.sh_size, 3);
		assert_int_equal(section.sh_addr, 0x1234);
		assert_int_equal(elf_file_read(&file, section.sh_offset, text, 3), 0);
		assert_memory_equal(text, "two", 3);
		assert_int_equal(elf_sections_find(&file, ".shstrtab", &section), 0);
	}
}

static void damaged_headers_are_refused(void **state)
{
	struct fixture fixture = { 0 };
	const size_t names = ARRAY_SIZE(plain) + 1;

	/* Contents outside the file, by a little and by all there is. */
	for (int i = 0; i < 3; i++) {
		static const uint64_t sizes[] = { 1 << 20, UINT64_MAX, UINT64_MAX - 300 };

		fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
		fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 1, sh_size), sizes[i], 8);
		assert_int_equal(find(&fixture, ".first"), -ENOEXEC);
		assert_int_equal(find(&fixture, ".second"), 0);
	}
	/* The names are not names, or not there. */
	fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, names, sh_type), SHT_PROGBITS, 4);
	assert_int_equal(find(&fixture, ".first"), -ENOEXEC);
	fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, names, sh_offset), UINT64_MAX, 8);
	assert_int_equal(find(&fixture, ".first"), -ENOEXEC);
	/* Without any, nothing has a name. */
	fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
	fixture_patch(&fixture, offsetof(Elf64_Ehdr, e_shstrndx), SHN_UNDEF, 2);
	assert_int_equal(find(&fixture, ".first"), -ENODATA);
	fixture_patch(&fixture, offsetof(Elf64_Ehdr, e_shstrndx), 99, 2);
	assert_int_equal(find(&fixture, ".first"), -ENODATA);
	/* A name outside of them is none. */
	fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
	fixture_put_name(&fixture, 1, UINT32_MAX);
	assert_int_equal(find(&fixture, ".first"), -ENODATA);
	fixture_put_name(&fixture, 1, fixture.strings_bytes);
	assert_int_equal(find(&fixture, ".first"), -ENODATA);
}

static void names_end_where_the_strings_do(void **state)
{
	struct fixture fixture = { 0 };
	const size_t names = ARRAY_SIZE(plain) + 1;

	fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
	/* ".shstrtab" is the last of them. */
	assert_int_equal(find(&fixture, ".shstrtab"), 0);
	fixture_patch(
		&fixture, FIXTURE_FIELD(&fixture, names, sh_size), fixture.strings_bytes - 1, 8);
	assert_int_equal(find(&fixture, ".shstrtab"), -ENODATA);
	assert_int_equal(find(&fixture, ".first"), 0);
}

static void large_counts_are_in_the_first_section(void **state)
{
	struct fixture fixture = { 0 };
	_cleanup_close_ int fd = -1;
	struct elf_file file;
	Elf64_Shdr section;

	fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
	fixture_patch(&fixture, offsetof(Elf64_Ehdr, e_shnum), 0, 2);
	fixture_patch(&fixture, offsetof(Elf64_Ehdr, e_shstrndx), SHN_XINDEX, 2);
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 0, sh_size), ARRAY_SIZE(plain) + 2, 8);
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 0, sh_link), ARRAY_SIZE(plain) + 1, 4);
	assert_int_equal(find(&fixture, ".first"), 0);

	/* More than anyone has, in a file that has room for them. */
	fixture_patch(&fixture, FIXTURE_FIELD(&fixture, 0, sh_size), UINT32_MAX, 8);
	fd = fixture_fd(&fixture);
	assert_int_equal(ftruncate(fd, (off_t)UINT32_MAX * 64 + 4096), 0);
	assert_int_equal(elf_file_init(&file, fd), 0);
	assert_int_equal(file.shdr_count, UINT32_MAX);
	assert_int_equal(elf_sections_find(&file, ".first", &section), -ENOEXEC);
}

static int refuse_second(void *context, uint32_t index, const Elf64_Shdr *section, const char *name)
{
	(void)section;
	assert_string_equal(name, plain[index - 1].name);
	*(uint32_t *)context = index;
	return index == 2 ? -EPIPE : 0;
}

static void an_answer_ends_the_walk(void **state)
{
	struct fixture fixture = { 0 };
	struct elf_file file;
	uint32_t last = 0;

	fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
	file = open_memory(&fixture);
	assert_int_equal(elf_sections_each(&file, refuse_second, &last), -EPIPE);
	assert_int_equal(last, 2);
}

static int read_debuglink(
	const char *bytes, size_t size, bool is_swapped, struct elf_debuglink *ret_link)
{
	const struct fixture_section section = {
		.name = ".gnu_debuglink", .type = SHT_PROGBITS, .bytes = bytes, .size = size
	};
	struct fixture fixture = { .is_swapped = is_swapped };
	struct elf_file file;

	fixture_build_sections(&fixture, &section, 1);
	file = open_memory(&fixture);
	return elf_sections_read_debuglink(&file, ret_link);
}

static void debuglinks_are_a_name_and_a_checksum(void **state)
{
	static const char good[] = "libx.debug\0\0\x01\x02\x03\x04";
	struct elf_debuglink link = { .crc = 77 };
	char long_name[300];

	assert_int_equal(read_debuglink(good, 16, false, &link), 0);
	assert_string_equal(link.name, "libx.debug");
	assert_int_equal(link.crc, BYTE_ORDER == LITTLE_ENDIAN ? 0x04030201 : 0x01020304);
	assert_int_equal(read_debuglink(good, 16, true, &link), 0);
	assert_int_equal(link.crc, BYTE_ORDER == LITTLE_ENDIAN ? 0x01020304 : 0x04030201);
	/* Cut off, empty, without an end, or not a mere file name. */
	link.crc = 77;
	for (size_t size = 1; size < 16; size++)
		assert_int_equal(read_debuglink(good, size, false, &link), -ENOEXEC);
	assert_int_equal(read_debuglink("\0\0\0\0\0\0\0\0", 8, false, &link), -ENOEXEC);
	assert_int_equal(read_debuglink("a/b\0\0\0\0\0", 8, false, &link), -ENOEXEC);
	assert_int_equal(read_debuglink("..\0\0\0\0\0\0", 8, false, &link), -ENOEXEC);
	assert_int_equal(read_debuglink(".\0\0\0\0\0\0\0", 8, false, &link), -ENOEXEC);
	memset(long_name, 'x', sizeof(long_name));
	assert_int_equal(read_debuglink(long_name, 300, false, &link), -ENOEXEC);
	long_name[256] = '\0';
	assert_int_equal(read_debuglink(long_name, 300, false, &link), -ENOEXEC);
	assert_int_equal(link.crc, 77);
	long_name[255] = '\0';
	assert_int_equal(read_debuglink(long_name, 300, false, &link), 0);
	assert_int_equal(strlen(link.name), 255);
}

static int read_alternate_link(const char *bytes, size_t size, struct elf_alternate_link *ret_link)
{
	const struct fixture_section section = {
		.name = ".gnu_debugaltlink", .type = SHT_PROGBITS, .bytes = bytes, .size = size
	};
	struct fixture fixture = { 0 };
	struct elf_file file;

	fixture_build_sections(&fixture, &section, 1);
	file = open_memory(&fixture);
	return elf_sections_read_alternate_link(&file, ret_link);
}

static void alternate_links_are_a_path_and_a_build_id(void **state)
{
	static char bytes[5000];
	struct elf_alternate_link link = { .build_id_bytes = 77 };

	assert_int_equal(read_alternate_link("../x.dwz\0abc", 12, &link), 0);
	assert_string_equal(link.path, "../x.dwz");
	assert_int_equal(link.build_id_bytes, 3);
	assert_memory_equal(link.build_id, "abc", 3);
	link.build_id_bytes = 77;
	assert_int_equal(read_alternate_link("../x.dwz\0", 9, &link), -ENOEXEC);
	assert_int_equal(read_alternate_link("../x.dwz", 8, &link), -ENOEXEC);
	assert_int_equal(read_alternate_link("\0abc", 4, &link), -ENOEXEC);
	/* The longest of both, and what is longer. */
	memset(bytes, 'p', sizeof(bytes));
	assert_int_equal(read_alternate_link(bytes, sizeof(bytes), &link), -ENOEXEC);
	bytes[4095] = '\0';
	assert_int_equal(read_alternate_link(bytes, 4096 + 65, &link), -ENOEXEC);
	assert_int_equal(link.build_id_bytes, 77);
	assert_int_equal(read_alternate_link(bytes, 4096 + 64, &link), 0);
	assert_int_equal(link.build_id_bytes, 64);
	assert_int_equal(strlen(link.path), 4095);
}

static void links_may_be_missing(void **state)
{
	struct fixture fixture = { 0 };
	struct elf_alternate_link alternate;
	struct elf_debuglink link;
	struct elf_file file;

	fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
	file = open_memory(&fixture);
	assert_int_equal(elf_sections_read_debuglink(&file, &link), -ENODATA);
	assert_int_equal(elf_sections_read_alternate_link(&file, &alternate), -ENODATA);
}

/* The polynomial of IEEE 802.3, a bit at a time. */
static uint32_t crc_slowly(const uint8_t *bytes, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

static void the_checksum_is_over_the_whole_file(void **state)
{
	static uint8_t bytes[200 * 1000];
	struct fixture fixture = { 0 };
	_cleanup_close_ int fd = -1;
	struct elf_file file;
	uint32_t crc = 77;

	fixture_build_sections(&fixture, plain, ARRAY_SIZE(plain));
	memcpy(bytes, fixture.bytes, fixture.size);
	for (size_t i = fixture.size; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(i * i >> 3);
	fd = fixture_bytes_fd(bytes, sizeof(bytes));
	assert_int_equal(elf_file_init(&file, fd), 0);
	/* It shrinks while it is read. */
	assert_int_equal(ftruncate(fd, sizeof(bytes) - 1), 0);
	assert_int_equal(elf_sections_crc(&file, &crc), -ENOEXEC);
	assert_int_equal(crc, 77);
	assert_int_equal(pwrite(fd, bytes, sizeof(bytes), 0), sizeof(bytes));
	assert_int_equal(elf_sections_crc(&file, &crc), 0);
	assert_int_equal(crc, crc_slowly(bytes, sizeof(bytes)));
	assert_int_equal(crc_slowly((const uint8_t *)"123456789", 9), 0xcbf43926);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_are_found_by_name),
		cmocka_unit_test(damaged_headers_are_refused),
		cmocka_unit_test(names_end_where_the_strings_do),
		cmocka_unit_test(large_counts_are_in_the_first_section),
		cmocka_unit_test(an_answer_ends_the_walk),
		cmocka_unit_test(debuglinks_are_a_name_and_a_checksum),
		cmocka_unit_test(alternate_links_are_a_path_and_a_build_id),
		cmocka_unit_test(links_may_be_missing),
		cmocka_unit_test(the_checksum_is_over_the_whole_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
