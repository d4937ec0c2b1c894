/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which threads are recorded: those of followed processes and their children, and those in chosen
 * cgroups. All others are counted as filtered.
 */
#pragma once

#include "cgroup_choice.bpf.h"
#include "kernel_types.h"
#include "sampler_maps.bpf.h"
#include "sending.bpf.h"
#include "task.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

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
