/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Samples of kernel memory, by bytes: what is allocated, what of it lives, and what was allocated
 * beyond the requested bytes. Each source has programs of its own, so that one that is off costs
 * nothing.
 *
 *  1. Allocations come from anywhere: interrupts, under locks, in the code that takes a sample.
 *     The programs allocate nothing. An allocation while another sample is taken on the CPU is
 *     dropped as busy; one while the same program runs there is skipped by the kernel, which counts
 *     it (recursion_misses).
 *  2. Frees of NULL and of kmalloc(0)'s pointer free nothing. Some ways to free have no tracepoint
 *     (bulks of them, and what waits for RCU). So an allocation at a live address ends that one.
 */
#pragma once

#include "amount.bpf.h"
#include "kmem_tracepoints.bpf.h"
#include "live.bpf.h"
#include "pilotlight/event.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

enum { PAGE_SHIFT = 12, MIGRATE_MOVABLE = 1, CACHE_NUMBERS_MAX = 2 * PILOTLIGHT_KMEM_CACHES };

/* A cache's number, while it has this name. Another cache may get its memory later. */
struct cache_number {
	__u64 name;
	__u32 number;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u64); /* the cache's address */
	__type(value, struct cache_number);
} cache_numbers SEC(".maps");

struct cache_name {
	char bytes[PILOTLIGHT_KMEM_NAME_BYTES];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cache_name);
} cache_names SEC(".maps");

static __u32 cache_count; /* numbers given */

static __always_inline __u32 new_cache_kind(__u64 address, const char *name)
{
	struct cache_number value = { .name = (__u64)name };
	struct cache_name *slot;

	if (cache_count >= PILOTLIGHT_KMEM_CACHES)
		return PILOTLIGHT_KMEM_OTHER_CACHE;
	value.number = __sync_fetch_and_add(&cache_count, 1);
	slot = bpf_map_lookup_elem(&cache_names, &value.number);
	if (!slot)
		return PILOTLIGHT_KMEM_OTHER_CACHE;
	bpf_probe_read_kernel_str(slot->bytes, sizeof(slot->bytes), name);
	/* If this fails, the next sample of the cache takes another number. */
	bpf_map_update_elem(&cache_numbers, &address, &value, BPF_ANY);
	return PILOTLIGHT_KMEM_CACHE + value.number;
}

static __always_inline __u32 cache_kind(struct kmem_cache *cache)
{
	__u64 address = (__u64)cache;
	struct cache_number *known = bpf_map_lookup_elem(&cache_numbers, &address);
	const char *name = cache->name;

	if (known && known->name == (__u64)name)
		return PILOTLIGHT_KMEM_CACHE + known->number;
	return new_cache_kind(address, name);
}

/* By the size that was allocated. */
static __always_inline __u32 kmalloc_kind(__u64 bytes)
{
	/* 8 * 2^n and, between 64 and 256, also 96 and 192. */
	static const __u32 sizes[PILOTLIGHT_KMEM_SIZE_CLASSES - 1] = { 8, 16, 32, 64, 96, 128, 192,
		256, 512, 1024, 2048, 4096, 8192 };
	__u32 i = 0;

	while (i < PILOTLIGHT_KMEM_SIZE_CLASSES - 1 && bytes > sizes[i])
		i++;
	return PILOTLIGHT_KMEM_KMALLOC + i;
}

static __always_inline __u32 page_kind(__u32 order, __u32 migrate_type)
{
	__u32 base = migrate_type == MIGRATE_MOVABLE ? PILOTLIGHT_KMEM_MOVABLE_PAGES
						     : PILOTLIGHT_KMEM_PAGES;

	return base + (order < PILOTLIGHT_KMEM_ORDERS ? order : PILOTLIGHT_KMEM_ORDERS - 1);
}

/* Takes a sample, and if it is of what lives, notes the address until it is freed. */
static __always_inline void sample_memory(void *ctx, const struct occasion *occasion)
{
	if (!occasion->address) {
		take_sample(ctx, occasion);
		return;
	}
	if (!live_begin(occasion->source, 0, occasion->address))
		drop_sample(occasion, PILOTLIGHT_DROP_LIVE_FULL);
	else if (!take_sample(ctx, occasion))
		live_end(occasion->source, 0, occasion->address);
}

/* In what follows, `source` is a constant of the program. */

static __always_inline __u64 amount_of(
	enum pilotlight_source source, __u64 requested_bytes, __u64 allocated_bytes)
{
	if (source != PILOTLIGHT_SOURCE_KMEM_WASTE)
		return allocated_bytes;
	return allocated_bytes > requested_bytes ? allocated_bytes - requested_bytes : 0;
}

