/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Requests unwind tables ahead of the first sample. A table is made when somebody asks for it, and
 * stacks through its file are cut until it is loaded. So before sampling begins, an iterator over
 * all mappings requests the files that programs have mapped executable. It leaves the same requests
 * as a sample would. The engine begins with the most used files: for each file the requests sum up
 * which share of a CPU its processes have used since they started.
 *
 * The includer defines the map walk_requests.
 */
#pragma once

#include "kernel_types.h"
#include "mapping.bpf.h"
#include "pilotlight/walk.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

/* Per process; the CPU time of further threads is not counted. */
enum { THREADS_COUNTED_MAX = 32 };

static __always_inline __u64 cpu_time_ns(struct task_struct *task)
{
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	__u64 head = (__u64)signal + bpf_core_field_offset(struct signal_struct, thread_head);
	__u64 time_ns = BPF_CORE_READ(signal, sum_sched_runtime);
	__u64 node = (__u64)BPF_CORE_READ(signal, thread_head.next);

	for (int i = 0; i < THREADS_COUNTED_MAX && node && node != head; i++) {
		__u64 thread = node - bpf_core_field_offset(struct task_struct, thread_node);

		time_ns += BPF_CORE_READ((struct task_struct *)thread, se.sum_exec_runtime);
		node = (__u64)BPF_CORE_READ((struct list_head *)node, next);
	}
	return time_ns;
}

static __always_inline __u64 use_ppm(
	struct task_struct *task, const struct pilotlight_process *process)
{
	__u64 age_ms = (bpf_ktime_get_boot_ns() - process->start_ns) / 1000000;

	return cpu_time_ns(task) / (age_ms + 1);
}

/* `request` holds the process, and zeros otherwise. */
static __always_inline void request_mapped_file(struct task_struct *task,
	struct vm_area_struct *vma, struct pilotlight_walk_request *request)
{
	struct mm_struct *mm = BPF_CORE_READ(vma, vm_mm);
	struct file *file = BPF_CORE_READ(vma, vm_file);
	struct pilotlight_walk_request *known;
	struct pilotlight_file_key key = { 0 };

	if (!(BPF_CORE_READ(vma, vm_flags) & VM_EXEC))
		return;
	request->start = BPF_CORE_READ(vma, vm_start);
	/* The key of the vdso, which has no file, is zeros. */
	if (file ? !read_file_key(file, &key)
		 : request->start != (__u64)BPF_CORE_READ(mm, context.vdso))
		return;
	request->use_ppm = use_ppm(task, &request->process);
	known = bpf_map_lookup_elem(&walk_requests, &key);
	if (known) {
		known->use_ppm += request->use_ppm;
		return;
	}
	request->end = BPF_CORE_READ(vma, vm_end);
	request->offset = (__u64)BPF_CORE_READ(vma, vm_pgoff) << MAPPING_PAGE_SHIFT;
	request->time_ns = bpf_ktime_get_ns();
	/* Files beyond the bound wait for a sample. */
	(void)bpf_map_update_elem(&walk_requests, &key, request, BPF_NOEXIST);
}
