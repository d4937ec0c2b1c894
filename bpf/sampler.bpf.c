// SPDX-License-Identifier: GPL-2.0-only
/*
 * On-CPU sampling: one program, attached to a perf event on each CPU. It sends each sample with its
 * stack through the ring, or counts it in the window's maps. It never decides what a stack means.
 * sampler.bpf.h explains which way a sample goes, and why.
 */
#include "kernel_types.h"

#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "own_memory.bpf.h"
#include "sending.bpf.h"

/* No perf event is precise: the registers of a sample are all of one moment. Set when the events
 * are open. */
volatile __u32 has_whole_registers;

/* Constant, set before loading. */
const volatile __u32 sent_walks_mask; /* number of entries of sent_walks, minus one */

#define USER_STACK	    BPF_F_USER_STACK
#define USER_BUILD_ID_STACK (BPF_F_USER_STACK | BPF_F_USER_BUILD_ID)

#include "followed_processes.bpf.h"
#include "mapped_files.bpf.h"
#include "recorded_threads.bpf.h"

enum { CODE_SELECTOR_RING = 3 }; /* cs: these low bits are set in any user code, 32-bit included */

/* Did the sample interrupt user code? Then there is no kernel stack. */
static __always_inline int is_user_mode(const struct bpf_perf_event_data *ctx)
{
	return (ctx->regs.cs & CODE_SELECTOR_RING) == CODE_SELECTOR_RING;
}

/*
 * Reads the user registers of a sample. If it interrupted user code, its own registers are the same
 * as the task's and cheaper to read. Not so for a precise event, whose ip and cs are of another
 * moment than the rest. Returns 0 if it is not 64-bit user code.
 */
static __always_inline int read_registers(struct bpf_perf_event_data *ctx, struct walk *walk)
{
	if (!has_whole_registers || !is_user_mode(ctx))
		return read_task_registers(walk);
	walk->ip = ctx->regs.rip;
	walk->sp = ctx->regs.rsp;
	walk->fp.word = ctx->regs.rbp;
	walk->rbx.word = ctx->regs.rbx;
	walk->system_call = ctx->regs.orig_rax;
	return ctx->regs.cs == USER_CODE_SELECTOR;
}

/*
 * Sends a sample with the kernel's walk through the ring. Its frames have build-ids if this is the
 * interrupt's first request for them (sampler.bpf.h, 3), else raw ips in the same form. Returns 0
 * if it is dropped.
 */
static __noinline int send_sample(void *ctx, struct pilotlight_counters *counters,
	const struct sample *sample, int wants_user)
{
	const struct pilotlight_sample_key *key = &sample->key;
	struct pilotlight_ring_sample *record;
	struct scratch *scratch;
	__u32 entry = entry_of(sample), kernel_count, user_count, size;
	long bytes;

	scratch = bpf_map_lookup_elem(&scratches, &entry);
	if (!scratch)
		goto failed;
	record = (struct pilotlight_ring_sample *)scratch->bytes;

	bytes = sample->has_kernel_stack
			? bpf_get_stack(ctx, record + 1, PILOTLIGHT_STACK_DEPTH * 8,
				  sample->skipped_frames)
			: 0;
	kernel_count = stack_entries(bytes, 8);
	size = sizeof(*record) + kernel_count * 8;
	if (size > PILOTLIGHT_RING_SAMPLE_BYTES_MAX)
		goto failed;
	user_count = 0;
	if (wants_user) {
		bytes = bpf_get_stack(ctx, scratch->bytes + size,
			PILOTLIGHT_STACK_DEPTH * sizeof(struct pilotlight_user_frame),
			USER_BUILD_ID_STACK);
		user_count = stack_entries(bytes, sizeof(struct pilotlight_user_frame));
	}
	size += user_count * sizeof(struct pilotlight_user_frame);
	if (size > PILOTLIGHT_RING_SAMPLE_BYTES_MAX)
		goto failed;

	record->header = (struct pilotlight_ring_header){
		.kind = PILOTLIGHT_RING_SAMPLE,
		.set = sample->window & 1,
		.source = key->source,
		.wait = key->wait,
	};
	record->time_ns = bpf_ktime_get_ns();
	record->process = key->process;
	record->cgroup_id = key->cgroup_id;
	record->tid = key->tid;
	record->kernel_count = kernel_count;
	record->user_count = user_count;
	bpf_get_current_comm(record->comm, sizeof(record->comm));
	record->user = user_of(bpf_get_current_task_btf());
	record->periods = sample->periods;
	record->address = sample->address;
	if (!send(record, size, bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA))) {
		count(&counters->dropped[PILOTLIGHT_DROP_RING_FULL], sample->periods);
		return 0;
	}
	count(&counters->stored[PILOTLIGHT_PATH_RING], sample->periods);
	return 1;
