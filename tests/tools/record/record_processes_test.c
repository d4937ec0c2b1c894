/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tools/record/record_processes.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { FOR_EVER_MS = 100000 };

static pid_t start_process(void)
{
	pid_t pid = fork();

	if (pid == 0)
		for (;;)
			(void)pause();
	assert_true(pid > 0);
	return pid;
}

/* Leaves a zombie, so that the PID is not reused. */
static void end_process(pid_t pid)
{
	siginfo_t info;

	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
}

static void reap_process(pid_t pid)
{
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool is_readable(const struct record_processes *processes, int timeout_ms)
{
	struct pollfd fd = { .fd = record_processes_poll_fd(processes), .events = POLLIN };

	return poll(&fd, 1, timeout_ms) > 0;
}

static void processes_are_counted_until_the_last(void **state)
{
	struct record_processes *processes = NULL;
	pid_t pids[] = { start_process(), start_process() };

	assert_int_equal(record_processes_open(pids, 2, &processes, NULL), 0);
	assert_int_equal(record_processes_check(processes, NULL), 0);
	assert_int_equal(record_processes_count(processes), 2);
	assert_false(is_readable(processes, 0));
	end_process(pids[0]);
	assert_true(is_readable(processes, FOR_EVER_MS));
	assert_int_equal(record_processes_count(processes), 1);
	assert_false(is_readable(processes, 0));
	end_process(pids[1]);
	assert_true(is_readable(processes, FOR_EVER_MS));
	assert_int_equal(record_processes_count(processes), 0);
	record_processes_free(processes);
	reap_process(pids[0]);
	reap_process(pids[1]);
}

static void one_process_may_be_named_twice(void **state)
{
	struct record_processes *processes = NULL;
	pid_t pid = start_process(), pids[] = { pid, pid };

	assert_int_equal(record_processes_open(pids, 2, &processes, NULL), 0);
	end_process(pid);
	assert_int_equal(record_processes_count(processes), 0);
	record_processes_free(processes);
	reap_process(pid);
}

static void an_end_before_sampling_is_noticed(void **state)
{
	struct record_processes *processes = NULL;
	pid_t pids[] = { start_process(), start_process() };
	struct fault fault = { 0 };
	char number[16];

	assert_int_equal(record_processes_open(pids, 2, &processes, NULL), 0);
	end_process(pids[1]);
	assert_int_equal(record_processes_check(processes, &fault), -ESRCH);
	(void)snprintf(number, sizeof(number), " %d ", (int)pids[1]);
	assert_non_null(strstr(fault.text, number));
	(void)record_processes_count(processes);
	assert_int_equal(record_processes_check(processes, NULL), -ESRCH);
	record_processes_free(processes);
	end_process(pids[0]);
	reap_process(pids[0]);
	reap_process(pids[1]);
}

static void a_pid_without_a_process_is_refused(void **state)
{
	struct record_processes *processes = NULL;
	pid_t pids[] = { getpid(), start_process() };
	struct fault fault = { 0 };

	end_process(pids[1]);
	assert_int_equal(record_processes_open(pids, 2, &processes, &fault), -ESRCH);
	assert_non_null(strstr(fault.text, "there is no process"));
	reap_process(pids[1]);
	memset(&fault, 0, sizeof(fault));
	pids[1] = INT32_MAX;
	assert_int_equal(record_processes_open(pids, 2, &processes, &fault), -ESRCH);
	assert_non_null(strstr(fault.text, "there is no process 2147483647"));
	assert_null(processes);
}

struct thread {
	pid_t tid;
	int r;
	struct fault fault;
};

static void *open_own_thread(void *context)
{
	struct record_processes *processes = NULL;
	struct thread *thread = context;

	thread->tid = gettid();
	thread->r = record_processes_open(&thread->tid, 1, &processes, &thread->fault);
	return NULL;
}

static void a_thread_is_refused_and_its_process_named(void **state)
{
	struct thread thread = { 0 };
	char sentence[64];
	pthread_t id;

	assert_int_equal(pthread_create(&id, NULL, open_own_thread, &thread), 0);
	assert_int_equal(pthread_join(id, NULL), 0);
	assert_int_equal(thread.r, -ESRCH);
	(void)snprintf(sentence, sizeof(sentence), "%d is a thread of process %d,", (int)thread.tid,
		(int)getpid());
	assert_non_null(strstr(thread.fault.text, sentence));
}

static void descriptors_that_run_out_are_an_error(void **state)
{
	struct record_processes *processes = NULL;
	struct fault fault = { 0 };
	struct rlimit limit;
	pid_t pids[64];
	int wait_status;
	pid_t child;

	for (size_t i = 0; i < 64; i++)
		pids[i] = getpid();
	child = fork();
	if (child == 0) {
		/* Both, since the soft one is raised. */
		limit.rlim_cur = limit.rlim_max = 32;
		_exit(setrlimit(RLIMIT_NOFILE, &limit) == 0 &&
					record_processes_open(pids, 64, &processes, &fault) ==
						-EMFILE &&
					strstr(fault.text, "cannot watch process")
				? 0
				: 1);
	}
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_int_equal(wait_status, 0);
}

static void failing_allocations_are_an_error(void **state)
{
	struct record_processes *processes = NULL;
	pid_t pid = getpid();

	fail_allocation(0);
	assert_int_equal(record_processes_open(&pid, 1, &processes, NULL), -ENOMEM);
	assert_true(allocation_failed());
	assert_null(processes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(processes_are_counted_until_the_last),
		cmocka_unit_test(one_process_may_be_named_twice),
		cmocka_unit_test(an_end_before_sampling_is_noticed),
		cmocka_unit_test(a_pid_without_a_process_is_refused),
		cmocka_unit_test(a_thread_is_refused_and_its_process_named),
		cmocka_unit_test(descriptors_that_run_out_are_an_error),
		cmocka_unit_test(failing_allocations_are_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
