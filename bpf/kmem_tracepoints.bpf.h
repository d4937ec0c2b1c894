/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arguments of the tracepoints of kernel memory, as they are since Linux 6.1; the verifier
 * refuses the programs before:
 *   kmalloc(call_site, pointer, requested bytes, allocated bytes, gfp flags, node)
 *   kmem_cache_alloc(call_site, pointer, cache, gfp flags, node)
 *   kfree(call_site, pointer), kmem_cache_free(call_site, pointer, cache)
 *   mm_page_alloc(page, order, gfp flags, migrate type), mm_page_free(page, order)
 */
#pragma once

#include <linux/bpf.h>
#include <linux/types.h>

#include <bpf/bpf_helpers.h>

struct kmem_cache {
	unsigned int size;	  /* that an object takes */
	unsigned int object_size; /* that was requested */
	const char *name;
} __attribute__((preserve_access_index));

enum { ZERO_SIZE_POINTER = 16 };

/* Is it memory? kfree() of NULL or of kmalloc(0)'s pointer frees nothing, and is half of all calls.
 */
static __always_inline int is_memory(__u64 pointer)
{
	return pointer > ZERO_SIZE_POINTER;
}

/* The second argument, a `const void *`, which Linux 6.1 lets no program load. */
static __always_inline __u64 pointer_of(const __u64 *context)
{
	__u64 pointer = 0;

	bpf_probe_read_kernel(&pointer, sizeof(pointer), &context[1]);
	return pointer;
}