failed:
	count(&counters->dropped[PILOTLIGHT_DROP_BPF_ERROR], sample->periods);
	return 0;
}

/* Adds to an existing entry. Returns 0 if there is none. */
static __always_inline int count_again(
	void *counts, const struct sample *sample, struct pilotlight_counters *counters, __u64 now)
{
	struct pilotlight_sample_count *entry = bpf_map_lookup_elem(counts, &sample->key);

	if (!entry)
		return 0;
	count(&entry->count, sample->periods);
	entry->last_ns = now;
	count(&counters->stored[PILOTLIGHT_PATH_MAP], sample->periods);
	return 1;
}

/*
 * The build-id stack of a raw stack, known or requested now; PILOTLIGHT_STACK_NONE if there is
 * none. Returns -ENOMEM if the map is full: the kernel checks that before it looks up the stack.
 */
static __noinline __s64 find_build_ids(void *ctx, void *build_id_stacks,
	const struct sample *sample, struct pilotlight_counters *counters)
{
	struct pilotlight_known_stack_key known_key = {
		.process = sample->key.process,
		.user_stack = sample->key.user_stack,
	};
	__u32 window = sample->window;
	struct pilotlight_known_stack *known = bpf_map_lookup_elem(&known_stacks, &known_key);
	struct pilotlight_known_stack answer = { .window = window };
	long id;

	if (known)
		return known_build_id_stack(known, window);
	count(&counters->events[PILOTLIGHT_EVENT_BUILD_ID_CALL], 1);
	id = bpf_get_stackid(ctx, build_id_stacks, USER_STACK);
	switch (stack_answer_of(id)) {
	case STACK_MAP_FULL:
		return -SAMPLER_ENOMEM;
	case STACK_COLLIDED:
		count(&counters->events[PILOTLIGHT_EVENT_BUILD_ID_COLLISION], 1);
		break;
	default:
		break;
	}
	answer.build_id_stack = stack_id_of(id);
	/* If this fails, the next sample requests again, which is slower but right. */
	bpf_map_update_elem(&known_stacks, &known_key, &answer, BPF_ANY);
	return answer.build_id_stack;
}

#include "runtime_sample.bpf.h"
#include "thread_context.bpf.h"

/*
 * Sends a sample with its walked stack. Returns 0 if the ring is full, or if it is nearly full and
 * the sample can be counted instead.
 */
static __noinline int send_walked_sample(void *ctx, struct pilotlight_counters *counters,
	struct walker *walker, const struct sample *sample, int can_be_counted)
{
	const struct pilotlight_sample_key *key = &sample->key;
	struct pilotlight_ring_walk *record = &walker->walk.record;
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 waiting_bytes = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);
	__u32 frames;
	long bytes = 0;

	if (can_be_counted && !has_room_to_spare(waiting_bytes))
		return 0;
	read_context(walker);
	frames = walk_words(record);
	if (sample->has_kernel_stack)
		bytes = bpf_get_stack(ctx, &walker->walk.frames[frames],
			PILOTLIGHT_STACK_DEPTH * sizeof(__u64), sample->skipped_frames);
	record->header = (struct pilotlight_ring_header){
		.kind = PILOTLIGHT_RING_WALKED_SAMPLE,
		.set = walker->window & 1,
		.source = key->source,
		.wait = key->wait,
	};
	record->process = key->process;
	record->cgroup_id = key->cgroup_id;
	record->tid = key->tid;
	record->periods = sample->periods;
	record->address = sample->address;
	record->kernel_count = stack_entries(bytes, sizeof(__u64));
	/* Plain loads cost less than a call. The name may lack its NUL while it changes: the parser
	 * adds one. */
	__builtin_memcpy(record->comm, __builtin_assume_aligned(task->comm, sizeof(__u64)),
		sizeof(record->comm));
	record->user = user_of(task);
	if (!send(record,
		    sizeof(*record) + (frames + (record->kernel_count & PILOTLIGHT_STACK_DEPTH)) *
					      sizeof(__u64),
		    waiting_bytes))
		return 0;
	if (stack_answer_of(bytes) == STACK_ERROR)
		count(&counters->events[PILOTLIGHT_EVENT_STACK_ERROR], 1);
	if (walker->walk.has_jit)
		count(&counters->events[PILOTLIGHT_EVENT_TIMED], 1);
	count(&counters->stored[PILOTLIGHT_PATH_RING], sample->periods);
	return 1;
}

