/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/process_status.h"
#include "tests/harness/failing_allocation.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static int read_text(const char *text, size_t size, struct process_status *ret_status)
{
	_cleanup_close_ int fd = memfd_create("status", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, size), size);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return process_status_read(fd, ret_status);
}

static void lines_are_found(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint32_t threads;
		bool is_zombie;
	} cases[] = {
		{ "Name:\ta\nState:\tS (sleeping)\nThreads:\t1\n", 0, 1, false },
		{ "State:\tZ (zombie)\nVmPeak:\t 1 kB\nThreads:\t4294967295\nX:\t1\n", 0,
			UINT32_MAX, true },
		{ "State:\tX (dead)\nThreads:\t0", 0, 0, true },
		{ "Name:\tThreads:\t9\nState:\tR (running)\nThreads:\t2\n", 0, 2, false },
		{ "", -EINVAL, 0, false },
		{ "Name:\ta\nState:\tS (sleeping)\n", -EINVAL, 0, false },
		{ "Threads:\t1\nState:\tS (sleeping)\n", -EINVAL, 0, false },
		{ "State:\tS\nThreads:\t\n", -EINVAL, 0, false },
		{ "State:\tS\nThreads:\t-1\n", -EINVAL, 0, false },
		{ "State:\tS\nThreads:\t1 \n", -EINVAL, 0, false },
		{ "State:\tS\nThreads:\t4294967296\n", -EINVAL, 0, false },
		{ "State:\nThreads:\t1\n", -EINVAL, 0, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct process_status status = { .threads = 77 };

		assert_int_equal(
			read_text(cases[i].text, strlen(cases[i].text), &status), cases[i].r);
		assert_int_equal(status.threads, cases[i].r < 0 ? 77 : cases[i].threads);
		assert_int_equal(status.is_zombie, cases[i].is_zombie);
	}
}

static void identities_are_found(void **state)
{
	static const struct {
		const char *lines;
		int r;
		bool has_uid, has_ns_pid;
		uid_t uid;
		uint32_t ns_pid;
	} cases[] = {
		{ "", 0, false, false, 0, 0 },
		{ "Uid:\t1\t2\t3\t4\nNStgid:\t77\nNSpid:\t78\n", 0, true, true, 2, 77 },
		{ "NStgid:\t77\t5\t1\n", 0, false, true, 0, 1 },
		{ "Uid:\t0\t4294967295\n", 0, true, false, UINT32_MAX, 0 },
		{ "NStgid:\t0\n", 0, false, true, 0, 0 },
		{ "Uid:\t1\n", -EINVAL, false, false, 0, 0 },
		{ "Uid:\t1\t\n", -EINVAL, false, false, 0, 0 },
		{ "Uid:\t1\t-2\n", -EINVAL, false, false, 0, 0 },
		{ "Uid:\t1\t4294967296\t3\n", -EINVAL, false, false, 0, 0 },
		{ "NStgid:\t5\t\n", -EINVAL, false, false, 0, 0 },
		{ "NStgid:\t5\tx\n", -EINVAL, false, false, 0, 0 },
		{ "NSpid:\t5\nNSpgid:\t6\nGid:\t7\t8\n", 0, false, false, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct process_status status = { .uid = 77 };
		char text[256];

		(void)snprintf(text, sizeof(text), "Name:\tUid:\t9\t9\nState:\tS\n%sThreads:\t1\n",
			cases[i].lines);
		assert_int_equal(read_text(text, strlen(text), &status), cases[i].r);
		assert_int_equal(status.uid, cases[i].r < 0 ? 77 : cases[i].uid);
		assert_int_equal(status.has_uid, cases[i].has_uid);
		assert_int_equal(status.has_ns_pid, cases[i].has_ns_pid);
		assert_int_equal(status.ns_pid, cases[i].ns_pid);
	}
}

/* A pid namespace may be 32 deep. */
static void pids_of_the_deepest_namespace_are_found(void **state)
{
	char text[1024] = "State:\tS\nNStgid:";
	struct process_status status;

	for (int i = 0; i < 32; i++)
		strcat(text, "\t4194304");
	strcat(text, "\t17\nThreads:\t1\n");
	assert_int_equal(read_text(text, strlen(text), &status), 0);
	assert_true(status.has_ns_pid);
	assert_int_equal(status.ns_pid, 17);
}

static void long_lists_of_groups_are_passed_over(void **state)
{
	static const char head[] = "State:\tS (sleeping)\nGroups:\t", tail[] = "\nThreads:\t7\n";
	size_t groups = 65536 * 11, most = (1 << 20) + 1;
	_cleanup_free_ char *text = malloc(most + sizeof(tail));
	struct process_status status;

	assert_non_null(text);
	memset(text, '9', most);
	memcpy(text, head, strlen(head));
	memcpy(text + groups, tail, sizeof(tail));
	assert_int_equal(read_text(text, groups + strlen(tail), &status), 0);
	assert_int_equal(status.threads, 7);
	memset(text + groups, '9', sizeof(tail));
	memcpy(text + most, tail, sizeof(tail));
	assert_int_equal(read_text(text, most + strlen(tail), &status), -E2BIG);
}

static void this_process_is_read(void **state)
{
	_cleanup_close_ int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	struct process_status status;

	assert_true(fd >= 0);
	assert_int_equal(process_status_read(fd, &status), 0);
	assert_true(status.threads >= 1);
	assert_false(status.is_zombie);
	assert_true(status.has_uid);
	assert_int_equal(status.uid, geteuid());
	assert_true(status.has_ns_pid);
	assert_int_equal(status.ns_pid, getpid());
	assert_int_equal(process_status_read(-1, &status), -EBADF);
}

static void failing_allocations_are_reported(void **state)
{
	static const char text[] = "State:\tS\nThreads:\t1\n";
	struct process_status status;
	size_t n;
	int r;

	for (n = 0;; n++) {
		fail_allocation(n);
		r = read_text(text, strlen(text), &status);
		if (!allocation_failed())
			break;
		assert_int_equal(r, -ENOMEM);
	}
	assert_int_equal(r, 0);
	assert_true(n >= 1);
}

static void the_parent_is_read(void **state)
{
	static const char text[] = "State:\tS\nPPid:\t4711\nThreads:\t1\n";
	static const char none[] = "State:\tS\nThreads:\t1\n",
			  wrong[] = "State:\tS\nPPid:\t-1\nThreads:\t1\n";
	struct process_status status;

	assert_int_equal(read_text(text, strlen(text), &status), 0);
	assert_int_equal(status.parent, 4711);
	assert_int_equal(read_text(none, strlen(none), &status), 0);
	assert_int_equal(status.parent, 0);
	assert_int_equal(read_text(wrong, strlen(wrong), &status), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_found),
		cmocka_unit_test(identities_are_found),
		cmocka_unit_test(pids_of_the_deepest_namespace_are_found),
		cmocka_unit_test(long_lists_of_groups_are_passed_over),
		cmocka_unit_test(this_process_is_read),
		cmocka_unit_test(failing_allocations_are_reported),
		cmocka_unit_test(the_parent_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
