/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A cgroup of the default hierarchy, for tests that need their own. */
#pragma once

#include <limits.h>
#include <stdint.h>
#include <sys/types.h>

struct test_cgroup {
	char folder[PATH_MAX]; /* of the file system */
	const char *path;      /* the part of `folder` below the mount, with a leading '/' */
	uint64_t id;
};

/* Returns the mount point of cgroup2, or NULL. */
const char *test_cgroup_mount(void);

/* Returns NULL, or the reason for a skip. Reuses an existing cgroup. */
const char *test_cgroup_make(struct test_cgroup *cgroup, const char *name);

/* Gets the caller's cgroup, to return to it. Returns NULL, or the reason for a skip. */
const char *test_cgroup_current(struct test_cgroup *cgroup);

/* Moves a process, 0 for the caller. Returns 0 or -errno. */
int test_cgroup_enter(const struct test_cgroup *cgroup, pid_t pid);

/* Removes an empty cgroup. Returns 0 or -errno. */
int test_cgroup_remove(const struct test_cgroup *cgroup);