/* Sends a walked stack once per window, for samples that are counted. Returns 0 if the ring is
 * full. */
static __noinline int send_walk(struct walker *walker)
{
	struct pilotlight_ring_walk *record = &walker->walk.record;
	__u64 hash = record->hash, *sent;
	__u32 place = hash & sent_walks_mask;

	sent = bpf_map_lookup_elem(&sent_walks, &place);
	if (sent && *sent == hash)
		return 1;
	record->header = (struct pilotlight_ring_header){
		.kind = PILOTLIGHT_RING_WALK,
		.set = walker->window & 1,
	};
	record->periods = 1;
	record->address = 0;
	record->kernel_count = 0;
	record->has_context = 0;
	if (!send(record, sizeof(*record) + walk_words(record) * sizeof(__u64),
		    bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA)))
		return 0;
	/* Only now may other CPUs rely on it. If another stack takes the place, it is sent again.
	 */
	if (sent)
		*sent = hash;
	return 1;
}

/*
 * Walks the user stack of the current task, which must have user mappings. A global function
 * (walker.bpf.h): some programs take two samples. Returns enum walk_result.
 */
__noinline int walk_current(
	struct walker *walker, const struct pilotlight_process *process, __u32 window, __u32 entry)
{
	enum walk_result result;

	if (!walker || !process)
		return WALK_BY_KERNEL;
	result = walk_user_stack(walker, process, window, walk_seed_of(walk_seed, window));
	if (result == WALK_DONE)
		add_runtime_frames(walker, entry);
	return result;
}

/* Walks the user stack by tables, from the registers in the CPU's `walker`. */
static __always_inline enum walk_result walk_by_tables(struct walker *walker, struct sample *sample)
{
	enum walk_result result =
		walk_current(walker, &sample->key.process, sample->window, entry_of(sample));

	if (result == WALK_DONE) {
		sample->key.walker = PILOTLIGHT_WALKER_TABLES;
		sample->key.user_stack = (__s64)walker->walk.record.hash;
	}
	return result;
}

/* Puts the kernel stack into its map and into the key. Like all that read it, a function of its
 * own: `skipped_frames` counts its frame. */
static __noinline enum stack_answer get_kernel_stack(void *ctx, void *stacks, struct sample *sample)
{
	long id = -SAMPLER_EFAULT;

	if (sample->has_kernel_stack)
		id = bpf_get_stackid(ctx, stacks, sample->skipped_frames);
	sample->key.kernel_stack = stack_id_of(id);
	return stack_answer_of(id);
}

static __always_inline enum stack_answer get_user_stack(
	void *ctx, void *stacks, struct pilotlight_counters *counters, struct sample *sample)
{
	long id = bpf_get_stackid(ctx, stacks, USER_STACK);

	sample->key.walker = PILOTLIGHT_WALKER_KERNEL;
	sample->key.user_stack = stack_id_of(id);
	if (stack_answer_of(id) != STACK_ABSENT)
		count(&counters->walked[PILOTLIGHT_WALKER_KERNEL], sample->periods);
	return stack_answer_of(id);
}

