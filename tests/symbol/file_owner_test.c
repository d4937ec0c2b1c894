/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/file_owner.h"

#include "base/cleanup.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static int make_file(void)
{
	char path[] = "/tmp/file_owner_test.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(unlink(path), 0);
	return fd;
}

static void files_of_the_own_user_and_root_are_trusted(void **state)
{
	struct file_owner owner = { .is_trusted = false };
	_cleanup_close_ int fd = make_file();

	assert_int_equal(file_owner_read(fd, &owner), 0);
	assert_true(owner.is_trusted);
	assert_int_equal(owner.uid, geteuid());
	assert_true(file_owner_is_trusted(fd));
	assert_int_equal(fchmod(fd, 0775), 0);
	assert_true(file_owner_is_trusted(fd));
}

static void files_writable_by_others_are_not_trusted(void **state)
{
	struct file_owner owner = { .is_trusted = true };
	_cleanup_close_ int fd = make_file();

	assert_int_equal(fchmod(fd, 0602), 0);
	assert_int_equal(file_owner_read(fd, &owner), 0);
	assert_false(owner.is_trusted);
	assert_int_equal(owner.uid, geteuid());
	assert_false(file_owner_is_trusted(fd));
}

static void files_of_other_users_are_not_trusted(void **state)
{
	struct file_owner owner = { .is_trusted = true };
	_cleanup_close_ int fd = make_file();

	if (geteuid() != 0) {
		print_message("only root can give files away\n");
		skip();
	}
	assert_int_equal(fchown(fd, 65534, 0), 0);
	assert_int_equal(file_owner_read(fd, &owner), 0);
	assert_false(owner.is_trusted);
	assert_int_equal(owner.uid, 65534);
	/* A process of that user trusts its own files and root's. */
	assert_int_equal(seteuid(65534), 0);
	assert_true(file_owner_is_trusted(fd));
	assert_int_equal(seteuid(0), 0);
	assert_int_equal(fchown(fd, 0, 0), 0);
	assert_int_equal(seteuid(65534), 0);
	assert_true(file_owner_is_trusted(fd));
	assert_int_equal(seteuid(0), 0);
}

static void failing_fstat_is_not_trusted(void **state)
{
	struct file_owner owner = { .is_trusted = true, .uid = 7 };

	assert_int_equal(file_owner_read(-1, &owner), -EBADF);
	assert_int_equal(owner.uid, 7);
	assert_false(file_owner_is_trusted(-1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_of_the_own_user_and_root_are_trusted),
		cmocka_unit_test(files_writable_by_others_are_not_trusted),
		cmocka_unit_test(files_of_other_users_are_not_trusted),
		cmocka_unit_test(failing_fstat_is_not_trusted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