/* Begins an occasion; its periods are 0 if no sample is due. */
static __always_inline struct occasion allocation_of(
	enum pilotlight_source source, __u64 address, __u64 bytes)
{
	struct occasion occasion = { .source = source };

	if (source == PILOTLIGHT_SOURCE_KMEM_LIVE) {
		live_end(source, 0, address);
		occasion.address = address;
	}
	occasion.periods = bytes ? periods_in(source, bytes) : 0;
	return occasion;
}

static __always_inline int on_kmalloc(__u64 *ctx, enum pilotlight_source source)
{
	__u64 pointer = pointer_of(ctx), bytes = ctx[3];
	struct occasion occasion;

	if (!is_memory(pointer))
		return 0;
	occasion = allocation_of(source, pointer, amount_of(source, ctx[2], bytes));
	if (!occasion.periods)
		return 0;
	occasion.wait = kmalloc_kind(bytes);
	sample_memory(ctx, &occasion);
	return 0;
}

static __always_inline int on_cache_alloc(__u64 *ctx, enum pilotlight_source source)
{
	struct kmem_cache *cache = (struct kmem_cache *)ctx[2];
	__u64 pointer = pointer_of(ctx);
	struct occasion occasion;

	if (!is_memory(pointer))
		return 0;
	occasion =
		allocation_of(source, pointer, amount_of(source, cache->object_size, cache->size));
	if (!occasion.periods)
		return 0;
	occasion.wait = cache_kind(cache);
	sample_memory(ctx, &occasion);
	return 0;
}

/* The address of a page's description stands for the page. It is NULL if there was no page. */
static __always_inline int on_page_alloc(__u64 *ctx, enum pilotlight_source source)
{
	__u64 page = ctx[0], order = (__u32)ctx[1];
	struct occasion occasion;

	if (!page || order >= PILOTLIGHT_KMEM_ORDERS)
		return 0;
	occasion = allocation_of(source, page, 1ULL << PAGE_SHIFT << order);
	if (!occasion.periods)
		return 0;
	occasion.wait = page_kind(order, (__u32)ctx[3]);
	sample_memory(ctx, &occasion);
	return 0;
}

static __always_inline int on_free(__u64 address)
{
	if (is_memory(address))
		live_end(PILOTLIGHT_SOURCE_KMEM_LIVE, 0, address);
	return 0;
}

/* A program of one source at one tracepoint. `call` is what it does with `ctx`. */
#define KMEM_PROGRAM(name, tracepoint, call) \
	SEC("?tp_btf/" #tracepoint)          \
	int name(__u64 *ctx)                 \
	{                                    \
		return call;                 \
	}

KMEM_PROGRAM(kmem_alloc_kmalloc, kmalloc, on_kmalloc(ctx, PILOTLIGHT_SOURCE_KMEM_ALLOC))
KMEM_PROGRAM(kmem_alloc_cache, kmem_cache_alloc, on_cache_alloc(ctx, PILOTLIGHT_SOURCE_KMEM_ALLOC))
KMEM_PROGRAM(kmem_alloc_pages, mm_page_alloc, on_page_alloc(ctx, PILOTLIGHT_SOURCE_KMEM_ALLOC))

KMEM_PROGRAM(kmem_waste_kmalloc, kmalloc, on_kmalloc(ctx, PILOTLIGHT_SOURCE_KMEM_WASTE))
KMEM_PROGRAM(kmem_waste_cache, kmem_cache_alloc, on_cache_alloc(ctx, PILOTLIGHT_SOURCE_KMEM_WASTE))

KMEM_PROGRAM(kmem_live_kmalloc, kmalloc, on_kmalloc(ctx, PILOTLIGHT_SOURCE_KMEM_LIVE))
KMEM_PROGRAM(kmem_live_cache, kmem_cache_alloc, on_cache_alloc(ctx, PILOTLIGHT_SOURCE_KMEM_LIVE))
KMEM_PROGRAM(kmem_live_pages, mm_page_alloc, on_page_alloc(ctx, PILOTLIGHT_SOURCE_KMEM_LIVE))
KMEM_PROGRAM(kmem_live_kfree, kfree, on_free(pointer_of(ctx)))
KMEM_PROGRAM(kmem_live_cache_free, kmem_cache_free, on_free(pointer_of(ctx)))
KMEM_PROGRAM(kmem_live_page_free, mm_page_free, on_free(ctx[0]))
