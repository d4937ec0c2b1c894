/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tests/harness/failing_allocation.h"
#include "tools/record/workload_command.h"

#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/wait.h>

#include <cmocka.h>

enum { FOR_EVER_MS = 100000 };

static struct workload_command *fork_command(char **argv, const sigset_t *mask)
{
	struct workload_command *command = NULL;
	sigset_t none;

	(void)sigemptyset(&none);
	assert_int_equal(workload_command_fork(argv, mask ? mask : &none, &command, NULL), 0);
	return command;
}

/* As sh -c does; `script` is to say something to the descriptor $1 where `ret_fd` is wanted. */
static struct workload_command *start_script(char *script, int *ret_fd)
{
	int ends[2] = { -1, -1 };
	char number[16], *argv[] = { "sh", "-c", script, "sh", number, NULL };
	struct workload_command *command;

	assert_int_equal(pipe(ends), 0);
	(void)snprintf(number, sizeof(number), "%d", ends[1]);
	command = fork_command(argv, NULL);
	assert_int_equal(workload_command_start(command, NULL), 0);
	(void)close(ends[1]);
	if (ret_fd)
		*ret_fd = ends[0];
	else
		(void)close(ends[0]);
	return command;
}

static void wait_for_word(int fd)
{
	char byte;

	assert_int_equal(read(fd, &byte, 1), 1);
	(void)close(fd);
}

static void wait_until_ended(struct workload_command *command)
{
	struct pollfd fd = { .fd = workload_command_poll_fd(command), .events = POLLIN };

	assert_int_equal(poll(&fd, 1, FOR_EVER_MS), 1);
	assert_false(workload_command_is_running(command));
}

static void exit_statuses_are_a_shells(void **state)
{
	static const struct {
		char *script;
		int status;
	} cases[] = { { "exit 0", 0 }, { "exit 7", 7 }, { "kill -TERM $$", 143 } };

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct workload_command *command = start_script(cases[i].script, NULL);

		wait_until_ended(command);
		assert_int_equal(workload_command_status(command), cases[i].status);
		assert_int_equal(workload_command_end(command, -1, 0), WORKLOAD_END_DONE);
		assert_int_equal(workload_command_status(command), cases[i].status);
		workload_command_free(command);
	}
}

static void a_command_that_cannot_run_is_reported(void **state)
{
	char *argv[] = { "/nonexistent/command", NULL };
	struct workload_command *command = fork_command(argv, NULL);
	struct fault fault = { 0 };

	assert_int_equal(workload_command_start(command, &fault), -ENOENT);
	assert_non_null(strstr(fault.text, "'/nonexistent/command'"));
	workload_command_free(command);
}

static void a_command_killed_before_its_start_is_reported(void **state)
{
	char *argv[] = { "true", NULL };
	struct workload_command *command = fork_command(argv, NULL);
	struct fault fault = { 0 };

	assert_int_equal(kill(workload_command_pid(command), SIGKILL), 0);
	wait_until_ended(command);
	assert_int_equal(workload_command_start(command, &fault), -EPIPE);
	assert_non_null(strstr(fault.text, "before it began"));
	workload_command_free(command);
}

static void a_command_that_never_started_ends_with_us(void **state)
{
	char *argv[] = { "true", NULL };
	struct workload_command *command = fork_command(argv, NULL);
	pid_t pid = workload_command_pid(command);

	assert_int_equal(kill(pid, 0), 0);
	workload_command_free(command);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(errno, ESRCH);
}

static void a_command_that_runs_is_left_alone(void **state)
{
	int ready, wait_status;
	struct workload_command *command = start_script("echo >&$1; exec sleep 1000", &ready);
	pid_t pid = workload_command_pid(command);

	wait_for_word(ready);
	workload_command_free(command);
	assert_int_equal(waitpid(pid, &wait_status, WNOHANG), 0);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_int_equal(waitpid(pid, &wait_status, 0), pid);
	assert_true(WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGTERM);
}