/* Sends a sample that the maps cannot hold. Returns 0 if it is dropped. */
static __always_inline int send_whole(void *ctx, struct pilotlight_counters *counters,
	struct walker *walker, const struct sample *sample, enum walk_result walk)
{
	if (walk != WALK_DONE)
		return send_sample(ctx, counters, sample, walk == WALK_BY_KERNEL);
	if (send_walked_sample(ctx, counters, walker, sample, 0))
		return 1;
	count(&counters->dropped[PILOTLIGHT_DROP_RING_FULL], sample->periods);
	return 0;
}

/* Adds an entry for a sample. Returns 0 if the map is full. A function of its own, as the entry
 * would take BPF stack from the walk. */
static __noinline int count_first(void *counts, const struct sample *sample,
	struct pilotlight_counters *counters, __u64 now, __s64 build_id_stack)
{
	struct pilotlight_sample_count entry = {
		.count = sample->periods,
		.first_ns = now,
		.last_ns = now,
		.build_id_stack = build_id_stack,
		.user = user_of(bpf_get_current_task_btf()),
	};

	bpf_get_current_comm(entry.comm, sizeof(entry.comm));
	if (bpf_map_update_elem(counts, &sample->key, &entry, BPF_NOEXIST))
		return count_again(counts, sample, counters, now);
	count(&counters->stored[PILOTLIGHT_PATH_MAP], sample->periods);
	return 1;
}

/* Counts a sample in the maps, or sends it if they cannot hold it. */
static __always_inline void count_sample(void *ctx, void *stacks, void *build_id_stacks,
	void *counts, struct pilotlight_counters *counters, struct walker *walker,
	struct sample *sample, enum walk_result walk)
{
	enum stack_answer user = STACK_ABSENT, kernel = get_kernel_stack(ctx, stacks, sample);
	__s64 build_id_stack = PILOTLIGHT_STACK_NONE;
	__u64 now = walker->walk.record.time_ns;

	/* A sample that has an entry in this window has also sent its stack. */
	if (walk == WALK_DONE && stack_answer_is_in_maps(kernel) &&
		count_again(counts, sample, counters, now)) {
		note_walk(counters, walker, sample->periods);
		return;
	}
	if (walk == WALK_DONE && !stack_answer_needs_ring(kernel) && !send_walk(walker)) {
		count(&counters->events[PILOTLIGHT_EVENT_WALK_UNSENT], 1);
		walk = WALK_BY_KERNEL;
	}
	if (walk == WALK_DONE)
		note_walk(counters, walker, sample->periods);
	else if (walk == WALK_BY_KERNEL)
		user = get_user_stack(ctx, stacks, counters, sample);
	if (stack_answer_needs_ring(user) || stack_answer_needs_ring(kernel)) {
		if (user == STACK_MAP_FULL || kernel == STACK_MAP_FULL)
			count(&counters->events[PILOTLIGHT_EVENT_STACKMAP_FULL], 1);
		else
			count(&counters->events[PILOTLIGHT_EVENT_STACK_COLLISION], 1);
		send_whole(ctx, counters, walker, sample, walk);
		return;
	}
	if (user == STACK_ERROR || kernel == STACK_ERROR)
		count(&counters->events[PILOTLIGHT_EVENT_STACK_ERROR], 1);

	if (count_again(counts, sample, counters, now))
		return;
	if (user == STACK_STORED)
		build_id_stack = find_build_ids(ctx, build_id_stacks, sample, counters);
	if (build_id_stack == -SAMPLER_ENOMEM) {
		count(&counters->events[PILOTLIGHT_EVENT_STACKMAP_FULL], 1);
		send_whole(ctx, counters, walker, sample, walk);
		return;
	}
	if (count_first(counts, sample, counters, now, build_id_stack))
		return;
	count(&counters->events[PILOTLIGHT_EVENT_COUNTS_FULL], 1);
	send_whole(ctx, counters, walker, sample, walk);
}

/* Sends a sample whose address the maps could not hold. */
static __always_inline int send_live(void *ctx, struct pilotlight_counters *counters,
	struct walker *walker, const struct sample *sample, enum walk_result walk)
{
	if (!send_whole(ctx, counters, walker, sample, walk))
		return 0;
	if (walk == WALK_DONE)
		note_walk(counters, walker, sample->periods);
	return 1;
}

