/* SPDX-License-Identifier: GPL-2.0-only */
/* Follows the children of processes whose threads are recorded (recorded_threads.bpf.h). */
#pragma once

#include "kernel_types.h"
#include "sampler_maps.bpf.h"
#include "task.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

/* Child processes that are not sampled, because followed_tgids was full. */
__u32 children_not_followed;

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
