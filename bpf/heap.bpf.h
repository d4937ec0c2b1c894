/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of memory that programs allocate: uprobes on malloc() and its like, where they begin, and
 * where they return with the address. A sample's stack begins at the caller.
 *
 *  1. A function that allocates may call another one: realloc() of NULL calls malloc(), operator
 *     new does. Only the outermost call counts. begin_call() notes it by thread, with its stack
 *     pointer; what begins below that is nested. A return belongs to the call if the stack pointer
 *     says so. If only allocations are sampled, what calls no other function is noted nowhere and
 *     has no probe at its return: a breakpoint costs more than all that a program does here.
 *  2. An address goes to the map of live allocations when it was returned, and leaves it before
 *     free() runs: another thread may get it right after. For the same reason realloc() takes away
 *     the old address when it begins. If it fails, the old one lives on.
 *  3. A process that is killed for lack of memory is noted among what lives, at no address. So the
 *     engine keeps what it held until then.
 *  4. An allocator may sample itself, and report each sample by a USDT probe with the bytes that it
 *     stands for. Then reports count, and calls do not: malloc() may have its breakpoint since
 *     before the allocator was mapped. execve() ends that.
 *  5. A call that does not return, as by longjmp(), leaves its note. The next call above it in the
 *     stack finds it and counts it, as the return of an allocation may also have been missed. Until
 *     then, or for CALL_NS_MAX, calls below it are taken for its own.
 *  6. A program without probes at some allocator, as during the first milliseconds after it mapped
 *     it, frees addresses that were never noted. That is a look-up that fails.
 */
#pragma once

#include "amount.bpf.h"
#include "kernel_types.h"
#include "live.bpf.h"
#include "pilotlight/event.h"
#include "pilotlight/probe_argument.h"

#include <linux/bpf.h>
#include <linux/ptrace.h>

#include <bpf/bpf_helpers.h>

/* Calls of allocators that began and did not end for us, so that nothing was sampled. */
__u32 allocator_calls_lost;

/* Constants, set before loading. */
const volatile __u8 wants_live_heap;
const volatile __u8 tells_victim; /* mark_victim has the task as argument, since 6.10 */

enum {
	/* No allocation takes as long. A note that is older was not taken away, since its return
	 * was missed. */
	CALL_NS_MAX = 1000000000,
	RETURN_ADDRESS_BYTES = 8,
};

/* An allocation under way. */
struct heap_call {
	__u64 stack_pointer; /* where the return address is */
	__u64 begin_ns;
	__u64 bytes;
	__u64 result; /* where the address will be stored; 0: it is returned */
	/* What realloc() frees, if it was sampled. */
	__u64 replaced_address, replaced_ns;
	__u64 process_ns; /* a thread's number may be reused */
};

/* By thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1);
	__type(key, __u64);
	__type(value, struct heap_call);
} heap_calls SEC(".maps");

static __always_inline int is_64_bit(const struct pt_regs *ctx)
{
	return ctx->cs == USER_CODE_SELECTOR;
}

static __always_inline __u32 current_tgid(void)
{
	return tgid_of(bpf_get_current_task_btf());
}

/* Do calls of the process's allocator count, as it does not report its own samples? */
static __always_inline int counts_calls(const struct pt_regs *ctx)
{
	__u32 tgid = current_tgid();
	const __u8 *followed = bpf_map_lookup_elem(&followed_tgids, &tgid);

	return is_64_bit(ctx) && !(followed && *followed & PILOTLIGHT_FOLLOWED_REPORTS);
}

/* Is another allocation of this thread under way, which calls this one? A call that is noted
 * already is the same one: two probes are at its begin. */
static __always_inline int is_nested(
	const struct heap_call *call, const struct pt_regs *ctx, __u64 now)
{
	return ctx->rsp <= call->stack_pointer && now - call->begin_ns < CALL_NS_MAX &&
	       call->process_ns == bpf_get_current_task_btf()->start_boottime;
}

static __always_inline void lose_call(void)
{
	__sync_fetch_and_add(&allocator_calls_lost, 1);
}

static __always_inline struct heap_call *find_call(void)
{
	__u64 thread = bpf_get_current_pid_tgid();

	return bpf_map_lookup_elem(&heap_calls, &thread);
}

/* If the address was freed by a function without a probe, that ends now. Returns 0 without room. */
static __noinline int begin_live(__u64 address)
{
	__u32 tgid = current_tgid();

	live_end(PILOTLIGHT_SOURCE_HEAP_LIVE, tgid, address);
	return live_begin(PILOTLIGHT_SOURCE_HEAP_LIVE, tgid, address);
}

static __noinline void end_live(__u64 address)
{
	live_end(PILOTLIGHT_SOURCE_HEAP_LIVE, current_tgid(), address);
}

