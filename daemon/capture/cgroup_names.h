/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles a choice of cgroups to the names that the sampler looks up
 * (pilotlight/cgroup_choice.h). One owner.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"
#include "capture/cgroup_choice.h"
#include "pilotlight/cgroup_choice.h"

#include <stddef.h>
#include <stdint.h>

struct sampler;

struct cgroup_name {
	struct pilotlight_cgroup_key key;
	struct pilotlight_cgroup_value value;
};

struct cgroup_names {
	struct cgroup_name *names;
	size_t count, capacity;
	uint32_t next_state;
};

/* Returns 0 or -ENOMEM; call cgroup_names_done() in both cases. */
int cgroup_names_compile(const struct cgroup_choice *choice, struct cgroup_names *ret_names);
void cgroup_names_done(struct cgroup_names *names);

/*
 * What a name means in a state, as the sampler's map has it: the entry with the longest prefix.
 * NULL: nothing.
 */
const struct pilotlight_cgroup_value *cgroup_names_find(
	const struct cgroup_names *names, uint32_t state, const char *name);

/*
 * Prepares the opened object for loading. Returns 0 or -errno; `fault` then says what this machine
 * lacks.
 */
int cgroup_names_prepare(struct sampler *programs, const struct cgroup_choice *choice,
	const struct cgroup_names *names, struct fault *fault);
/* Fills the map of the loaded object. Returns 0 or -errno with `fault`. */
int cgroup_names_load(
	struct sampler *programs, const struct cgroup_names *names, struct fault *fault);

/* What this machine lacks for such a choice; NULL: nothing. */
const char *cgroup_names_find_missing(void);
