/* SPDX-License-Identifier: GPL-2.0-only */
/* The thread that is walked is the current one: its memory, its registers, and who it is. */
#pragma once

#include "kernel_types.h"
#include "walk_state.bpf.h"

#include <linux/ptrace.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

enum { WALKS_OTHERS = 0 };

static __always_inline int can_copy_user(void *bytes, __u32 size, __u64 address)
{
	return bpf_probe_read_user(bytes, size, (void *)address) == 0;
}

static __always_inline int can_read_own_user(__u64 *words, __u32 count, __u64 address)
{
	return can_copy_user(words, count * sizeof(*words), address);
}

static __always_inline int can_read_user(
	struct walk *walk, __u64 *words, __u32 count, __u64 address)
{
	return can_read_own_user(words, count, address);
}

static __always_inline int can_read_own_pt_regs(__u64 *words, __u32 count, __u32 place)
{
	const __u64 *registers = (__u64 *)bpf_task_pt_regs(bpf_get_current_task_btf());

	return bpf_probe_read_kernel(words, count * sizeof(*words), registers + place) == 0;
}

/* Without a call that reads. */
static __always_inline int can_read_own_r15_r14(__u64 words[2])
{
	const struct pt_regs *registers =
		(const struct pt_regs *)bpf_task_pt_regs(bpf_get_current_task_btf());

	words[0] = registers->r15;
	words[1] = registers->r14;
	return 1;
}

static __always_inline int can_read_pt_regs(
	struct walk *walk, __u64 *words, __u32 count, __u32 place)
{
	return can_read_own_pt_regs(words, count, place);
}

/* Of task.bpf.h. */
static __always_inline __u32 user_of(struct task_struct *task);

static __always_inline __u32 walked_user(void)
{
	return user_of(bpf_get_current_task_btf());
}

static __always_inline __u64 walked_thread_pointer(void)
{
	return bpf_get_current_task_btf()->thread.fsbase;
}

static __always_inline int is_first_thread_walked(void)
{
	const struct task_struct *task = bpf_get_current_task_btf();

	return task->pid == task->tgid;
}

/* May what was read be of several moments? */
static __always_inline int has_walked_thread_run(void)
{
	return 0;
}