/* `occasion` is the caller's: with one of its own for each source, the BPF stack would not do. */
static __always_inline void sample_live(
	struct pt_regs *ctx, struct occasion *occasion, __u64 bytes, __u64 address)
{
	*occasion = (struct occasion){
		.source = PILOTLIGHT_SOURCE_HEAP_LIVE,
		.skipped = SKIP_KERNEL,
		.periods = periods_in(PILOTLIGHT_SOURCE_HEAP_LIVE, bytes),
		.address = address,
	};
	if (!occasion->periods)
		end_live(address);
	else if (!begin_live(address))
		drop_sample(occasion, PILOTLIGHT_DROP_LIVE_FULL);
	else if (!take_sample(ctx, occasion))
		end_live(address);
}

static __always_inline void sample_allocation(
	struct pt_regs *ctx, struct occasion *occasion, __u64 bytes, enum skipped_frames skipped)
{
	*occasion = (struct occasion){
		.source = PILOTLIGHT_SOURCE_HEAP_ALLOC,
		.skipped = skipped,
		.periods = periods_in(PILOTLIGHT_SOURCE_HEAP_ALLOC, bytes),
	};
	if (occasion->periods)
		take_sample(ctx, occasion);
}

/* Takes away the address that realloc() frees, and remembers it in case that it fails. */
static __always_inline void take_replaced(struct heap_call *call, __u64 address)
{
	struct pilotlight_live_key key = {
		.address = address, .tgid = current_tgid(), .source = PILOTLIGHT_SOURCE_HEAP_LIVE
	};
	struct pilotlight_live *found = bpf_map_lookup_elem(&live, &key);

	if (!found)
		return;
	call->replaced_address = address;
	call->replaced_ns = found->time_ns;
	bpf_map_delete_elem(&live, &key);
}

static __always_inline void restore_replaced(const struct heap_call *call)
{
	struct pilotlight_live_key key = { .address = call->replaced_address,
		.tgid = current_tgid(),
		.source = PILOTLIGHT_SOURCE_HEAP_LIVE };
	struct pilotlight_live value = { .time_ns = call->replaced_ns };

	bpf_map_update_elem(&live, &key, &value, BPF_NOEXIST);
}

/* An allocation begins whose return has a probe. A function of its own: heap_malloc() may take a
 * sample instead, whose chain of calls leaves no room for a call on the BPF stack. */
static __noinline void begin_call(
	const struct pt_regs *ctx, __u64 bytes, __u64 result, __u64 replaced)
{
	__u64 thread = bpf_get_current_pid_tgid(), now = bpf_ktime_get_ns();
	struct heap_call *under_way = bpf_map_lookup_elem(&heap_calls, &thread);
	struct heap_call call = {
		.stack_pointer = ctx->rsp,
		.begin_ns = now,
		.bytes = bytes,
		.result = result,
		.process_ns = bpf_get_current_task_btf()->start_boottime,
	};

	if (!counts_calls(ctx) || (under_way && is_nested(under_way, ctx, now)))
		return;
	if (under_way && under_way->process_ns == call.process_ns)
		lose_call();
	if (wants_live_heap && replaced)
		take_replaced(&call, replaced);
	if (bpf_map_update_elem(&heap_calls, &thread, &call, BPF_ANY))
		lose_call();
}

/* An allocation begins that calls no other one. */
static __always_inline void begin_plain_call(struct pt_regs *ctx, __u64 bytes)
{
	const struct heap_call *under_way;
	struct occasion occasion;

	if (wants_live_heap) {
		begin_call(ctx, bytes, 0, 0);
		return;
	}
	under_way = find_call();
	if (counts_calls(ctx) && !(under_way && is_nested(under_way, ctx, bpf_ktime_get_ns())))
		sample_allocation(ctx, &occasion, bytes, SKIP_CALLED);
}

SEC("?uprobe")
int heap_malloc(struct pt_regs *ctx)
{
	begin_plain_call(ctx, ctx->rdi);
	return 0;
}

SEC("?uprobe")
int heap_calloc(struct pt_regs *ctx)
{
	/* If the product is too large, the function fails. */
	begin_call(ctx, ctx->rdi * ctx->rsi, 0, 0);
	return 0;
}

SEC("?uprobe")
int heap_realloc(struct pt_regs *ctx)
{
	begin_call(ctx, ctx->rsi, 0, ctx->rdi);
	return 0;
}

/* aligned_alloc(), memalign(); operator new with an alignment has its size first. */
SEC("?uprobe")
int heap_aligned_alloc(struct pt_regs *ctx)
{
	begin_call(ctx, ctx->rsi, 0, 0);
	return 0;
}

/* valloc(), pvalloc(), operator new: they may call malloc(). */
SEC("?uprobe")
int heap_new(struct pt_regs *ctx)
{
	begin_call(ctx, ctx->rdi, 0, 0);
	return 0;
}

SEC("?uprobe")
int heap_posix_memalign(struct pt_regs *ctx)
{
	begin_call(ctx, ctx->rdx, ctx->rdi, 0);
	return 0;
}

