// SPDX-License-Identifier: GPL-2.0-only
/*
 * Writes allocations and frees of kernel memory as events of the kmemtrace ABI
 * (pilotlight/kmemtrace.h), into a ring for each CPU. Each event takes a global sequence number
 * first. An event that the ring cannot hold counts as overrun, in bytes.
 *
 * The programs allocate nothing, so they cannot trace themselves. If an interrupt allocates while
 * the same program runs on its CPU, the kernel skips the nested run and counts it as a recursion
 * miss; the tracer adds these to the overruns.
 */
#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "kmem_tracepoints.bpf.h"
#include "pilotlight/kmemtrace.h"

/* Rings by CPU, which the tracer creates. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_RINGBUF);
			__uint(max_entries, 4096);
		});
} rings SEC(".maps");

/* Kernel stacks, with --stacks. A stack keeps its number. */
struct {
	__uint(type, BPF_MAP_TYPE_STACK_TRACE);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, 127 * sizeof(__u64));
} stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} overrun_bytes SEC(".maps");

__u32 last_sequence;
__u64 stackless_events; /* though stacks are wanted */

enum { PAGE_SHIFT = 12, PAGE_STACK_DEPTH = 16, PAGE_ORDERS = 16, PAGE_FUNCTIONS_MAX = 32 };

/* Constants, set before loading. */
const volatile __u8 wants_stacks;
/* The page allocator's functions: where they begin, and their bytes. */
const volatile __u64 page_functions[PAGE_FUNCTIONS_MAX][2];
const volatile __u32 ring_bytes;

struct alloc_record {
	struct pilotlight_kmemtrace_alloc alloc;
	struct pilotlight_kmemtrace_stack stack;
};

struct free_record {
	struct pilotlight_kmemtrace_event event;
	struct pilotlight_kmemtrace_stack stack;
};

/* Wakes the tracer when the ring is half full. Until then it reads on its timer. */
static __always_inline void send(void *record, __u32 size)
{
	__u32 cpu = bpf_get_smp_processor_id(), zero = 0;
	void *ring = bpf_map_lookup_elem(&rings, &cpu);
	__u64 flags = BPF_RB_NO_WAKEUP, *overrun;

	if (ring) {
		if (bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > ring_bytes / 2)
			flags = BPF_RB_FORCE_WAKEUP;
		if (bpf_ringbuf_output(ring, record, size, flags) == 0)
			return;
	}
	overrun = bpf_map_lookup_elem(&overrun_bytes, &zero);
	if (overrun)
		__sync_fetch_and_add(overrun, size);
}

/* Fills in what all events have. Returns the size of the feature behind the core fields. */
static __always_inline __u32 describe(void *context, struct pilotlight_kmemtrace_event *event,
	struct pilotlight_kmemtrace_stack *stack, __u32 core_bytes)
{
	long id = wants_stacks ? bpf_get_stackid(context, &stacks, 0) : -1;
	__u32 feature_bytes = 0;

	if (id >= 0) {
		stack->feature.feature_bytes = sizeof(*stack);
		stack->feature.feature_id = PILOTLIGHT_KMEMTRACE_FEATURE_STACK;
		stack->stack = (__u32)id;
		feature_bytes = sizeof(*stack);
	} else if (wants_stacks) {
		__sync_fetch_and_add(&stackless_events, 1);
	}
	event->event_bytes = core_bytes + feature_bytes;
	event->sequence = (__s32)(__sync_fetch_and_add(&last_sequence, 1) + 1);
	return feature_bytes;
}

static __always_inline void trace_alloc(void *context, __u8 type, unsigned long call_site,
	__u64 pointer, __u64 requested_bytes, __u64 allocated_bytes, __u32 gfp_flags, int node)
{
	/* kmalloc(0) allocates nothing, and the ABI has no event for it. */
	if (requested_bytes == 0)
		return;
	struct alloc_record record = {
		.alloc.event.event_id = PILOTLIGHT_KMEMTRACE_ALLOC,
		.alloc.event.type_id = type,
		.alloc.event.call_site = call_site,
		.alloc.event.pointer = pointer,
		.alloc.requested_bytes = requested_bytes,
		.alloc.allocated_bytes = allocated_bytes,
		.alloc.gfp_flags = gfp_flags,
		.alloc.node = node,
	};

	if (describe(context, &record.alloc.event, &record.stack, sizeof(record.alloc)))
		send(&record, sizeof(record));
	else
		send(&record, sizeof(record.alloc));
}

