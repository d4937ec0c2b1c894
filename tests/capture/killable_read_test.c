/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "capture/killable_read.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { LONG_MS = 60000 };

static void assert_no_child_is_left(void)
{
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

static void a_read_that_returns_succeeds(void **state)
{
	int fds[2];
	char byte;

	assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	assert_int_equal(write(fds[1], "ab", 2), 2);
	assert_int_equal(killable_read(fds[0], LONG_MS), 0);
	/* It was one read of one byte. */
	assert_int_equal(read(fds[0], &byte, 1), 1);
	assert_int_equal(byte, 'b');
	assert_int_equal(read(fds[0], &byte, 1), -1);
	(void)close(fds[1]);
	assert_int_equal(killable_read(fds[0], LONG_MS), 0);
	(void)close(fds[0]);
	assert_no_child_is_left();
}

static void a_read_that_hangs_is_killed(void **state)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(killable_read(fds[0], 10), -ETIMEDOUT);
	assert_no_child_is_left();
	(void)close(fds[0]);
	(void)close(fds[1]);
}

static void errors_of_the_read_are_returned(void **state)
{
	_cleanup_close_ int folder_fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_int_equal(killable_read(folder_fd, LONG_MS), -EISDIR);
	assert_int_equal(killable_read(-1, LONG_MS), -EBADF);
	assert_no_child_is_left();
}

/* Without a descriptor for the child, its end cannot be awaited. */
static void without_descriptors_it_fails(void **state)
{
	struct rlimit before, none;
	int fds[2], r;

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = before.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	r = killable_read(fds[0], LONG_MS);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(r, -EMFILE);
	assert_no_child_is_left();
	(void)close(fds[0]);
	(void)close(fds[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_read_that_returns_succeeds),
		cmocka_unit_test(a_read_that_hangs_is_killed),
		cmocka_unit_test(errors_of_the_read_are_returned),
		cmocka_unit_test(without_descriptors_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
