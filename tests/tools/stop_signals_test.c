/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/stop_signals.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

static bool is_blocked(int signal)
{
	sigset_t mask;

	(void)sigprocmask(SIG_BLOCK, NULL, &mask);
	return sigismember(&mask, signal) == 1;
}

static void held_signals_are_taken(void **state)
{
	struct stop_signals signals = { .fd = -1 };
	struct pollfd fd = { .events = POLLIN };

	assert_int_equal(stop_signals_init(&signals, NULL), 0);
	assert_false(stop_signals_take(&signals));
	(void)raise(SIGINT);
	(void)raise(SIGTERM);
	(void)raise(SIGHUP);
	fd.fd = signals.fd;
	assert_int_equal(poll(&fd, 1, 0), 1);
	assert_true(stop_signals_take(&signals));
	assert_false(stop_signals_take(&signals));
	stop_signals_done(&signals);
	assert_int_equal(signals.fd, -1);
	assert_false(is_blocked(SIGINT) || is_blocked(SIGTERM) || is_blocked(SIGHUP));
}

/* The second comes while the first is taken, as from timeout(1). */
static void signals_that_come_at_once_are_one(void **state)
{
	struct stop_signals signals = { .fd = -1 };
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGTERM };
	const struct itimerspec soon = { .it_value.tv_nsec = 10000000 };
	timer_t timer;

	assert_int_equal(stop_signals_init(&signals, NULL), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &soon, NULL), 0);
	(void)raise(SIGINT);
	assert_true(stop_signals_take(&signals));
	assert_false(stop_signals_take(&signals));
	assert_int_equal(timer_delete(timer), 0);
	stop_signals_done(&signals);
}

static void the_callers_mask_comes_back(void **state)
{
	struct stop_signals signals = { .fd = -1 };
	sigset_t callers, before;

	(void)sigemptyset(&callers);
	(void)sigaddset(&callers, SIGHUP);
	(void)sigaddset(&callers, SIGUSR1);
	(void)sigprocmask(SIG_SETMASK, &callers, &before);
	assert_int_equal(stop_signals_init(&signals, NULL), 0);
	assert_int_equal(sigismember(&signals.original, SIGUSR1), 1);
	assert_int_equal(sigismember(&signals.original, SIGINT), 0);
	assert_true(is_blocked(SIGINT) && is_blocked(SIGHUP) && is_blocked(SIGUSR1));
	stop_signals_release(&signals);
	assert_true(!is_blocked(SIGINT) && is_blocked(SIGHUP) && is_blocked(SIGUSR1));
	stop_signals_hold(&signals);
	assert_true(is_blocked(SIGINT) && is_blocked(SIGHUP) && is_blocked(SIGUSR1));
	stop_signals_done(&signals);
	assert_true(!is_blocked(SIGINT) && is_blocked(SIGHUP) && is_blocked(SIGUSR1));
	(void)sigprocmask(SIG_SETMASK, &before, NULL);
}

static void released_signals_end_the_program(void **state)
{
	struct stop_signals signals = { .fd = -1 };
	int wait_status;
	pid_t child = fork();

	if (child == 0) {
		if (stop_signals_init(&signals, NULL) == 0) {
			stop_signals_release(&signals);
			(void)raise(SIGINT);
		}
		_exit(0);
	}
	assert_int_equal(waitpid(child, &wait_status, 0), child);
	assert_true(WIFSIGNALED(wait_status) && WTERMSIG(wait_status) == SIGINT);
}

static void a_hangup_that_is_ignored_stays_so(void **state)
{
	struct stop_signals signals = { .fd = -1 };

	(void)signal(SIGHUP, SIG_IGN);
	/* A shell ignores it for what it starts in the background. */
	(void)signal(SIGINT, SIG_IGN);
	assert_int_equal(stop_signals_init(&signals, NULL), 0);
	(void)raise(SIGHUP);
	assert_false(stop_signals_take(&signals));
	(void)raise(SIGINT);
	assert_true(stop_signals_take(&signals));
	stop_signals_done(&signals);
	(void)signal(SIGHUP, SIG_DFL);
	(void)signal(SIGINT, SIG_DFL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(held_signals_are_taken),
		cmocka_unit_test(signals_that_come_at_once_are_one),
		cmocka_unit_test(the_callers_mask_comes_back),
		cmocka_unit_test(released_signals_end_the_program),
		cmocka_unit_test(a_hangup_that_is_ignored_stays_so),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