SEC("?uprobe")
int heap_free(struct pt_regs *ctx)
{
	if (ctx->rdi && is_64_bit(ctx))
		live_end(PILOTLIGHT_SOURCE_HEAP_LIVE, current_tgid(), ctx->rdi);
	return 0;
}

/* The address of a call that returned; 0: it failed. */
static __always_inline __u64 returned_address(__u64 returned, __u64 result)
{
	__u64 address = 0;

	if (!result)
		return returned;
	if ((__u32)returned == 0 && bpf_probe_read_user(&address, sizeof(address), (void *)result))
		lose_call();
	return address;
}

/* Its first argument was the pid before Linux 6.10. */
SEC("?tp_btf/mark_victim")
int heap_victim(__u64 *ctx)
{
	__u32 tgid = tells_victim ? tgid_of((struct task_struct *)ctx[0]) : (__u32)ctx[0];

	if (bpf_map_lookup_elem(&followed_tgids, &tgid))
		live_begin(PILOTLIGHT_SOURCE_HEAP_LIVE, tgid, 0);
	return 0;
}

/*
 * Forgets a call. Returns 0 if it failed; then realloc() has freed nothing. As
 * a function of its own it adds nothing to the stack below which samples are taken.
 */
static __noinline __u64 end_call(const struct heap_call *call, __u64 returned)
{
	__u64 thread = bpf_get_current_pid_tgid();
	__u64 address = returned_address(returned, call->result);

	if (!address && call->replaced_address && call->bytes)
		restore_replaced(call);
	bpf_map_delete_elem(&heap_calls, &thread);
	return address;
}

SEC("?uretprobe")
int heap_return(struct pt_regs *ctx)
{
	const struct heap_call *call = find_call();
	__u64 returned = ctx->rax, bytes, address;
	struct occasion occasion;

	if (!call || ctx->rsp != call->stack_pointer + RETURN_ADDRESS_BYTES)
		return 0;
	/* Or the compiler reads it later, through a pointer that the verifier refuses. */
	barrier_var(returned);
	bytes = call->bytes;
	address = end_call(call, returned);
	if (!address)
		return 0;
	sample_allocation(ctx, &occasion, bytes, SKIP_KERNEL);
	if (wants_live_heap)
		sample_live(ctx, &occasion, bytes, address);
	return 0;
}

/* --- an allocator's reports --- */

static __always_inline __u64 read_argument(struct pt_regs *ctx, __u32 argument)
{
	enum pilotlight_argument_kind kind = pilotlight_argument_kind(argument);
	__u32 index = pilotlight_argument_register(argument);
	__u64 value = (__u64)pilotlight_argument_number(argument), address;

	if (kind == PILOTLIGHT_ARGUMENT_CONSTANT)
		return value;
	if (index >= PILOTLIGHT_ARGUMENT_REGISTERS ||
		bpf_probe_read_kernel(
			&address, sizeof(address), (void *)ctx + index * sizeof(value)))
		return 0;
	if (kind == PILOTLIGHT_ARGUMENT_REGISTER)
		return pilotlight_argument_cut(argument, address);
	address += value;
	if (bpf_probe_read_user(&value, sizeof(value), (void *)address))
		return 0;
	return pilotlight_argument_cut(argument, value);
}

/* The process's calls do not count, even if a report comes before the engine says so. */
static __always_inline void note_reports(void)
{
	__u32 tgid = current_tgid();
	__u8 *followed = bpf_map_lookup_elem(&followed_tgids, &tgid);

	if (followed && !(*followed & PILOTLIGHT_FOLLOWED_REPORTS))
		*followed = PILOTLIGHT_FOLLOWED | PILOTLIGHT_FOLLOWED_REPORTS;
}

/* otel_memory:alloc(address, size, weight): the weight is the bytes that the sample stands for. The
 * cookie says where the first and the third one are. */
SEC("?uprobe")
int heap_report_alloc(struct pt_regs *ctx)
{
	__u64 arguments = bpf_get_attach_cookie(ctx), address, weight;
	struct occasion occasion;

	if (!is_64_bit(ctx))
		return 0;
	note_reports();
	address = read_argument(ctx, (__u32)arguments);
	weight = read_argument(ctx, (__u32)(arguments >> 32));
	if (!address || !weight)
		return 0;
	sample_allocation(ctx, &occasion, weight, SKIP_KERNEL);
	if (wants_live_heap)
		sample_live(ctx, &occasion, weight, address);
	return 0;
}

/* otel_memory:free(address) */
SEC("?uprobe")
int heap_report_free(struct pt_regs *ctx)
{
	if (is_64_bit(ctx))
		end_live(read_argument(ctx, (__u32)bpf_get_attach_cookie(ctx)));
	return 0;
}

/* Another program has another allocator. */
SEC("?tp_btf/sched_process_exec")
int heap_exec(__u64 *ctx)
{
	__u32 tgid = current_tgid();
	__u8 value = PILOTLIGHT_FOLLOWED;

	bpf_map_update_elem(&followed_tgids, &tgid, &value, BPF_EXIST);
	return 0;
}
