/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tools/record/record_engine_process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <cmocka.h>

static struct record_engine_process *start(int (*run)(const void *context), const void *context)
{
	struct record_engine_process *process = NULL;

	assert_int_equal(record_engine_process_start(run, context, &process, NULL), 0);
	assert_true(process->pid > 0);
	return process;
}

static void expect_no_children(void)
{
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

static int exit_with(const void *status)
{
	return *(const int *)status;
}

static int die_of(const void *number)
{
	(void)signal(*(const int *)number, SIG_DFL);
	(void)raise(*(const int *)number);
	return 0;
}

static int wait_for_ever(const void *context)
{
	(void)context;
	do
		(void)pause();
	while (true);
	return 0;
}

/* Says on each of the sockets which it is, if nothing else is open. */
static int tell_sockets(const void *context)
{
	static const int numbers[] = { RECORD_BROKER_FD, RECORD_CAPTURE_FD, RECORD_MESSAGE_FD };
	char byte;

	(void)context;
	for (int fd = RECORD_MESSAGE_FD + 1; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			return 1;
	if (read(STDIN_FILENO, &byte, 1) != 0)
		return 2;
	for (size_t i = 0; i < 3; i++) {
		byte = (char)numbers[i];
		if (!(fcntl(numbers[i], F_GETFD) & FD_CLOEXEC) ||
			send(numbers[i], &byte, 1, 0) != 1)
			return 3;
	}
	return 0;
}

static void it_has_its_sockets_and_no_more(void **state)
{
	int secret = open("/proc/self/stat", O_RDONLY);
	struct record_engine_process *process = start(tell_sockets, NULL);
	char bytes[3];

	(void)state;
	assert_int_equal(recv(process->broker_fd, &bytes[0], 1, 0), 1);
	assert_int_equal(recv(process->capture_fd, &bytes[1], 1, 0), 1);
	assert_int_equal(recv(process->message_fd, &bytes[2], 1, 0), 1);
	assert_int_equal(bytes[0], RECORD_BROKER_FD);
	assert_int_equal(bytes[1], RECORD_CAPTURE_FD);
	assert_int_equal(bytes[2], RECORD_MESSAGE_FD);
	/* This side has no copy of the other ends. */
	assert_int_equal(recv(process->broker_fd, &bytes[0], 1, 0), 0);
	assert_int_equal(record_engine_process_end(process, NULL), 0);
	record_engine_process_free(process);
	(void)close(secret);
	expect_no_children();
}

/* As of a caller that has closed its standard streams. */
static void its_sockets_may_be_anywhere_at_first(void **state)
{
	int filler[16];
	struct record_engine_process *process;

	(void)state;
	for (int shift = 1; shift < 5; shift++) {
		for (int i = 0; i < shift; i++)
			filler[i] = open("/dev/null", O_RDONLY);
		process = start(tell_sockets, NULL);
		assert_int_equal(record_engine_process_end(process, NULL), 0);
		record_engine_process_free(process);
		for (int i = 0; i < shift; i++)
			(void)close(filler[i]);
	}
}

static void its_end_is_told(void **state)
{
	static const struct {
		int (*run)(const void *context);
		int context;
		int result;
		const char *text;
	} cases[] = {
		{ exit_with, 0, 0, "" },
		{ exit_with, 3, -ECHILD, "status 3" },
		{ die_of, SIGKILL, -ECHILD, "signal 9 (Killed)" },
		{ die_of, SIGSYS, -ECHILD, "signal 31 (Bad system call)" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct record_engine_process *process = start(cases[i].run, &cases[i].context);
		struct fault fault = { 0 };

		assert_int_equal(record_engine_process_end(process, &fault), cases[i].result);
		assert_non_null(strstr(fault.text, cases[i].text));
		assert_int_equal(process->pid, 0);
		record_engine_process_free(process);
	}
	expect_no_children();
}

static void one_that_lives_is_killed(void **state)
{
	struct record_engine_process *process = start(wait_for_ever, NULL);
	struct fault fault = { 0 };

	(void)state;
	record_engine_process_free(process);
	expect_no_children();
	record_engine_process_free(NULL);

	/* Such as has closed its sockets and does not end. */
	process = start(wait_for_ever, NULL);
	assert_int_equal(record_engine_process_end(process, &fault), -ECHILD);
	assert_non_null(strstr(fault.text, "Killed"));
	record_engine_process_free(process);
	expect_no_children();
}

static void where_the_kernel_keeps_no_status_it_has_ended_all_the_same(void **state)
{
	static const int status = 3;
	struct record_engine_process *process;
	struct fault fault = { 0 };

	(void)state;
	(void)signal(SIGCHLD, SIG_IGN);
	process = start(exit_with, &status);
	assert_int_equal(record_engine_process_end(process, &fault), -ECHILD);
	assert_non_null(strstr(fault.text, "has ended"));
	record_engine_process_free(process);
	(void)signal(SIGCHLD, SIG_DFL);
}

static size_t count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	size_t count = 0;

	assert_non_null(folder);
	while (readdir(folder))
		count++;
	(void)closedir(folder);
	return count;
}

static void failing_allocations_start_nothing(void **state)
{
	struct record_engine_process *process = NULL;
	size_t before = count_descriptors();
	struct fault fault = { 0 };

	(void)state;
	fail_allocation(0);
	assert_int_equal(
		record_engine_process_start(wait_for_ever, NULL, &process, &fault), -ENOMEM);
	assert_true(allocation_failed());
	assert_null(process);
	assert_true(fault.text[0] != '\0');
	assert_int_equal(count_descriptors(), before);
	expect_no_children();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_its_sockets_and_no_more),
		cmocka_unit_test(its_sockets_may_be_anywhere_at_first),
		cmocka_unit_test(its_end_is_told),
		cmocka_unit_test(one_that_lives_is_killed),
		cmocka_unit_test(where_the_kernel_keeps_no_status_it_has_ended_all_the_same),
		cmocka_unit_test(failing_allocations_start_nothing),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
