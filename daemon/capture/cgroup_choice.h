/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The choice of cgroups whose threads are recorded: rules that include or exclude a cgroup with all
 * below it. A thread is recorded if no rule excludes its cgroup, and if one includes it or no rule
 * includes any. A rule is one of:
 *
 *   unit:NAME       a unit or slice of the host's systemd; without a type, a service
 *   container:ID    12 hexadecimal digits of the id, or more; or the name of an LXC container or a
 *                   machine of systemd
 *   cgroup:PATH     a cgroup of the default hierarchy (cgroup v2), as the host names it
 *
 * A NAME or PATH may end with '*', for any name that begins so. The rules reach the sampler as
 * names (cgroup_names.h), so a cgroup need not exist yet.
 */
#pragma once

#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>

enum {
	CGROUP_RULES_MAX = 32,
	CGROUP_RULE_BYTES = 256, /* with the NUL */
};

enum cgroup_rule_kind {
	CGROUP_RULE_UNIT,
	CGROUP_RULE_CONTAINER,
	CGROUP_RULE_PATH,
};

struct cgroup_rule {
	enum cgroup_rule_kind kind;
	bool is_excluding;
	char text[CGROUP_RULE_BYTES]; /* normalized, without the kind */
};

struct cgroup_choice {
	size_t count; /* 0: all cgroups are recorded */
	struct cgroup_rule rules[CGROUP_RULES_MAX];
};

/*
 * Adds a rule, from text such as "unit:nginx". Returns 0; -EINVAL with a sentence in `fault` that
 * begins with what is wrong; or -E2BIG, likewise.
 */
int cgroup_choice_add(
	struct cgroup_choice *choice, const char *rule, bool is_excluding, struct fault *fault);

bool cgroup_choice_has_inclusion(const struct cgroup_choice *choice);
bool cgroup_choice_equals(const struct cgroup_choice *a, const struct cgroup_choice *b);

/* "unit", "container", "cgroup". */
const char *cgroup_rule_kind_name(enum cgroup_rule_kind kind);