/* Records a sample of the current task. The user stack begins at the registers in `walker`, if
 * `can_walk`. Returns 0 if a sample with an address is dropped. */
static __always_inline int record_sample(void *ctx, struct pilotlight_counters *counters,
	struct walker *walker, struct sample *sample, int can_walk)
{
	enum walk_result walk = WALK_BY_KERNEL;

	sample->key.cgroup_id = cgroup_id_of(bpf_get_current_task_btf(), walker);
	sample->key.user_stack = sample->key.kernel_stack = PILOTLIGHT_STACK_NONE;
	if (can_walk)
		walk = walk_by_tables(walker, sample);
	if (sample->address)
		return send_live(ctx, counters, walker, sample, walk);
	if (walk == WALK_DONE && send_walked_sample(ctx, counters, walker, sample, 1)) {
		note_walk(counters, walker, sample->periods);
		return 1;
	}
	if (sample->window & 1)
		count_sample(ctx, &stacks_1, &build_id_stacks_1, &counts_1, counters, walker,
			sample, walk);
	else
		count_sample(ctx, &stacks_0, &build_id_stacks_0, &counts_0, counters, walker,
			sample, walk);
	return 1;
}

static __always_inline void sample_cpu_time(struct bpf_perf_event_data *ctx,
	struct pilotlight_counters *counters, struct sample *sample, __u64 now)
{
	struct walker *walker;
	__u32 entry = entry_of(sample);

	if (is_filtered(sample)) {
		count(&counters->dropped[PILOTLIGHT_DROP_FILTERED], 1);
		return;
	}
	walker = bpf_map_lookup_elem(&walkers, &entry);
	if (!walker) {
		count(&counters->dropped[PILOTLIGHT_DROP_BPF_ERROR], 1);
		return;
	}
	walker->walk.record.time_ns = now;
	record_sample(ctx, counters, walker, sample,
		wants_walks && has_user_mappings() && read_registers(ctx, &walker->walk));
}

SEC("perf_event")
int sample_cpu(struct bpf_perf_event_data *ctx)
{
	struct sample sample = { .window = active_window, .periods = 1 };
	__u32 index = pilotlight_counters_index(PILOTLIGHT_SOURCE_CPU, sample.window & 1);
	struct pilotlight_counters *counts;
	struct task_struct *task;
	__u64 now;

	counts = bpf_map_lookup_elem(&counters, &index);
	if (!counts)
		return 0;
	/* The counters are looked up again at the end: a pointer kept over the walk would take BPF
	 * stack. */
	now = bpf_ktime_get_ns();
	counts->run_ns -= now;
	counts->fired++;
	task = bpf_get_current_task_btf();
	if (task->pid == 0) {
		counts->dropped[PILOTLIGHT_DROP_IDLE]++;
	} else {
		sample.has_kernel_stack = wants_kernel && !is_user_mode(ctx);
		describe_task(task, &sample.key.process, &sample.key.tid);
		sample_cpu_time(ctx, counts, &sample, now);
	}
	counts = bpf_map_lookup_elem(&counters, &index);
	if (counts)
		counts->run_ns += bpf_ktime_get_ns();
	return 0;
}

/* Run once before sampling begins: requests the unwind tables of all programs that run. */
SEC("iter/task_vma")
int list_mapped_files(struct bpf_iter__task_vma *context)
{
	struct task_struct *task = context->task;
	/* Read once: the verifier takes each read for a pointer that may be NULL. */
	struct vm_area_struct *vma = context->vma;
	struct pilotlight_walk_request request = { 0 };
	__u32 tid;

	if (!task || !vma)
		return 0;
	describe_task(task, &request.process, &tid);
	if (is_task_filtered(task, request.process.tgid, VISITOR_ENTRY))
		return 0;
	request_mapped_file(task, vma, &request);
	return 0;
}

#include "block.bpf.h"
#include "count.bpf.h"
#include "kmem.bpf.h"
#include "lock.bpf.h"
#include "wakers.bpf.h"

#include "heap.bpf.h"

char LICENSE[] SEC("license") = "GPL";
