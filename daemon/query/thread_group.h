/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * By what a profile's stacks are grouped: its outermost frames are names of threads, unless they
 * are to be names of units, containers and the like.
 */
#pragma once

#include "aggregate/profile.h"

#include <stdbool.h>

enum thread_group {
	THREAD_GROUP_COMM, /* the default */
	THREAD_GROUP_UNIT,
	THREAD_GROUP_CONTAINER,
	THREAD_GROUP_POD,
	THREAD_GROUP_EXE,
	THREAD_GROUP_PROCESS,
	THREAD_GROUP_THREAD,
	THREAD_GROUPS,
};

/* Returns false, with `ret_group` untouched, if there is no such name. */
bool thread_group_find(const char *name, enum thread_group *ret_group);

/* Must the history be read with its processes kept apart? That takes much more time. */
static inline bool thread_group_needs_processes(enum thread_group group)
{
	return group == THREAD_GROUP_PROCESS || group == THREAD_GROUP_THREAD;
}

/*
 * Gives each thread the name of its group: "nginx.service", "/usr/bin/cc1", "cc1 [4711]". Call it
 * last: profile_add_thread() no longer finds the threads. Returns 0, -ENOMEM, or -E2BIG if the
 * names exceed the profile's budget.
 */
int thread_group_name(struct profile *profile, enum thread_group group);
