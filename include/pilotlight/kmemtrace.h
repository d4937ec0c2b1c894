/* SPDX-License-Identifier: GPL-2.0-or-later WITH Linux-syscall-note */
/*
 * The kmemtrace ABI, version 1: a binary stream of kernel allocations and frees for each CPU. Linux
 * documented it as Documentation/ABI/testing/debugfs-kmemtrace and offered it in debugfs until
 * 2.6.30. `pilotlight kmem trace` offers the same in a folder of its own, since debugfs takes no
 * folders from user space:
 *
 *   cpu<n>          0400, binary: the events of that CPU, one after another without padding
 *   total_overruns  0400, text: bytes of events that are in no stream, because its reader was slow
 *                   or absent
 *   abi_version     0400, text: "1"
 *
 * All numbers have the byte order of the machine that wrote them.
 *
 * Where the document is wrong or silent:
 *  - It says that the target CPU is "valid for event id 1", which is FREE. Only ALLOC has the
 *    field. Linux wrote the requested NUMA node there; so does pilotlight. -1: any.
 *  - total_overruns counts bytes. Linux counted buffers.
 *  - A sequence number is global, starts at 1 and is taken before the event is written. An
 * interrupt that allocates in between writes first, so a stream is only nearly in order.
 *  - Linux padded its buffers, and relay's read() skipped the padding. There is none here.
 *  - Requested bytes "must not be zero", but Linux wrote an event for kmalloc(0). pilotlight writes
 *    none, and none for the free of NULL or of kmalloc(0)'s pointer.
 *  - Type 2, pages, is defined, but Linux wrote no such event. pilotlight does with --pages. Pages
 *    that the slab allocator takes are events, too, and what is in them are others: sums of all
 *    types count that memory twice. The pointer is the address of the page's description (struct
 *    page). So it is no other type's pointer, and a reader that knows memory by its pointer
 *    alone takes no page for the first object in it. The node is -1. A free of pages that were
 *    allocated as parts of a larger block has a pointer of its own.
 */
#pragma once

#include <linux/types.h>

enum {
	PILOTLIGHT_KMEMTRACE_VERSION = 1,
	PILOTLIGHT_KMEMTRACE_SIZE_MAX = 0xffff, /* of an event: the size has 16 bits */
};

enum pilotlight_kmemtrace_event_id {
	PILOTLIGHT_KMEMTRACE_ALLOC,
	PILOTLIGHT_KMEMTRACE_FREE,
	PILOTLIGHT_KMEMTRACE_EVENTS,
};

enum pilotlight_kmemtrace_type {
	PILOTLIGHT_KMEMTRACE_KMALLOC, /* and kfree() */
	PILOTLIGHT_KMEMTRACE_CACHE,   /* kmem_cache_alloc(), kmem_cache_free() */
	PILOTLIGHT_KMEMTRACE_PAGES,   /* alloc_pages() and its like */
	PILOTLIGHT_KMEMTRACE_TYPES,
};

/* Each event begins with this. A FREE has no more core fields. */
struct pilotlight_kmemtrace_event {
	__u8 event_id;
	__u8 type_id;
	__u16 event_bytes; /* with all that follows; readers skip what they do not know */
	__s32 sequence;	   /* wraps */
	__u64 call_site;   /* a return address */
	__u64 pointer;
};
_Static_assert(sizeof(struct pilotlight_kmemtrace_event) == 24, "the document's layout");

struct pilotlight_kmemtrace_alloc {
	struct pilotlight_kmemtrace_event event;
	__u64 requested_bytes;
	__u64 allocated_bytes;
	__u32 gfp_flags;
	__s32 node;
};
_Static_assert(sizeof(struct pilotlight_kmemtrace_alloc) == 48, "the document's layout");

/* Optional data follows the core fields: any number of features. */
struct pilotlight_kmemtrace_feature {
	__u16 feature_bytes; /* with this header */
	__u8 feature_id;
} __attribute__((packed));
_Static_assert(sizeof(struct pilotlight_kmemtrace_feature) == 3, "the document's layout");

/*
 * The feature of `pilotlight kmem trace --stacks`: the number of a kernel stack. The file `stacks`
 * beside the streams has a line for each: the number, then the return addresses, innermost first,
 * in hexadecimal. The feature is padded so that events stay aligned to 8 bytes.
 */
enum { PILOTLIGHT_KMEMTRACE_FEATURE_STACK = 0x53 };
struct pilotlight_kmemtrace_stack {
	struct pilotlight_kmemtrace_feature feature;
	__u8 padding;
	__u32 stack;
} __attribute__((packed));
_Static_assert(sizeof(struct pilotlight_kmemtrace_stack) == 8, "events stay aligned");
