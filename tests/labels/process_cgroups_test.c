/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "labels/process_cgroups.h"
#include "tests/harness/failing_allocation.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static int open_text(const char *text, size_t size)
{
	int fd = memfd_create("cgroup", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

static struct process_cgroups cgroups;

static const char *path_of(const char *text)
{
	_cleanup_close_ int fd = open_text(text, strlen(text));

	memset(&cgroups, 0, sizeof(cgroups));
	assert_int_equal(process_cgroups_read(fd, &cgroups), 0);
	return process_cgroups_path(&cgroups);
}

static void the_unified_hierarchy(void **state)
{
	assert_string_equal(path_of("0::/system.slice/a.service\n"), "/system.slice/a.service");
	assert_false(cgroups.has_v1);
	assert_string_equal(path_of("0::/"), "/");
	assert_string_equal(path_of(""), "");
	assert_string_equal(path_of("0::/a (deleted)\n"), "/a");
	assert_string_equal(path_of("0::/a:b:c\n"), "/a:b:c");
	assert_string_equal(path_of("0::/../b\n"), "/../b");
}

static void hierarchies_of_v1(void **state)
{
	assert_string_equal(path_of("12:cpu,cpuacct:/docker/1\n1:name=systemd:/docker/2\n0::/x\n"),
		"/docker/2");
	assert_true(cgroups.has_v1);
	assert_false(cgroups.has_perf_event_v1);
	assert_string_equal(cgroups.unified, "/x");
	assert_string_equal(cgroups.other, "/docker/1");
	/* What is at the root tells less than what is not. */
	assert_string_equal(path_of("2:cpu:/c\n1:name=systemd:/\n0::/x\n"), "/x");
	assert_string_equal(path_of("3:pids:/\n2:cpu:/c\n1:name=systemd:/\n0::/\n"), "/c");
	assert_string_equal(path_of("2:cpu:/\n1:name=systemd:/\n0::/\n"), "/");
	assert_string_equal(path_of("2:cpu:/\n"), "");
	assert_string_equal(path_of("2:perf_event,cpu:/\n"), "");
	assert_true(cgroups.has_perf_event_v1);
	(void)path_of("2:xperf_event,perf_eventx,name=perf_event:/\n");
	assert_false(cgroups.has_perf_event_v1);
}

static void lines_that_make_no_sense_are_passed_over(void **state)
{
	static const char with_nul[] = "0::/a\0b\n0::/good\n";
	_cleanup_close_ int fd = open_text(with_nul, sizeof(with_nul) - 1);
	char text[3 * PATH_MAX];

	assert_string_equal(path_of("\n:\n::\n0\n0:\n0::\n0::a\n00::/b\n0:x:/c\n"), "/c");
	assert_int_equal(process_cgroups_read(fd, &cgroups), 0);
	assert_string_equal(cgroups.unified, "/good");
	/* The longest path, and one that is longer. */
	memset(text, 'x', sizeof(text));
	memcpy(text, "0::/", 4);
	text[3 + PATH_MAX - 1] = '\0';
	assert_int_equal(strlen(path_of(text)), PATH_MAX - 1);
	text[3 + PATH_MAX - 1] = 'x';
	text[3 + PATH_MAX] = '\0';
	assert_string_equal(path_of(text), "");
	text[3 + PATH_MAX] = 'x';
	memcpy(text + sizeof(text) - 9, "\n0::/ab\n", 9);
	assert_string_equal(path_of(text), "/ab");
}

static void what_cannot_be_read_says_so(void **state)
{
	_cleanup_close_ int fd = memfd_create("cgroup", MFD_CLOEXEC);

	cgroups = (struct process_cgroups){ .unified = "/kept" };
	assert_int_equal(process_cgroups_read(-1, &cgroups), -EBADF);
	assert_int_equal(ftruncate(fd, 1 << 20), 0);
	assert_int_equal(process_cgroups_read(fd, &cgroups), -E2BIG);
	assert_string_equal(cgroups.unified, "/kept");
}

static void failing_allocations_are_reported(void **state)
{
	size_t n;
	int r;

	for (n = 0;; n++) {
		_cleanup_close_ int fd = open_text("0::/a\n", 6);

		fail_allocation(n);
		r = process_cgroups_read(fd, &cgroups);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_unified_hierarchy),
		cmocka_unit_test(hierarchies_of_v1),
		cmocka_unit_test(lines_that_make_no_sense_are_passed_over),
		cmocka_unit_test(what_cannot_be_read_says_so),
		cmocka_unit_test(failing_allocations_are_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
