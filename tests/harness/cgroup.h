/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cgroup of the default hierarchy, for tests that need one of their own. */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

struct test_cgroup {
	char folder[PATH_MAX]; /* of the file system */
	const char *path;      /* the part of it below the mount, from its '/' on */
	uint64_t id;
};

/* Where cgroup2 is mounted, or NULL. */
const char *test_cgroup_mount(void);

/* Returns NULL, or why it cannot be, for a skip. One that is left from before is taken. */
const char *test_cgroup_make(struct test_cgroup *cgroup, const char *name);

/* The caller's, to come back to. Returns NULL, or why it is not known. */
const char *test_cgroup_current(struct test_cgroup *cgroup);

/* Moves a process, 0 for the caller. Returns 0 or -errno. */
int test_cgroup_enter(const struct test_cgroup *cgroup, pid_t pid);

/* It must be empty. Returns 0 or -errno. */
int test_cgroup_remove(const struct test_cgroup *cgroup);
