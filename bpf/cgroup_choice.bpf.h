/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which cgroups' threads are recorded (pilotlight/cgroup_choice.h). A cgroup of the default
 * hierarchy keeps its name and its ancestors for life, so a verdict holds until the cgroup is gone;
 * it is remembered by the cgroup's serial number, which no other cgroup ever gets. So nearly every
 * sample costs one look-up in an array.
 */
#pragma once

#include "kernel_types.h"
#include "pilotlight/cgroup_choice.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Constants, set before loading. */
const volatile __u8 chooses_cgroups;  /* 0: all are recorded */
const volatile __u8 includes_cgroups; /* only those that are included */

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1);
	__type(key, struct pilotlight_cgroup_key);
	__type(value, struct pilotlight_cgroup_value);
} cgroup_names SEC(".maps");

/* Twice the serial number plus one, and 1 more if the cgroup is recorded; 0: none. The root has the
 * serial number 0. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} cgroup_verdicts SEC(".maps");

/* What is known while going down a path. It is no variable of a function: the verifier would follow
 * each of its values through all parts of a path, which took a second. */
struct cgroup_descent {
	struct pilotlight_cgroup_key key;
	__u32 flags;
	__u32 path_state;
	__u32 is_in_slices; /* of systemd, and not yet in a unit */
};

/* Of each CPU, entries for: samples of CPU time, those of other sources, of blocked threads. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cgroup_descent);
} cgroup_descents SEC(".maps");

static __always_inline struct pilotlight_cgroup_value find_name(
	struct pilotlight_cgroup_key *key, __u32 state)
{
	const struct pilotlight_cgroup_value *value;

	key->bits = (sizeof(*key) - sizeof(key->bits)) * 8;
	key->state = state;
	value = bpf_map_lookup_elem(&cgroup_names, key);
	return value ? *value : (struct pilotlight_cgroup_value){ 0 };
}

/* Does the kernel's string of `bytes`, with its NUL, end so? Linux 6.1 does not verify a look into
 * our copy of it. */
static __always_inline int is_slice(const char *name, long bytes)
{
	__u64 end = 0;

	/* One comparison, as the verifier follows each result. */
	if (bytes < (long)sizeof(".slice") ||
		bpf_probe_read_kernel(&end, sizeof(".slice"), name + bytes - sizeof(".slice")))
		return 0;
	return end == *(const __u64 *)".slice\0";
}

/* Takes one part of the path, whose name is in the key, too, with `bytes` and its NUL. */
static __always_inline void descend(struct cgroup_descent *descent, const char *name, long bytes)
{
	struct pilotlight_cgroup_key *key = &descent->key;
	struct pilotlight_cgroup_value value;

	if (descent->path_state != PILOTLIGHT_CGROUP_NOWHERE) {
		value = find_name(key, descent->path_state);
		descent->flags |= value.flags;
		descent->path_state = value.next_state;
	}
	if (descent->is_in_slices) {
		value = find_name(key, PILOTLIGHT_CGROUP_UNIT);
		descent->flags |= value.flags;
		descent->is_in_slices = is_slice(name, bytes);
	}
	value = find_name(key, PILOTLIGHT_CGROUP_CONTAINER);
	/* Else a user could hide by the name of an excluded container. */
	if (descent->flags & PILOTLIGHT_CGROUP_USER)
		value.flags &= ~PILOTLIGHT_CGROUP_EXCLUDED;
	descent->flags |= value.flags;
}

static __always_inline const char *name_of(const struct cgroup *cgroup, __u32 level)
{
	const struct cgroup *ancestor = 0;
	const char *ancestors = (const char *)cgroup;

	ancestors += bpf_core_field_offset(cgroup->ancestors);
	if (bpf_probe_read_kernel(
		    &ancestor, sizeof(ancestor), ancestors + level * sizeof(ancestor)))
		return 0;
	return BPF_CORE_READ(ancestor, kn, name);
}

/* Is it recorded? Without a verdict, as after an error, it is not. */
static __noinline int judge_cgroup(const struct cgroup *cgroup, __u32 entry)
{
	struct cgroup_descent *descent = bpf_map_lookup_elem(&cgroup_descents, &entry);
	int depth = BPF_CORE_READ(cgroup, level);

	if (!descent)
		return 0;
	descent->flags = 0;
	descent->path_state = PILOTLIGHT_CGROUP_PATH;
	descent->is_in_slices = 1;
	/* The root has no name. */
	for (int level = 1; level <= PILOTLIGHT_CGROUP_DEPTH && level <= depth; level++) {
		const char *name = name_of(cgroup, level);
		long bytes = bpf_probe_read_kernel_str(
			descent->key.name, sizeof(descent->key.name), name);

		if (bytes <= 0)
			return 0;
		descend(descent, name, bytes);
	}
	if (descent->flags & PILOTLIGHT_CGROUP_EXCLUDED)
		return 0;
	return !includes_cgroups || descent->flags & PILOTLIGHT_CGROUP_INCLUDED;
}

/* Are threads in this cgroup recorded? Its serial number is known. */
static __always_inline int is_chosen(const struct cgroup *cgroup, __u64 serial, __u32 entry)
{
	__u32 place = serial & (PILOTLIGHT_CGROUP_VERDICTS - 1);
	__u64 *verdict = bpf_map_lookup_elem(&cgroup_verdicts, &place), known;

	if (!verdict)
		return 0;
	known = *verdict;
	if (known >> 1 == serial + 1)
		return known & 1;
	known = (serial + 1) << 1 | (judge_cgroup(cgroup, entry) ? 1 : 0);
	*verdict = known;
	return known & 1;
}
