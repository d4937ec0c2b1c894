/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Block I/O: its bytes, and the time from the start of a request to its end, by the stack of the
 * thread that began it.
 *
 * How long a request takes is known only when it ends, in an interrupt, maybe of another CPU. So
 * the sample is taken at the start, kept in block_requests, and sent at the end, for as many
 * periods as the time had. That costs a walk for each request, unless they come too fast: then one
 * in n is kept, at random, and its time counts n times. block_requests is bounded (I4). A request
 * that has no room is not sampled, and counted.
 *
 * Disks have numbers, which samples carry with the operation (pilotlight/event.h). There are few,
 * so a disk is searched among all.
 *
 * A kept sample names files by numbers that the engine may reuse two windows later, so an older one
 * is sent without its stack.
 */
#pragma once

#include "amount.bpf.h"
#include "kept_stack.bpf.h"
#include "kernel_types.h"
#include "pilotlight/event.h"
#include "watch.bpf.h"

#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

enum {
	BLOCK_REQUESTS_MAX = 512,
	/* The low bits of a request's flags: REQ_OP_*. */
	BLOCK_OPERATION_MASK = 0xff,
	BLOCK_OPERATION_READ = 0,
	BLOCK_OPERATION_WRITE = 1,
	BLOCK_OPERATION_FLUSH = 2,
	BLOCK_OPERATION_DISCARD = 3,
};

/* A request that began before then is not counted. CLOCK_MONOTONIC. */
volatile __u64 block_since_ns;

/* Until it is sent, header.set is the number of the window, and periods the n of above. */
struct block_request {
	struct pilotlight_ring_walk record;
	__u64 frames[KEPT_USER_FRAMES + KEPT_KERNEL_FRAMES];
};

/* By the address of the request. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, BLOCK_REQUESTS_MAX);
	__type(key, __u64);
	__type(value, struct block_request);
} block_requests SEC(".maps");

/* By number less 1. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pilotlight_block_disk);
} block_disks SEC(".maps");

static __always_inline __u32 block_operation(const struct request *request)
{
	switch (request->cmd_flags & BLOCK_OPERATION_MASK) {
	case BLOCK_OPERATION_READ:
		return PILOTLIGHT_WAIT_BLOCK_READ;
	case BLOCK_OPERATION_WRITE:
		return PILOTLIGHT_WAIT_BLOCK_WRITE;
	case BLOCK_OPERATION_FLUSH:
		return PILOTLIGHT_WAIT_BLOCK_FLUSH;
	case BLOCK_OPERATION_DISCARD:
		return PILOTLIGHT_WAIT_BLOCK_DISCARD;
	default:
		return PILOTLIGHT_WAIT_BLOCK_OTHER;
	}
}

/* The number of the request's disk, which it may get now; 0: it has none. A function of its own,
 * which bounds the use of the BPF stack. */
static __noinline __u32 disk_number(const struct request *request)
{
	struct gendisk *disk;
	__u32 device;

	if (!bpf_core_field_exists(request->q->disk))
		return 0;
	disk = BPF_CORE_READ(request, q, disk);
	if (!disk)
		return 0;
	device = (__u32)BPF_CORE_READ(disk, major) << 20 | BPF_CORE_READ(disk, first_minor);
	for (__u32 i = 0; i < PILOTLIGHT_BLOCK_DISKS; i++) {
		__u32 index = i;
		struct pilotlight_block_disk *known = bpf_map_lookup_elem(&block_disks, &index);

		if (!known)
			return 0;
		if (known->device == 0 &&
			__sync_val_compare_and_swap(&known->device, 0, device) == 0)
			bpf_core_read_str(known->name, sizeof(known->name), &disk->disk_name);
		if (known->device == device)
			return i + 1;
	}
	return 0;
}

/* As samples carry both. */
static __always_inline __u32 operation_and_disk(const struct request *request)
{
	return block_operation(request) | disk_number(request) << PILOTLIGHT_BLOCK_DISK_SHIFT;
}

enum { REQUEST_REFUSED, REQUEST_KEPT, REQUEST_FILTERED };

/* Keeps a sample of the current thread, if it is recorded and that is possible now. */
static __noinline int keep_request(void *ctx, const struct request *request)
{
	__u64 key = (__u64)request;
	__u32 window = active_window, entry = 1, zero = 0;
	struct task_struct *task = bpf_get_current_task_btf();
	struct walker *walker = bpf_map_lookup_elem(&walkers, &entry);
	struct amount_cpu *cpu = bpf_map_lookup_elem(&amount_cpus, &zero);
	__u64 now = bpf_ktime_get_ns();
	struct pilotlight_ring_walk *record;
	struct sample *sample;
	int result;

	if (!walker || !cpu || __sync_lock_test_and_set(&cpu->is_sampling, 1))
		return REQUEST_REFUSED;
	record = &walker->walk.record;
	describe_task(task, &record->process, &record->tid);
	sample = &cpu->sample;
	*sample = (struct sample){ .key.source = PILOTLIGHT_SOURCE_BLOCK };
	sample->key.process = record->process;
	sample->key.tid = record->tid;
	/* The choice of cgroups needs the CPU's state that an interrupt's sample also uses. */
	if (is_filtered(sample)) {
		result = REQUEST_FILTERED;
		goto out;
	}
	take_kept_stack(ctx, walker, window);
	record->header = (struct pilotlight_ring_header){
		.kind = PILOTLIGHT_RING_WALKED_SAMPLE,
		.set = window,
		.source = PILOTLIGHT_SOURCE_BLOCK,
		.wait = operation_and_disk(request),
	};
	record->time_ns = now;
	record->cgroup_id = cgroup_id_of(task, walker);
	bpf_get_current_comm(record->comm, sizeof(record->comm));
	record->user = user_of(task);
	record->periods = interval_of(PILOTLIGHT_SOURCE_BLOCK);
	record->address = 0;
	pace_note(&paces[PILOTLIGHT_SOURCE_BLOCK], samples_per_slot, now);
	result = bpf_map_update_elem(&block_requests, &key, record, BPF_ANY) == 0 ? REQUEST_KEPT
										  : REQUEST_REFUSED;
out:
	__sync_lock_test_and_set(&cpu->is_sampling, 0);
	return result;
}