static __always_inline void trace_free(
	void *context, __u8 type, unsigned long call_site, __u64 pointer)
{
	if (!is_memory(pointer))
		return;
	struct free_record record = {
		.event.event_id = PILOTLIGHT_KMEMTRACE_FREE,
		.event.type_id = type,
		.event.call_site = call_site,
		.event.pointer = pointer,
	};

	if (describe(context, &record.event, &record.stack, sizeof(record.event)))
		send(&record, sizeof(record));
	else
		send(&record, sizeof(record.event));
}

SEC("tp_btf/kmalloc")
int BPF_PROG(trace_kmalloc, unsigned long call_site, const void *unused, __u64 requested_bytes,
	__u64 allocated_bytes, __u32 gfp_flags, int node)
{
	trace_alloc(ctx, PILOTLIGHT_KMEMTRACE_KMALLOC, call_site, pointer_of(ctx), requested_bytes,
		allocated_bytes, gfp_flags, node);
	return 0;
}

SEC("tp_btf/kmem_cache_alloc")
int BPF_PROG(trace_cache_alloc, unsigned long call_site, const void *unused,
	struct kmem_cache *cache, __u32 gfp_flags, int node)
{
	trace_alloc(ctx, PILOTLIGHT_KMEMTRACE_CACHE, call_site, pointer_of(ctx), cache->object_size,
		cache->size, gfp_flags, node);
	return 0;
}

SEC("tp_btf/kfree")
int BPF_PROG(trace_kfree, unsigned long call_site)
{
	trace_free(ctx, PILOTLIGHT_KMEMTRACE_KMALLOC, call_site, pointer_of(ctx));
	return 0;
}

SEC("tp_btf/kmem_cache_free")
int BPF_PROG(trace_cache_free, unsigned long call_site)
{
	trace_free(ctx, PILOTLIGHT_KMEMTRACE_CACHE, call_site, pointer_of(ctx));
	return 0;
}

/* --- pages --- */

/* A global function: the verifier looks at it once. */
__noinline int is_page_function(__u64 ip)
{
	for (int i = 0; i < PAGE_FUNCTIONS_MAX; i++)
		if (ip - page_functions[i][0] < page_functions[i][1])
			return 1;
	return 0;
}

/* The tracepoints do not tell: the first return address outside of the page allocator. */
static __always_inline __u64 page_call_site(void *context)
{
	__u64 ips[PAGE_STACK_DEPTH] = { 0 };
	int was_inside = 0;

	if (bpf_get_stack(context, ips, sizeof(ips), 0) < 0)
		return 0;
	for (int i = 0; i < PAGE_STACK_DEPTH; i++) {
		int is_inside = is_page_function(ips[i]);

		if (was_inside && !is_inside)
			return ips[i];
		was_inside |= is_inside;
	}
	return 0;
}

/* The page is NULL if there was none. */
SEC("?tp_btf/mm_page_alloc")
int BPF_PROG(trace_page_alloc, void *page, unsigned int order, __u32 gfp_flags)
{
	__u64 bytes = 1ULL << PAGE_SHIFT << (order & (PAGE_ORDERS - 1));

	trace_alloc(ctx, PILOTLIGHT_KMEMTRACE_PAGES, page_call_site(ctx), (__u64)page, bytes, bytes,
		gfp_flags, -1);
	return 0;
}

SEC("?tp_btf/mm_page_free")
int BPF_PROG(trace_page_free, void *page)
{
	trace_free(ctx, PILOTLIGHT_KMEMTRACE_PAGES, page_call_site(ctx), (__u64)page);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
