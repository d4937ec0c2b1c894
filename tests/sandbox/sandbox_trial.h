/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each trial runs in a process of its own, because the privileges that it drops cannot be regained.
 */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SETUP_FAILED = 77 };

/* Requires a condition in a trial; a failure prints it. */
#define REQUIRE(condition)                                                           \
	do {                                                                         \
		if (!(condition)) {                                                  \
			static const char failure_[] = "not so: " #condition "\n";   \
			(void)!write(STDERR_FILENO, failure_, sizeof(failure_) - 1); \
			_exit(1);                                                    \
		}                                                                    \
	} while (0)

/* Returns the status of waitpid(). */
static inline int run_trial(int (*prepare)(void), void (*trial)(void))
{
	pid_t pid;
	int status;

	(void)fflush(NULL);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		if (prepare() < 0)
			_exit(SETUP_FAILED);
		trial();
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static inline void assert_passes(int (*prepare)(void), void (*trial)(void))
{
	int status = run_trial(prepare, trial);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static inline void assert_dies_of(int signal_number, int (*prepare)(void), void (*trial)(void))
{
	int status = run_trial(prepare, trial);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), signal_number);
}
