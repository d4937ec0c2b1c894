/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which threads are recorded: those of followed processes and their children, and those in chosen
 * cgroups. All others are counted as filtered. The includer defines struct sample and entry_of().
 */
#pragma once

#include "cgroup_choice.bpf.h"
#include "kernel_types.h"
#include "sampler_maps.bpf.h"
#include "task.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Child processes that are not sampled, because followed_tgids was full. */
__u32 children_not_followed;

/* A constant, set before loading. */
const volatile __u8 filters_tgids;

/* Is a thread of this process and cgroup not recorded? */
static __always_inline int is_unwanted(
	__u32 tgid, const struct cgroup *cgroup, __u64 serial, __u32 entry)
{
	if (filters_tgids && !bpf_map_lookup_elem(&followed_tgids, &tgid))
		return 1;
	return chooses_cgroups && !is_chosen(cgroup, serial, entry);
}

/* A sample of the current thread. */
static __always_inline int is_filtered(const struct sample *sample)
{
	const struct cgroup *cgroup = 0;
	__u64 serial = 0;

	if (chooses_cgroups) {
		cgroup = bpf_get_current_task_btf()->cgroups->dfl_cgrp;
		serial = cgroup->self.serial_nr;
	}
	return is_unwanted(sample->key.process.tgid, cgroup, serial, entry_of(sample));
}

/* Of any thread. */
static __always_inline int is_task_filtered(struct task_struct *task, __u32 tgid, __u32 entry)
{
	const struct cgroup *cgroup = 0;
	__u64 serial = 0;

	if (chooses_cgroups) {
		cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
		serial = BPF_CORE_READ(cgroup, self.serial_nr);
	}
	return is_unwanted(tgid, cgroup, serial, entry);
}

/* Follows the children of followed processes. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(follow_fork, struct task_struct *parent, struct task_struct *child)
{
	__u32 parent_tgid = tgid_of(parent), child_tgid = tgid_of(child);
	const __u8 *followed;
	__u8 value;

	if (parent_tgid == child_tgid)
		return 0;
	followed = bpf_map_lookup_elem(&followed_tgids, &parent_tgid);
	if (!followed)
		return 0;
	value = *followed;
	if (bpf_map_update_elem(&followed_tgids, &child_tgid, &value, BPF_ANY))
		__sync_fetch_and_add(&children_not_followed, 1);
	return 0;
}

/* Forgets a process that ends, since its pid may be reused. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(forget_exit, struct task_struct *task)
{
	__u32 tgid = tgid_of(task);

	if (BPF_CORE_READ(task, signal, live.counter) <= 0)
		bpf_map_delete_elem(&followed_tgids, &tgid);
	return 0;
}
