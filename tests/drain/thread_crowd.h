/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A process with many threads that sleep. */
#pragma once

#include "tests/drain/scheduler_fixture.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>

enum {
	CROWD = 2000,
	CROWD_STACK_BYTES = 16384,
	WAKE_SPACING_NS = 400000,
};

/* One after the other wakes, and sleeps again. */
static inline void wake_once(uint64_t number)
{
	uint64_t wake_ns;
	struct timespec time;

	while (__atomic_load_n(&fixture.shared->turn, __ATOMIC_ACQUIRE) == 0)
		(void)futex(&fixture.shared->turn, FUTEX_WAIT, 0);
	wake_ns = fixture.shared->wake_ns + number * WAKE_SPACING_NS;
	time.tv_sec = (time_t)(wake_ns / NSEC_PER_SEC);
	time.tv_nsec = (long)(wake_ns % NSEC_PER_SEC);
	(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static inline void *park(void *argument)
{
	__atomic_fetch_add(&fixture.shared->parked, 1, __ATOMIC_RELAXED);
	if (fixture.shared->wake_ns)
		wake_once((uintptr_t)argument);
	for (;;)
		(void)pause();
	return NULL;
}

/* Sleeps in many threads. */
static inline void crowd(struct life *life, int number)
{
	pthread_attr_t attributes;
	pthread_t thread;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || pthread_attr_init(&attributes) != 0 ||
		pthread_attr_setstacksize(&attributes, CROWD_STACK_BYTES) != 0)
		_exit(1);
	for (uintptr_t i = 0; i < CROWD; i++)
		if (pthread_create(&thread, &attributes, park, (void *)i) != 0)
			_exit(1);
	(void)park(NULL);
}

/* The main thread and all others. */
static inline pid_t start_crowd(void)
{
	pid_t pids[THREADS_MAX];
	struct dirent *entry;
	char path[64];
	DIR *folder;

	start_program(crowd, 1, pids);
	while (__atomic_load_n(&fixture.shared->parked, __ATOMIC_RELAXED) < CROWD + 1) {
		assert_int_equal(waitpid(pids[0], NULL, WNOHANG), 0);
		sleep_ns(1000000);
		drain_once();
	}
	(void)snprintf(path, sizeof(path), "/proc/%d/task", (int)pids[0]);
	folder = opendir(path);
	assert_non_null(folder);
	while ((entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			await_blocked(pids[0], (pid_t)strtol(entry->d_name, NULL, 10));
	(void)closedir(folder);
	drain_once();
	fixture.crowd = pids[0];
	return pids[0];
}

static inline void end_crowd(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}
