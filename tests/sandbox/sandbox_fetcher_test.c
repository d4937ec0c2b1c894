/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Threads, processes and namespaces in the fetcher; sandbox_engine_test.c tries single calls. */
#include "sandbox/sandbox.h"

#include "base/array.h"
#include "tests/sandbox/sandbox_trial.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

static int forbid_fetcher(void)
{
	int r = sandbox_drop_privileges(SANDBOX_ROOT_FAILS);

	return r == 0 ? sandbox_forbid_fetcher() : r;
}

static void *return_argument(void *argument)
{
	return argument;
}

static void has_threads(void)
{
	pthread_t thread;

	REQUIRE(pthread_create(&thread, NULL, return_argument, NULL) == 0);
	REQUIRE(pthread_join(thread, NULL) == 0);
}

/* Without a stack of its own, as fork() does it; 0 in the child. */
static long clone_with(unsigned long flags)
{
	return syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);
}

static void has_no_other_processes(void)
{
	const unsigned long high_half = 1UL << (sizeof(long) * 8 - 1);
	char arguments[64] = { 0 };

	REQUIRE(fork() < 0 && errno == EPERM);
	REQUIRE(clone_with(0) < 0 && errno == EPERM);
	REQUIRE(clone_with(high_half) < 0 && errno == EPERM);
	REQUIRE(clone_with(CLONE_VM | CLONE_VFORK) < 0 && errno == EPERM);
	REQUIRE(syscall(SYS_clone3, arguments, sizeof(arguments)) < 0 && errno == ENOSYS);
#ifdef SYS_fork
	REQUIRE(syscall(SYS_fork) < 0 && errno == EPERM);
#endif
	REQUIRE(setsid() < 0 && errno == EPERM);
	REQUIRE(prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0) < 0 && errno == EPERM);
	REQUIRE(syscall(SYS_prctl, high_half | PR_SET_PDEATHSIG, 0, 0, 0, 0) < 0 && errno == EPERM);
}

static void reaches_no_other_processes(void)
{
	const int signal_number = 0;
	siginfo_t info = { .si_code = SI_QUEUE };
	struct f_owner_ex owner = { F_OWNER_PID, getppid() };
	struct rlimit limit;
	pid_t parent = getppid();
	int fds[2];

	REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, fds) == 0);
	REQUIRE(kill(parent, signal_number) < 0 && errno == EPERM);
	REQUIRE(kill(-1, signal_number) < 0 && errno == EPERM);
	REQUIRE(syscall(SYS_tkill, parent, signal_number) < 0 && errno == EPERM);
	REQUIRE(syscall(SYS_tgkill, parent, parent, signal_number) < 0 && errno == EPERM);
	REQUIRE(syscall(SYS_rt_sigqueueinfo, parent, signal_number, &info) < 0 && errno == EPERM);
	REQUIRE(syscall(SYS_rt_tgsigqueueinfo, parent, parent, signal_number, &info) < 0 &&
		errno == EPERM);
	REQUIRE(prlimit(parent, RLIMIT_NOFILE, NULL, &limit) < 0 && errno == EPERM);
	REQUIRE(fcntl(fds[0], F_SETOWN, parent) < 0 && errno == EPERM);
	REQUIRE(fcntl(fds[0], F_SETOWN_EX, &owner) < 0 && errno == EPERM);
	REQUIRE(ioctl(fds[0], FIOSETOWN, &parent) < 0 && errno == EPERM);
	REQUIRE(ioctl(fds[0], SIOCSPGRP, &parent) < 0 && errno == EPERM);
	/* Itself it can still reach. */
	REQUIRE(raise(signal_number) == 0);
	REQUIRE(prlimit(0, RLIMIT_NOFILE, NULL, &limit) == 0);
	REQUIRE(getrlimit(RLIMIT_NOFILE, &limit) == 0);
}

static void has_no_namespaces(void)
{
	static const unsigned long spaces[] = { CLONE_NEWNS, CLONE_NEWCGROUP, CLONE_NEWUTS,
		CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET };
	const unsigned long thread = CLONE_THREAD | CLONE_SIGHAND | CLONE_VM;

	for (size_t i = 0; i < ARRAY_SIZE(spaces); i++) {
		REQUIRE(clone_with(spaces[i]) < 0 && errno == EPERM);
		REQUIRE(clone_with(CLONE_NEWUSER | spaces[i]) < 0 && errno == EPERM);
		REQUIRE(clone_with(thread | spaces[i]) < 0 && errno == EPERM);
	}
}

static void threads_are_allowed(void **state)
{
	assert_passes(forbid_fetcher, has_threads);
}

static void other_processes_are_forbidden(void **state)
{
	assert_passes(forbid_fetcher, has_no_other_processes);
}

/* As a user who owns the other processes: root would become nobody, who may signal none of them. */
static int forbid_fetcher_as_the_same_user(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 : sandbox_forbid_fetcher();
}

static void reaching_other_processes_is_forbidden(void **state)
{
	assert_passes(forbid_fetcher_as_the_same_user, reaches_no_other_processes);
}

static void namespaces_are_forbidden(void **state)
{
	assert_passes(forbid_fetcher, has_no_namespaces);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_allowed),
		cmocka_unit_test(other_processes_are_forbidden),
		cmocka_unit_test(reaching_other_processes_is_forbidden),
		cmocka_unit_test(namespaces_are_forbidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
