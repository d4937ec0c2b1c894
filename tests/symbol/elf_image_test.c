/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_image.h"
#include "tests/symbol/elf_fixture.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static const uint8_t id_bytes[BUILD_ID_BYTES] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
	16, 17, 18, 19, 20 };

static int read_fixture(const struct fixture *fixture, struct elf_image *image)
{
	_cleanup_close_ int fd = fixture_fd(fixture);

	assert_true(fd >= 0);
	return elf_image_read(fd, image);
}

static void all_classes_and_byte_orders_are_read(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct fixture fixture = { .is_narrow = i & 1,
			.is_swapped = i & 2,
			.machine = EM_PPC64,
			.type = ET_EXEC,
			.build_id = id_bytes,
			.build_id_bytes = sizeof(id_bytes) };
		struct elf_image image;
		uint64_t vaddr = 7;

		fixture_build(&fixture);
		assert_int_equal(read_fixture(&fixture, &image), 0);
		assert_int_equal(image.machine, EM_PPC64);
		assert_int_equal(image.type, ET_EXEC);
		assert_false(image.has_interpreter);
		assert_int_equal(image.build_id.size, sizeof(id_bytes));
		assert_memory_equal(image.build_id.bytes, id_bytes, sizeof(id_bytes));
		assert_int_equal(image.segment_count, 1);
		assert_true(elf_image_find_vaddr(&image, FIXTURE_TEXT_OFFSET + 5, &vaddr));
		assert_int_equal(vaddr, FIXTURE_TEXT_VADDR + 5);
	}
}

static void offsets_outside_the_text_have_no_vaddr(void **state)
{
	const struct elf_image image = { .segment_count = 3,
		.segments = { { .offset = 0x1000, .vaddr = 0x401000, .file_bytes = 0x10 },
			{ .offset = 0x1008, .vaddr = 0x900000, .file_bytes = 0x100 },
			{ .offset = UINT64_MAX - 8, .vaddr = 0, .file_bytes = 8 } } };
	uint64_t vaddr = 7;

	assert_false(elf_image_find_vaddr(&image, 0xfff, &vaddr));
	assert_false(elf_image_find_vaddr(&image, 0x1108, &vaddr));
	assert_false(elf_image_find_vaddr(&image, UINT64_MAX, &vaddr));
	assert_false(elf_image_find_vaddr(&image, 0, &vaddr));
	assert_int_equal(vaddr, 7);
	assert_true(elf_image_find_vaddr(&image, 0x100f, &vaddr));
	assert_int_equal(vaddr, 0x40100f);
	/* If segments overlap, the first one counts. */
	assert_true(elf_image_find_vaddr(&image, 0x1010, &vaddr));
	assert_int_equal(vaddr, 0x900008);
	assert_true(elf_image_find_vaddr(&image, UINT64_MAX - 1, &vaddr));
	assert_int_equal(vaddr, 7);
}

static void short_and_aligned_build_ids_are_found(void **state)
{
	static const uint32_t sizes[] = { 1, 8, 16, 20 };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		for (int j = 0; j < 4; j++) {
			struct fixture fixture = { .build_id = id_bytes,
				.build_id_bytes = sizes[i],
				.note_alignment = j & 1 ? 8 : 1,
				.has_no_note_segment = j & 2 };
			struct elf_image image;

			fixture_build(&fixture);
			assert_int_equal(read_fixture(&fixture, &image), 0);
			assert_int_equal(image.build_id.size, sizes[i]);
			assert_memory_equal(image.build_id.bytes, id_bytes, sizes[i]);
		}
}

static void other_notes_are_skipped(void **state)
{
	struct fixture fixture = { .build_id = id_bytes, .build_id_bytes = 20 };
	struct elf_image image;

	fixture_build(&fixture);
	fixture_patch(&fixture, fixture.note + 8, NT_GNU_ABI_TAG, 4);
	assert_int_equal(read_fixture(&fixture, &image), 0);
	assert_int_equal(image.build_id.size, 0);

	fixture_build(&fixture);
	fixture_patch(&fixture, fixture.note + 12, 'X', 1);
	assert_int_equal(read_fixture(&fixture, &image), 0);
	assert_int_equal(image.build_id.size, 0);

	/* An id beyond the end of the notes, and lengths that wrap around. */
	for (size_t offset = 0; offset < 8; offset += 4) {
		fixture_build(&fixture);
		fixture_patch(&fixture, fixture.note + offset, UINT32_MAX, 4);
		assert_int_equal(read_fixture(&fixture, &image), 0);
		assert_int_equal(image.build_id.size, 0);
	}
	fixture_build(&fixture);
	fixture_patch(&fixture, fixture.note + 4, 0, 4);
	assert_int_equal(read_fixture(&fixture, &image), 0);
	assert_int_equal(image.build_id.size, 0);
}