/* Our own are SIGTERM, which is blocked, and SIGCHLD, which is not ignored. */
static void signals_are_as_our_caller_had_them(void **state)
{
	char *blocked[] = { "grep", "-q", "^SigBlk:\t0000000000000200$", "/proc/self/status",
		NULL };
	char *ignored[] = { "grep", "-q", "^SigIgn:\t[0-9a-f]*[13579bdf]....$", "/proc/self/status",
		NULL };
	char **argvs[] = { blocked, ignored };
	sigset_t mask, ours, before;

	(void)sigemptyset(&mask);
	(void)sigaddset(&mask, SIGUSR1);
	(void)sigemptyset(&ours);
	(void)sigaddset(&ours, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &ours, &before);
	for (size_t i = 0; i < 2; i++) {
		struct workload_command *command;

		(void)signal(SIGCHLD, SIG_IGN);
		command = fork_command(argvs[i], &mask);
		assert_int_equal(workload_command_start(command, NULL), 0);
		wait_until_ended(command);
		assert_int_equal(workload_command_status(command), 0);
		workload_command_free(command);
	}
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static void a_signal_before_the_start_is_kept_for_it(void **state)
{
	char *argv[] = { "sleep", "1000", NULL };
	struct workload_command *command;
	sigset_t ours, before;

	(void)sigemptyset(&ours);
	(void)sigaddset(&ours, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &ours, &before);
	command = fork_command(argv, &before);
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
	assert_int_equal(kill(workload_command_pid(command), SIGTERM), 0);
	assert_int_equal(workload_command_start(command, NULL), 0);
	wait_until_ended(command);
	assert_int_equal(workload_command_status(command), 128 + SIGTERM);
	workload_command_free(command);
}

static void a_command_ends_when_it_is_asked_to(void **state)
{
	struct workload_command *command = start_script("exec sleep 1000", NULL);

	assert_true(workload_command_is_running(command));
	assert_int_equal(workload_command_end(command, -1, FOR_EVER_MS), WORKLOAD_END_DONE);
	assert_int_equal(workload_command_status(command), 128 + SIGTERM);
	workload_command_free(command);
}

static void a_stopped_command_ends_too(void **state)
{
	struct workload_command *command = start_script("kill -STOP $$; exec sleep 1000", NULL);
	int wait_status;

	assert_int_equal(waitpid(workload_command_pid(command), &wait_status, WUNTRACED),
		workload_command_pid(command));
	assert_true(WIFSTOPPED(wait_status));
	assert_int_equal(workload_command_end(command, -1, FOR_EVER_MS), WORKLOAD_END_DONE);
	workload_command_free(command);
}

static void a_stubborn_command_is_killed(void **state)
{
	char script[] = "trap '' TERM; echo >&$1; exec sleep 1000";
	int interrupt_fd = eventfd(0, EFD_CLOEXEC), ready;
	struct workload_command *command = start_script(script, &ready);

	wait_for_word(ready);
	assert_int_equal(workload_command_end(command, interrupt_fd, 50), WORKLOAD_END_KILLED);
	assert_int_equal(workload_command_status(command), 128 + SIGKILL);
	workload_command_free(command);

	command = start_script(script, &ready);
	wait_for_word(ready);
	assert_int_equal(eventfd_write(interrupt_fd, 1), 0);
	assert_int_equal(
		workload_command_end(command, interrupt_fd, FOR_EVER_MS), WORKLOAD_END_INTERRUPTED);
	workload_command_free(command);
	(void)close(interrupt_fd);
}

static void a_command_of_another_user_goes_on(void **state)
{
	struct workload_command *command;
	enum workload_end end;

	if (geteuid() != 0) {
		print_message("becoming another user takes root\n");
		skip();
	}
	command = start_script("exec sleep 1000", NULL);
	assert_int_equal(setresuid(65534, 65534, 0), 0);
	end = workload_command_end(command, -1, FOR_EVER_MS);
	assert_int_equal(setresuid(0, 0, 0), 0);
	assert_int_equal(end, WORKLOAD_END_IMPOSSIBLE);
	assert_int_equal(workload_command_end(command, -1, FOR_EVER_MS), WORKLOAD_END_DONE);
	workload_command_free(command);
}

static void failing_allocations_fork_nothing(void **state)
{
	char *argv[] = { "true", NULL };
	struct workload_command *command = NULL;
	sigset_t none;

	(void)sigemptyset(&none);
	fail_allocation(0);
	assert_int_equal(workload_command_fork(argv, &none, &command, NULL), -ENOMEM);
	assert_true(allocation_failed());
	assert_null(command);
	assert_int_equal(waitpid(-1, NULL, 0), -1);
	assert_int_equal(errno, ECHILD);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exit_statuses_are_a_shells),
		cmocka_unit_test(a_command_that_cannot_run_is_reported),
		cmocka_unit_test(a_command_killed_before_its_start_is_reported),
		cmocka_unit_test(a_command_that_never_started_ends_with_us),
		cmocka_unit_test(a_command_that_runs_is_left_alone),
		cmocka_unit_test(signals_are_as_our_caller_had_them),
		cmocka_unit_test(a_signal_before_the_start_is_kept_for_it),
		cmocka_unit_test(a_command_ends_when_it_is_asked_to),
		cmocka_unit_test(a_stopped_command_ends_too),
		cmocka_unit_test(a_stubborn_command_is_killed),
		cmocka_unit_test(a_command_of_another_user_goes_on),
		cmocka_unit_test(failing_allocations_fork_nothing),
	};

	(void)signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
