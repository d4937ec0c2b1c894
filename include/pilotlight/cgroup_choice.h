/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * How the sampler knows the cgroups whose threads are recorded. It goes down a cgroup's path, from
 * the root, and looks each part's name up, in each of the states below. The names are known before
 * any cgroup has them: no sample comes too early for a new cgroup, or for one that is made again.
 */
#pragma once

#include <linux/types.h>

enum {
	PILOTLIGHT_CGROUP_DEPTH = 32,	    /* parts of a path that are looked at, from the root */
	PILOTLIGHT_CGROUP_NAME_BYTES = 252, /* with the NUL; more than a key may not have */
	PILOTLIGHT_CGROUP_VERDICTS = 1 << 12, /* remembered ones: a power of two */
};

/* In which names are looked up. Those from ..._PATH on are the places in given paths. */
enum pilotlight_cgroup_state {
	PILOTLIGHT_CGROUP_NOWHERE, /* on no given path: nothing is looked up */
	PILOTLIGHT_CGROUP_UNIT,	   /* of systemd: slices, and the unit in the innermost of them */
	PILOTLIGHT_CGROUP_CONTAINER,
	PILOTLIGHT_CGROUP_PATH,
};

enum {
	PILOTLIGHT_CGROUP_INCLUDED = 1,
	PILOTLIGHT_CGROUP_EXCLUDED = 2,
	PILOTLIGHT_CGROUP_USER = 4, /* a user's systemd: that user names the cgroups below it */
};

/* A key of a trie by longest prefix: an exact name ends with its NUL, a prefix does not. */
struct pilotlight_cgroup_key {
	__u32 bits; /* of what follows */
	__u32 state;
	char name[PILOTLIGHT_CGROUP_NAME_BYTES];
};
_Static_assert(sizeof(struct pilotlight_cgroup_key) == 260, "a key has 4 + 256 bytes at most");

struct pilotlight_cgroup_value {
	__u32 flags;
	__u32 next_state; /* of the path's next part */
};
