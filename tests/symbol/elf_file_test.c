/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/elf_file.h"
#include "tests/symbol/elf_fixture.h"

#include "base/array.h"
#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <sys/syscall.h>

#include <cmocka.h>

/* The error of every pread(), as a user's own file system may return; 0: none. */
static int failing_errno;

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
	if (failing_errno) {
		errno = failing_errno;
		return -1;
	}
	return syscall(SYS_pread64, fd, bytes, size, offset);
}

static void file_system_errors_become_errors_of_the_file(void **state)
{
	static const struct {
		int error, r;
	} cases[] = { { EIO, -EIO }, { ESTALE, -ESTALE }, { ENOMEM, -EIO }, { E2BIG, -EIO },
		{ EFBIG, -EIO }, { ENOSPC, -EIO }, { EDQUOT, -EIO } };
	struct fixture fixture = { 0 };
	_cleanup_close_ int fd = -1;
	struct elf_file file, other;
	uint8_t byte;

	fixture_build(&fixture);
	fd = fixture_fd(&fixture);
	assert_int_equal(elf_file_init(&file, fd), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		failing_errno = cases[i].error;
		assert_int_equal(elf_file_read(&file, 0, &byte, 1), cases[i].r);
		assert_int_equal(elf_file_init(&other, fd), cases[i].r);
		failing_errno = 0;
	}
	assert_int_equal(elf_file_read(&file, 0, &byte, 1), 0);
	assert_int_equal(byte, 0x7f);
	assert_int_equal(elf_file_read(&file, fixture.size, &byte, 1), -ENOEXEC);
	assert_int_equal(elf_file_init(&other, -1), -EBADF);
}

static void files_in_memory_read_the_same(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct fixture fixture = { .is_narrow = i & 1, .is_swapped = i & 2 };
		_cleanup_close_ int fd = -1;
		struct elf_file file, memory;
		uint8_t byte;

		fixture_build(&fixture);
		fd = fixture_fd(&fixture);
		assert_int_equal(elf_file_init(&file, fd), 0);
		assert_null(file.memory);
		/* No descriptor is read. */
		failing_errno = EIO;
		assert_int_equal(elf_file_init_memory(&memory, fixture.bytes, fixture.size), 0);
		assert_int_equal(memory.fd, -1);
		assert_int_equal(memory.size_bytes, fixture.size);
		assert_int_equal(memory.shdr_count, file.shdr_count);
		assert_int_equal(memory.shdr_offset, file.shdr_offset);
		assert_int_equal(elf_file_read(&memory, 0, &byte, 1), 0);
		assert_int_equal(byte, 0x7f);
		assert_int_equal(elf_file_read(&memory, fixture.size, &byte, 1), -ENOEXEC);
		assert_int_equal(elf_file_read(&memory, 1, fixture.bytes, fixture.size), -ENOEXEC);
		assert_int_equal(elf_file_read(&memory, UINT64_MAX, &byte, 2), -ENOEXEC);
		failing_errno = 0;
	}
}

static void damaged_files_in_memory_are_refused(void **state)
{
	struct fixture fixture = { 0 };
	struct elf_file file = { .fd = 77 };

	fixture_build(&fixture);
	assert_int_equal(elf_file_init_memory(&file, NULL, 0), -ENOEXEC);
	for (size_t size = 0; size < sizeof(Elf64_Ehdr); size++)
		assert_int_equal(elf_file_init_memory(&file, fixture.bytes, size), -ENOEXEC);
	fixture.bytes[0] = 0;
	assert_int_equal(elf_file_init_memory(&file, fixture.bytes, fixture.size), -ENOEXEC);
	assert_int_equal(file.fd, 77);
}

static void numbers_decode_in_the_order_and_width_of_the_file(void **state)
{
	static const uint8_t bytes[] = { 1, 2, 3, 4, 5, 6, 7, 8 };
	const bool is_little = BYTE_ORDER == LITTLE_ENDIAN;

	for (int i = 0; i < 4; i++) {
		struct fixture fixture = { .is_narrow = i & 1, .is_swapped = i & 2 };
		bool is_big = is_little == fixture.is_swapped;
		const uint64_t wide = is_big ? 0x0102030405060708 : 0x0807060504030201;
		const uint32_t narrow = is_big ? 0x01020304 : 0x04030201;
		struct elf_file file;

		fixture_build(&fixture);
		assert_int_equal(elf_file_init_memory(&file, fixture.bytes, fixture.size), 0);
		assert_true(elf_file_decode_u64(&file, bytes) == wide);
		assert_int_equal(elf_file_decode_u32(&file, bytes), narrow);
		assert_true(
			elf_file_decode_word(&file, bytes) == (fixture.is_narrow ? narrow : wide));
		assert_int_equal(elf_file_word_bytes(&file), fixture.is_narrow ? 4 : 8);
	}
}

static void names_section_is_found(void **state)
{
	struct fixture fixture = { 0 };
	const size_t field = offsetof(Elf64_Ehdr, e_shstrndx);
	struct elf_file file;

	fixture_build(&fixture);
	fixture_patch(&fixture, field, FIXTURE_STRINGS, 2);
	assert_int_equal(elf_file_init_memory(&file, fixture.bytes, fixture.size), 0);
	assert_int_equal(file.names_section, FIXTURE_STRINGS);
	/* An index too large for the header is in section 0. */
	fixture_patch(&fixture, field, SHN_XINDEX, 2);
	fixture_patch(&fixture, fixture.shdrs + offsetof(Elf64_Shdr, sh_link), 0x12345678, 4);
	assert_int_equal(elf_file_init_memory(&file, fixture.bytes, fixture.size), 0);
	assert_int_equal(file.names_section, 0x12345678);
	assert_int_equal(file.shdr_count, FIXTURE_SECTIONS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(file_system_errors_become_errors_of_the_file),
		cmocka_unit_test(files_in_memory_read_the_same),
		cmocka_unit_test(damaged_files_in_memory_are_refused),
		cmocka_unit_test(numbers_decode_in_the_order_and_width_of_the_file),
		cmocka_unit_test(names_section_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