static __always_inline void begin_request(void *ctx, struct request *request)
{
	__u32 index = pilotlight_counters_index(PILOTLIGHT_SOURCE_BLOCK, active_window & 1);
	__u64 key = (__u64)request, begin_ns = bpf_ktime_get_ns();
	struct pilotlight_counters *counts;
	int result;

	/* It may have been merged into another one, and begin anew. */
	if (bpf_map_lookup_elem(&block_requests, &key))
		bpf_map_delete_elem(&block_requests, &key);
	if (bpf_get_prandom_u32() % interval_of(PILOTLIGHT_SOURCE_BLOCK))
		return;
	result = keep_request(ctx, request);
	counts = bpf_map_lookup_elem(&counters, &index);
	if (!counts)
		return;
	if (result == REQUEST_REFUSED)
		count(&counts->events[PILOTLIGHT_EVENT_WAIT_REFUSED], 1);
	if (result == REQUEST_KEPT && interval_of(PILOTLIGHT_SOURCE_BLOCK) > 1)
		count(&counts->events[PILOTLIGHT_EVENT_THINNED], 1);
	count(&counts->run_ns, bpf_ktime_get_ns() - begin_ns);
}

/* Sends a kept sample for so many periods. */
static __always_inline void send_request(struct block_request *request, __u32 periods)
{
	struct pilotlight_ring_walk *record = &request->record;
	__u32 window = active_window, index, frames;
	struct pilotlight_counters *counts;
	__u64 size;

	index = pilotlight_counters_index(PILOTLIGHT_SOURCE_BLOCK, window & 1);
	counts = bpf_map_lookup_elem(&counters, &index);
	if (!counts)
		return;
	count(&counts->fired, periods);
	if ((__u16)(window - record->header.set) >= PILOTLIGHT_WALK_REMEMBERED_WINDOWS) {
		record->count = record->kernel_count = 0;
		record->end = PILOTLIGHT_WALK_BLOCKED;
	}
	frames = (record->count & KEPT_USER_FRAMES) + (record->kernel_count & KEPT_KERNEL_FRAMES);
	size = sizeof(*record) + frames * sizeof(__u64);
	/* Never, but the verifier does not know. */
	if (size > sizeof(*request))
		size = sizeof(*record);
	record->header.set = window & 1;
	record->time_ns = bpf_ktime_get_ns();
	record->periods = periods;
	if (!send(record, size, bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA))) {
		count(&counts->dropped[PILOTLIGHT_DROP_RING_FULL], periods);
		return;
	}
	count(&counts->stored[PILOTLIGHT_PATH_RING], periods);
	count(&counts->walked[PILOTLIGHT_WALKER_TABLES], periods);
	if (record->end < PILOTLIGHT_WALK_ENDS)
		count(&counts->ends[record->end], periods);
}

static __always_inline void end_request(struct request *request)
{
	__u64 key = (__u64)request, begin_ns = watch_begin(), times, ns;
	struct block_request *kept = bpf_map_lookup_elem(&block_requests, &key);
	__u64 random = (__u64)bpf_get_prandom_u32() << 32 | bpf_get_prandom_u32();
	__u64 period = source_periods[PILOTLIGHT_SOURCE_BLOCK];
	__u32 periods;

	if (kept && period) {
		times = kept->record.periods;
		ns = bpf_ktime_get_ns() - kept->record.time_ns;
		periods = pace_periods(ns * times, period, 1, random);
		if (periods && kept->record.time_ns > block_since_ns)
			send_request(kept, periods);
		bpf_map_delete_elem(&block_requests, &key);
	}
	watch_end(PILOTLIGHT_SOURCE_BLOCK, begin_ns);
}

static __always_inline void sample_bytes(void *ctx, struct request *request)
{
	__u32 periods = periods_in(PILOTLIGHT_SOURCE_BLOCK_BYTES, request->__data_len);

	if (periods)
		sample_current(ctx, PILOTLIGHT_SOURCE_BLOCK_BYTES, operation_and_disk(request),
			periods, SKIP_NOTHING);
}

/*
 * The time and the bytes have programs of their own: Linux 6.1 verifies a million instructions of a
 * program, and each of the two walks a stack. It still refuses that of the time.
 */

/* Since 6.5: in the thread that begins the I/O. */
SEC("?tp_btf/block_io_start")
int BPF_PROG(start_io, struct request *request)
{
	begin_request(ctx, request);
	return 0;
}

SEC("?tp_btf/block_io_start")
int BPF_PROG(start_io_bytes, struct request *request)
{
	sample_bytes(ctx, request);
	return 0;
}

SEC("?tp_btf/block_io_done")
int BPF_PROG(end_io, struct request *request)
{
	end_request(request);
	return 0;
}

/* In older kernels: maybe in a thread of the kernel, to which the request was left. */
SEC("?tp_btf/block_rq_issue")
int BPF_PROG(issue_io, struct request *request)
{
	begin_request(ctx, request);
	return 0;
}

SEC("?tp_btf/block_rq_issue")
int BPF_PROG(issue_io_bytes, struct request *request)
{
	sample_bytes(ctx, request);
	return 0;
}

SEC("?tp_btf/block_rq_complete")
int BPF_PROG(complete_io, struct request *request)
{
	end_request(request);
	return 0;
}