static void build_ids_over_20_bytes_are_ignored(void **state)
{
	static const uint8_t long_id[21] = { 1 };
	struct fixture fixture = { .build_id = long_id, .build_id_bytes = sizeof(long_id) };
	struct elf_image image;

	fixture_build(&fixture);
	assert_int_equal(read_fixture(&fixture, &image), 0);
	assert_int_equal(image.build_id.size, 0);
}

static void build_ids_of_zeros_are_ignored(void **state)
{
	static const uint8_t zeros[20], nearly[20] = { [19] = 1 };
	struct fixture fixture = { .build_id = zeros, .build_id_bytes = sizeof(zeros) };
	struct elf_image image;

	fixture_build(&fixture);
	assert_int_equal(read_fixture(&fixture, &image), 0);
	assert_int_equal(image.build_id.size, 0);
	fixture.build_id = nearly;
	fixture_build(&fixture);
	assert_int_equal(read_fixture(&fixture, &image), 0);
	assert_int_equal(image.build_id.size, sizeof(nearly));
}

/* Puts the build-id's note after another one, far from the first page, and checks which id is read.
 */
static uint8_t read_second_note(uint32_t alignment, uint32_t first_bytes, uint32_t cut_bytes)
{
	struct fixture fixture = {
		.build_id = id_bytes, .build_id_bytes = 20, .note_alignment = alignment
	};
	const size_t far = 32 * 1024, segment = offsetof(Elf64_Phdr, p_offset);
	struct elf_image image;

	fixture_build(&fixture);
	memcpy(fixture.bytes + far, fixture.bytes + fixture.note, 16);
	fixture_patch(&fixture, far + 4, 4, 4);
	fixture_patch(&fixture, far + 8, NT_GNU_PROPERTY_TYPE_0, 4);
	memcpy(fixture.bytes + far + first_bytes, fixture.bytes + fixture.note, 36);
	memset(fixture.bytes + fixture.note, 0, 36);
	fixture.size = far + first_bytes + 36;
	fixture_patch(&fixture, fixture.phdrs + sizeof(Elf64_Phdr) + segment, far, 8);
	fixture_patch(&fixture, fixture.phdrs + sizeof(Elf64_Phdr) + offsetof(Elf64_Phdr, p_filesz),
		first_bytes + 36 - cut_bytes, 8);
	assert_int_equal(read_fixture(&fixture, &image), 0);
	if (image.build_id.size > 0)
		assert_memory_equal(image.build_id.bytes, id_bytes, 20);
	return image.build_id.size;
}

static void build_id_may_follow_other_notes(void **state)
{
	assert_int_equal(read_second_note(4, 20, 0), 20);
	assert_int_equal(read_second_note(8, 24, 0), 20);
	/* At the position of the other alignment. */
	assert_int_equal(read_second_note(4, 24, 0), 0);
	assert_int_equal(read_second_note(8, 20, 0), 0);
	/* An id cut off by the end of the notes. */
	assert_int_equal(read_second_note(4, 20, 1), 0);
	assert_int_equal(read_second_note(8, 24, 20), 0);
}

static void notes_beyond_the_limit_are_not_read(void **state)
{
	struct fixture fixture = { .build_id = id_bytes, .build_id_bytes = 20 };
	static uint8_t bytes[128 * 1024];
	_cleanup_close_ int fd = -1;
	struct elf_image image;
	uint32_t description_bytes = 80 * 1024;

	fixture_build(&fixture);
	fixture_patch(&fixture, fixture.phdrs + sizeof(Elf64_Phdr) + 8, 4096, 8);
	fixture_patch(&fixture, fixture.phdrs + sizeof(Elf64_Phdr) + 32, sizeof(bytes) - 4096, 8);
	memcpy(bytes, fixture.bytes, fixture.size);
	memcpy(bytes + 4096, fixture.bytes + fixture.note, 16);
	memcpy(bytes + 4100, &description_bytes, 4);
	memcpy(bytes + 4112 + description_bytes, fixture.bytes + fixture.note, 36);
	memset(bytes + fixture.note, 0, 36);
	fd = fixture_bytes_fd(bytes, sizeof(bytes));
	assert_true(fd >= 0);
	assert_int_equal(elf_image_read(fd, &image), 0);
	assert_int_equal(image.build_id.size, 0);
}

