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

/* What every reading fails with; 0: nothing. A file system of a user's own could do it. */
static int failing_errno;

ssize_t pread(int fd, void *bytes, size_t size, off_t offset)
{
	if (failing_errno) {
		errno = failing_errno;
		return -1;
	}
	return syscall(SYS_pread64, fd, bytes, size, offset);
}

static void errors_of_a_file_system_say_nothing_of_us(void **state)
{
	static const struct {
		int error, r;
	} cases[] = { { EIO, -EIO }, { ESTALE, -ESTALE }, { ENOMEM, -EIO }, { E2BIG, -EIO } };
	struct fixture fixture = { 0 };
	_cleanup_close_ int fd = -1;
	struct elf_file file, other;
	uint8_t byte;

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_of_a_file_system_say_nothing_of_us),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
