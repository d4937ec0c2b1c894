/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process's executable and cgroup, and the folders of cgroups. */
#include "tests/broker/served_broker.h"
#include "tests/harness/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static int new_broker(void **state)
{
	const enum broker_place *place = *state;
	struct placed_broker *placed = calloc(1, sizeof(*placed));

	assert_non_null(placed);
	placed_broker_start(placed, *place, NULL);
	*state = placed;
	return 0;
}

static int free_broker(void **state)
{
	struct placed_broker *placed = *state;

	placed_broker_stop(placed);
	free(placed);
	return 0;
}

static struct broker *broker_of(void **state)
{
	return ((struct placed_broker *)*state)->broker;
}

static void the_executable_is_named_and_cannot_be_read(void **state)
{
	const struct broker_process ourselves = { .pid = getpid() };
	struct stat expected, found;
	int fd = -1;
	char byte;

	assert_int_equal(stat("/proc/self/exe", &expected), 0);
	assert_int_equal(broker_open_executable(broker_of(state), &ourselves, &fd), 0);
	assert_int_equal(fstat(fd, &found), 0);
	assert_int_equal(found.st_ino, expected.st_ino);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(read(fd, &byte, 1), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(close(fd), 0);
}

static void an_executable_is_of_one_process(void **state)
{
	const struct broker_process later = { .pid = getpid(), .start_ns = UINT64_MAX };
	const struct broker_process nobody = { .pid = 0 };
	int fd = -7;

	assert_int_equal(broker_open_executable(broker_of(state), &later, &fd), -ESRCH);
	assert_int_equal(broker_open_executable(broker_of(state), &nobody, &fd), -ESRCH);
	assert_int_equal(fd, -7);
}

/* One that has ended and is not waited for has no executable, as a thread of the kernel has none.
 */
static void zombies_execute_nothing(void **state)
{
	struct broker_process child = { .pid = fork() };
	siginfo_t info;
	int fd = -7, r;

	if (child.pid == 0)
		_exit(0);
	assert_true(child.pid > 0);
	assert_int_equal(waitid(P_PID, (id_t)child.pid, &info, WEXITED | WNOWAIT), 0);
	r = broker_open_executable(broker_of(state), &child, &fd);
	assert_true(r == -ENOENT || r == -EACCES);
	assert_int_equal(waitpid(child.pid, NULL, 0), child.pid);
	assert_int_equal(broker_open_executable(broker_of(state), &child, &fd), -ESRCH);
	assert_int_equal(fd, -7);
}

static void the_cgroup_of_a_process_is_read(void **state)
{
	const struct broker_process ourselves = { .pid = getpid() };
	char text[4096] = "";
	int fd = -1;

	if (access("/proc/self/cgroup", R_OK) < 0) {
		print_message("skipped: the kernel has no cgroups\n");
		skip();
	}
	assert_int_equal(
		broker_open_process_file(broker_of(state), &ourselves, BROKER_PROCESS_CGROUP, &fd),
		0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	assert_non_null(strstr(text, ":/"));
	assert_int_equal(close(fd), 0);
}

static void assert_folder(int fd, ino_t inode)
{
	struct statfs system;
	struct stat status;

	assert_int_equal(fstat(fd, &status), 0);
	assert_true(S_ISDIR(status.st_mode));
	assert_int_equal(status.st_ino, inode);
	assert_int_equal(fstatfs(fd, &system), 0);
	assert_int_equal(system.f_type, CGROUP2_SUPER_MAGIC);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH), O_RDONLY);
	assert_int_equal(close(fd), 0);
}

static void folders_of_cgroups_open(void **state)
{
	const char *mount = test_cgroup_mount();
	struct test_cgroup cgroup;
	struct stat root;
	int fd = -1;

	if (!mount) {
		print_message("skipped: there is no cgroup2 file system\n");
		skip();
	}
	assert_int_equal(stat(mount, &root), 0);
	assert_int_equal(broker_open_cgroup(broker_of(state), NULL, "/", &fd), 0);
	assert_folder(fd, root.st_ino);
	assert_int_equal(broker_open_cgroup(broker_of(state), mount, "//", &fd), 0);
	assert_folder(fd, root.st_ino);
	if (test_cgroup_make(&cgroup, "process_facts_test"))
		return; /* not root */
	assert_int_equal(
		broker_open_cgroup(broker_of(state), mount, "/process_facts_test", &fd), 0);
	assert_folder(fd, cgroup.id);
	assert_int_equal(test_cgroup_remove(&cgroup), 0);
	fd = -7;
	assert_int_equal(
		broker_open_cgroup(broker_of(state), NULL, "/process_facts_test", &fd), -ENOENT);
	assert_int_equal(fd, -7);
}

static void only_cgroup_folders_open(void **state)
{
	const char *mount = test_cgroup_mount();
	int fd = -7;

	assert_int_equal(broker_open_cgroup(broker_of(state), NULL, "", &fd), -EINVAL);
	assert_int_equal(broker_open_cgroup(broker_of(state), NULL, "a", &fd), -EINVAL);
	assert_int_equal(broker_open_cgroup(broker_of(state), "/tmp", "/", &fd), -ENOENT);
	assert_int_equal(broker_open_cgroup(broker_of(state), "/", "/etc", &fd), -ENOENT);
	assert_int_equal(
		broker_open_cgroup(broker_of(state), "/proc/self/exe", "/", &fd), -ENOTDIR);
	if (mount) {
		assert_int_equal(
			broker_open_cgroup(broker_of(state), mount, "/../..", &fd), -EXDEV);
		assert_int_equal(broker_open_cgroup(broker_of(state), mount, "/cgroup.procs", &fd),
			-ENOTDIR);
	}
	assert_int_equal(fd, -7);
}

/* Below a folder that stands for /sys there are none. */
static void another_sys_has_no_cgroups(void **state)
{
	const struct broker_options options = { .sys_root = "/tmp" };
	const enum broker_place *place = *state;
	struct placed_broker placed;
	int fd = -7;

	placed_broker_start(&placed, *place, &options);
	assert_int_equal(broker_open_cgroup(placed.broker, NULL, "/", &fd), -ENOENT);
	assert_int_equal(fd, -7);
	placed_broker_stop(&placed);
}

#define WITH_BROKER(test) IN_BOTH_PLACES(test, new_broker, free_broker)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_BROKER(the_executable_is_named_and_cannot_be_read),
		WITH_BROKER(an_executable_is_of_one_process),
		WITH_BROKER(zombies_execute_nothing),
		WITH_BROKER(the_cgroup_of_a_process_is_read),
		WITH_BROKER(folders_of_cgroups_open),
		WITH_BROKER(only_cgroup_folders_open),
		IN_BOTH_PLACES(another_sys_has_no_cgroups, NULL, NULL),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
