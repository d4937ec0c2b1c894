/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "extract/unwind_sections.h"
#include "tests/base/scratch_fixture.h"
#include "tests/extract/unwind_fixture.h"

#include "extract/extraction.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <zlib.h>

#include <cmocka.h>

enum { SCRATCH_BYTES = 16 << 20 };

static struct unwind_elf binary, debug;
static struct unwind_sections sections;
static struct scratch_fixture scratch;
static uint8_t contents[100];

static int set_up(void **state)
{
	memset(&binary, 0, sizeof(binary));
	memset(&debug, 0, sizeof(debug));
	unwind_elf_add_code(&binary);
	unwind_elf_add_code(&debug);
	for (size_t i = 0; i < sizeof(contents); i++)
		contents[i] = (uint8_t)i;
	return scratch_fixture_init(&scratch, SCRATCH_BYTES) ? 0 : -1;
}

static int tear_down(void **state)
{
	unwind_sections_done(&sections);
	scratch_fixture_done(&scratch);
	return 0;
}

static int read_sections(void)
{
	_cleanup_close_ int binary_fd = unwind_elf_fd(&binary);
	_cleanup_close_ int debug_fd = debug.part_count > 0 ? unwind_elf_fd(&debug) : -1;
	const struct extraction_files descriptors = { .binary_fd = binary_fd,
		.debug_fd = debug_fd };
	struct unwind_files files;

	unwind_sections_done(&sections);
	assert_int_equal(unwind_files_open(&files, &descriptors), 0);
	return unwind_sections_read(&sections, &files, &scratch.scratch);
}

static void assert_section(size_t i, bool is_eh, uint64_t vaddr, size_t size)
{
	const struct cfi_section *section = &sections.sections[i].cfi;

	assert_true(i < sections.count);
	assert_int_equal(section->is_eh, is_eh);
	assert_int_equal(section->vaddr, vaddr);
	assert_int_equal(section->size, size);
	assert_memory_equal(section->bytes, contents, size);
}

static void both_files_are_read(void **state)
{
	uint8_t notes[2][36];

	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.count, 0);
	assert_int_equal(sections.failed, 0);
	unwind_elf_add_build_id(&binary, notes[0], 1);
	unwind_elf_add_part(&binary, ".debug_frame", 0, contents, 50);
	unwind_elf_add_part(&binary, ".got", 0x9000, contents, 8);
	unwind_elf_add_part(&binary, ".eh_frame", 0x7000, contents, 40);
	unwind_elf_add_build_id(&debug, notes[1], 1);
	unwind_elf_add_part(&debug, ".debug_frame", 0, contents, 60);
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.count, 3);
	assert_section(0, true, 0x7000, 40);
	assert_section(1, false, 0, 50);
	assert_section(2, false, 0, 60);
	assert_true(sections.sections[2].is_of_debug_file);
	assert_false(sections.sections[1].is_of_debug_file);
	assert_int_equal(sections.sections[0].cfi.data_base, 0x9000);
	unwind_elf_add_part(&binary, ".got.plt", 0xa000, contents, 8);
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.sections[0].cfi.data_base, 0xa000);

	/* Another binary's. */
	notes[1][20] = 2;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.count, 2);
}

static void a_debug_file_has_to_be_the_binarys(void **state)
{
	uint8_t link[12] = "d\0\0\0";
	uint8_t whole[8192];
	uint32_t crc;
	ssize_t size;
	int fd;

	unwind_elf_add_part(&debug, ".debug_frame", 0, contents, 60);
	fd = unwind_elf_fd(&debug);
	size = pread(fd, whole, sizeof(whole), 0);
	assert_true(size > 0);
	(void)close(fd);
	crc = (uint32_t)crc32(0, whole, (uInt)size);
	memcpy(link + 4, &crc, sizeof(crc));
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.count, 0);
	unwind_elf_add_part(&binary, ".gnu_debuglink", 0, link, 8);
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.count, 1);
	link[4]++;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.count, 0);
	link[4]--;
	debug.machine = EM_AARCH64;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.count, 0);
}

/* Returns the size. */
static size_t pack(uint8_t *packed, size_t room, const void *header, size_t header_bytes)
{
	uLongf size = room - header_bytes;

	memcpy(packed, header, header_bytes);
	assert_int_equal(compress(packed + header_bytes, &size, contents, sizeof(contents)), Z_OK);
	return header_bytes + size;
}

static void compressed_sections_are_unpacked(void **state)
{
	const Elf64_Chdr chdr = { .ch_type = ELFCOMPRESS_ZLIB, .ch_size = sizeof(contents) };
	uint8_t packed[256];
	size_t size;

	size = pack(packed, sizeof(packed), &chdr, sizeof(chdr));
	unwind_elf_add_part(&binary, ".debug_frame", 0, packed, size);
	binary.parts[0].flags = SHF_COMPRESSED;
	assert_int_equal(read_sections(), 0);
	assert_section(0, false, 0, sizeof(contents));
	/* Cut off, of no length, and by what we do not know. */
	binary.parts[0].size -= 8;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.count, 0);
	assert_int_equal(sections.failed, 1);
	binary.parts[0].size = sizeof(chdr) - 1;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
	binary.parts[0].size = size;
	memset(packed + offsetof(Elf64_Chdr, ch_size), 0, 8);
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
	packed[0] = 2;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
	/* More than there is room for. */
	packed[0] = ELFCOMPRESS_ZLIB;
	memset(packed + offsetof(Elf64_Chdr, ch_size), 0x7f, 4);
	assert_int_equal(read_sections(), -EFBIG);
	memset(packed + offsetof(Elf64_Chdr, ch_size), 0x7f, 8);
	assert_int_equal(read_sections(), -EFBIG);
}