static void damaged_headers_are_refused(void **state)
{
	struct fixture fixture = { 0 };
	struct elf_image image = { .machine = 4711 };

	for (size_t offset = 0; offset < 6; offset++) {
		fixture_build(&fixture);
		fixture.bytes[offset] = 9;
		assert_int_equal(read_fixture(&fixture, &image), -ENOEXEC);
	}
	/* Cut off anywhere in the headers. */
	fixture_build(&fixture);
	for (fixture.size = 0; fixture.size < fixture.shdrs; fixture.size++)
		assert_int_equal(read_fixture(&fixture, &image), -ENOEXEC);
	/* e_phentsize, e_phoff, and a segment past the end of the address space. */
	fixture_build(&fixture);
	fixture_patch(&fixture, 54, 57, 2);
	assert_int_equal(read_fixture(&fixture, &image), -ENOEXEC);
	fixture_build(&fixture);
	fixture_patch(&fixture, 32, UINT64_MAX - 8, 8);
	assert_int_equal(read_fixture(&fixture, &image), -ENOEXEC);
	for (size_t offset = 8; offset <= 16; offset += 8) {
		fixture_build(&fixture);
		fixture_patch(&fixture, fixture.phdrs + offset, UINT64_MAX - 8, 8);
		assert_int_equal(read_fixture(&fixture, &image), -ENOEXEC);
	}
	assert_int_equal(image.machine, 4711);
}

static void damaged_sections_are_ignored(void **state)
{
	struct fixture fixture = { .build_id = id_bytes, .build_id_bytes = 20 };
	struct elf_image image;

	for (int damage = 0; damage < 3; damage++) {
		fixture_build(&fixture);
		if (damage == 0)
			fixture_patch(&fixture, 40, UINT64_MAX - 100, 8); /* e_shoff */
		else if (damage == 1)
			fixture_patch(&fixture, 58, 3, 2); /* e_shentsize */
		else
			fixture_patch(&fixture, 60, 65000, 2); /* e_shnum */
		assert_int_equal(read_fixture(&fixture, &image), 0);
		assert_int_equal(image.build_id.size, 20);
		assert_int_equal(image.segment_count, 1);
	}
}

static void too_many_segments_are_refused(void **state)
{
	struct fixture fixture = { 0 };
	struct elf_image image;

	for (size_t count = 16; count <= 17; count++) {
		fixture_build(&fixture);
		fixture_patch(&fixture, 32, 4096, 8);
		fixture_patch(&fixture, 56, count, 2);
		for (size_t i = 0; i < count; i++)
			memcpy(fixture.bytes + 4096 + i * sizeof(Elf64_Phdr),
				fixture.bytes + fixture.phdrs, sizeof(Elf64_Phdr));
		fixture.size = 4096 + count * sizeof(Elf64_Phdr);
		assert_int_equal(read_fixture(&fixture, &image), count <= 16 ? 0 : -EFBIG);
	}
	/* 257 headers, and the escape for more than 65534. */
	fixture_build(&fixture);
	fixture_patch(&fixture, 32, 4096, 8);
	fixture.size = sizeof(fixture.bytes);
	fixture_patch(&fixture, 56, 257, 2);
	assert_int_equal(read_fixture(&fixture, &image), -EFBIG);
	fixture_patch(&fixture, 56, PN_XNUM, 2);
	assert_int_equal(read_fixture(&fixture, &image), -EFBIG);
}

static void only_regular_files_are_accepted(void **state)
{
	_cleanup_close_ int folder = open("/", O_RDONLY | O_DIRECTORY);
	_cleanup_close_ int device = open("/dev/zero", O_RDONLY);
	struct elf_image image;

	assert_int_equal(elf_image_read(-1, &image), -EBADF);
	assert_int_equal(elf_image_read(folder, &image), -ENOEXEC);
	assert_int_equal(elf_image_read(device, &image), -ENOEXEC);
}

static void the_test_program_is_read(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct elf_image image;

	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 3, SEEK_SET), 3);
	assert_int_equal(elf_image_read(fd, &image), 0);
	assert_int_equal(lseek(fd, 0, SEEK_CUR), 3);
	assert_true(image.has_interpreter);
	assert_int_equal(image.segment_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_classes_and_byte_orders_are_read),
		cmocka_unit_test(offsets_outside_the_text_have_no_vaddr),
		cmocka_unit_test(short_and_aligned_build_ids_are_found),
		cmocka_unit_test(other_notes_are_skipped),
		cmocka_unit_test(build_ids_over_20_bytes_are_ignored),
		cmocka_unit_test(build_ids_of_zeros_are_ignored),
		cmocka_unit_test(build_id_may_follow_other_notes),
		cmocka_unit_test(notes_beyond_the_limit_are_not_read),
		cmocka_unit_test(damaged_headers_are_refused),
		cmocka_unit_test(damaged_sections_are_ignored),
		cmocka_unit_test(too_many_segments_are_refused),
		cmocka_unit_test(only_regular_files_are_accepted),
		cmocka_unit_test(the_test_program_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
