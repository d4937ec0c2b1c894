/* SPDX-License-Identifier: GPL-2.0-only */
/* What a sample says of its thread. */
#pragma once

#include "kernel_types.h"
#include "pilotlight/event.h"
#include "walker.bpf.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* The engine's pid namespace; 0: the initial one, which needs no translation. A constant, set
 * before loading. */
const volatile __u32 pid_namespace_inum;

enum {
	PID_NAMESPACE_LEVELS = 33, /* the kernel's MAX_PID_NS_LEVEL, plus the initial one */
	USER_NAMESPACE_LEVELS = 33,
};

/* The task's pid in the engine's pid namespace; 0 if it has none there. */
static __always_inline __u32 pid_in_namespace(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = BPF_CORE_READ(pid, level);

	for (__u32 i = 0; i < PID_NAMESPACE_LEVELS && i <= level; i++) {
		struct upid upid;

		if (bpf_core_read(&upid, sizeof(upid), &pid->numbers[i]))
			return 0;
		if (BPF_CORE_READ(upid.ns, ns.inum) == pid_namespace_inum)
			return (__u32)upid.nr;
	}
	return 0;
}

static __always_inline __u32 tgid_of(struct task_struct *task)
{
	if (pid_namespace_inum)
		return pid_in_namespace(BPF_CORE_READ(task, group_leader));
	return (__u32)BPF_CORE_READ(task, tgid);
}

/* The pointer is typed by BTF, so these are plain loads instead of calls. */
static __always_inline void describe_task(
	struct task_struct *task, struct pilotlight_process *process, __u32 *tid)
{
	struct task_struct *leader = task->group_leader;

	process->start_ns = leader->start_boottime;
	process->exec_id = task->self_exec_id;
	if (pid_namespace_inum) {
		process->tgid = pid_in_namespace(leader);
		*tid = pid_in_namespace(task);
	} else {
		process->tgid = task->tgid;
		*tid = task->pid;
	}
}

/*
 * Calls the helper only when the cgroup's serial number has changed: reading that touches fewer
 * cold cache lines than the id. A kernel without cgroups lacks the helper, and the branch that
 * calls it is dead there.
 */
static __always_inline __u64 cgroup_id_of(struct task_struct *task, struct walker *walker)
{
	__u64 serial, id;

	if (!bpf_core_field_exists(task->cgroups))
		return 0;
	serial = task->cgroups->dfl_cgrp->self.serial_nr;
	if (serial == walker->cgroup_serial && walker->cgroup_id)
		return walker->cgroup_id;
	id = bpf_get_current_cgroup_id();
	walker->cgroup_serial = serial;
	walker->cgroup_id = id;
	/* Another CPU may have moved the task meanwhile. */
	if (task->cgroups->dfl_cgrp->self.serial_nr != serial)
		walker->cgroup_id = 0;
	return id;
}

/*
 * The creator of the outermost user namespace around the one at `address`, but for the initial one.
 * The kernel verifies this loop once, not once for each caller, and without a type: for each load
 * of a typed pointer it searches all names of its types.
 */
__noinline __u32 owner_of_nested(__u64 address)
{
	const struct user_namespace *users = (const struct user_namespace *)address;

	for (int i = 0; i < USER_NAMESPACE_LEVELS && BPF_CORE_READ(users, level) > 1; i++)
		users = BPF_CORE_READ(users, parent);
	return BPF_CORE_READ(users, owner.val);
}

/* The user who answers for the task (struct pilotlight_ring_sample). */
static __always_inline __u32 user_of(struct task_struct *task)
{
	const struct cred *cred = task->real_cred;
	const struct user_namespace *users = cred->user_ns;
	__u32 owner = 0;

	/* The creator of the outermost one answers for all that are nested in it. */
	if (users->level > 1)
		owner = owner_of_nested((__u64)BPF_CORE_READ(task, real_cred, user_ns));
	else if (users->level == 1)
		owner = users->owner.val;
	return owner ? owner : cred->uid.val;
}