static void so_are_those_of_old(void **state)
{
	static const uint8_t header[] = { 'Z', 'L', 'I', 'B', 0, 0, 0, 0, 0, 0, 0,
		sizeof(contents) };
	uint8_t packed[256];
	size_t size;

	size = pack(packed, sizeof(packed), header, sizeof(header));
	unwind_elf_add_part(&binary, ".zdebug_frame", 0, packed, size);
	assert_int_equal(read_sections(), 0);
	assert_section(0, false, 0, sizeof(contents));
	packed[11] = 0;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
	packed[0] = 'z';
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
	binary.parts[0].size = 11;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
}

static void go_keeps_frame_pointers(void **state)
{
	static const char *const names[] = { ".gopclntab", ".data.rel.ro.gopclntab",
		".note.go.buildid", ".go.buildinfo" };

	unwind_elf_add_part(&binary, ".debug_frame", 0, contents, 50);
	unwind_elf_add_part(&binary, ".eh_frame", 0x7000, contents, 40);
	unwind_elf_add_part(&binary, "", 0, contents, 1);
	for (size_t i = 0; i < 4; i++) {
		binary.parts[2].name = names[i];
		assert_int_equal(read_sections(), 0);
		assert_true(sections.is_go);
		assert_int_equal(sections.count, 1);
		assert_section(0, true, 0x7000, 40);
	}
	binary.parts[2].name = ".gopclntab.not";
	assert_int_equal(read_sections(), 0);
	assert_false(sections.is_go);
	assert_int_equal(sections.count, 2);
}

/* Without sections: the segments say where .eh_frame begins. */
static void segments_tell_where_it_is(void **state)
{
	uint8_t header[12] = { 1, 0x1b, 0xff, 0xff };
	const uint32_t distance = 0x1000 - 4;
	uint64_t offset;

	memcpy(header + 4, &distance, sizeof(distance));
	binary.has_no_sections = true;
	unwind_elf_add_part(&binary, ".eh_frame_hdr", 0, header, sizeof(header));
	unwind_elf_add_part(&binary, ".eh_frame", 0, contents, sizeof(contents));
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.count, 0);
	assert_int_equal(sections.failed, 0);
	binary.segment_count = 3;
	offset = unwind_elf_contents(&binary);
	binary.segments[1] = (Elf64_Phdr){ .p_type = PT_GNU_EH_FRAME,
		.p_offset = offset,
		.p_vaddr = 0x7000,
		.p_filesz = sizeof(header) };
	binary.segments[2] = (Elf64_Phdr){ .p_type = PT_LOAD,
		.p_offset = offset + sizeof(header) - 16,
		.p_vaddr = 0x7ff0,
		.p_filesz = 16 + 64 };
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.count, 1);
	assert_section(0, true, 0x8000, 64);
	assert_true(sections.sections[0].cfi.ends_with_zero);

	/* In no segment, in one that ends outside of the file, and damaged. */
	binary.segments[2].p_filesz = 16;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
	binary.segments[2].p_filesz = 1 << 20;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
	binary.segments[2].p_filesz = 80;
	header[1] = 0xff;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
	header[1] = 0x1b;
	header[0] = 2;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
	binary.segments[1].p_offset = 1 << 20;
	assert_int_equal(read_sections(), 0);
	assert_int_equal(sections.failed, 1);
}

static void no_room_is_an_error(void **state)
{
	unwind_elf_add_part(&binary, ".eh_frame", 0x7000, contents, 40);
	scratch.scratch.limit_bytes = 1024;
	assert_int_equal(read_sections(), -EFBIG);
}

/* Sections that lie outside of the file are as none; one that is longer than the file is lost. */
static void damaged_headers_are_a_loss(void **state)
{
	_cleanup_close_ int fd = -1;
	struct extraction_files descriptors = { .debug_fd = -1 };
	const uint64_t size = 1 << 30;
	struct unwind_files files;

	unwind_elf_add_part(&binary, ".eh_frame", 0x7000, contents, 40);
	descriptors.binary_fd = fd = unwind_elf_fd(&binary);
	unwind_elf_put(fd,
		unwind_elf_contents(&binary) - 2 * sizeof(Elf64_Shdr) +
			offsetof(Elf64_Shdr, sh_size),
		&size, sizeof(size));
	assert_int_equal(unwind_files_open(&files, &descriptors), 0);
	assert_int_equal(unwind_sections_read(&sections, &files, &scratch.scratch), 0);
	assert_int_equal(sections.count, 0);
	assert_int_equal(sections.failed, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(both_files_are_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			a_debug_file_has_to_be_the_binarys, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			compressed_sections_are_unpacked, set_up, tear_down),
		cmocka_unit_test_setup_teardown(so_are_those_of_old, set_up, tear_down),
		cmocka_unit_test_setup_teardown(go_keeps_frame_pointers, set_up, tear_down),
		cmocka_unit_test_setup_teardown(segments_tell_where_it_is, set_up, tear_down),
		cmocka_unit_test_setup_teardown(no_room_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(damaged_headers_are_a_loss, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
