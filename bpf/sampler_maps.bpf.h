/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The sampler's maps. Stacks, counts and counters have two sets, by the parity of the window: BPF
 * writes one while the engine drains the other. The other maps outlive the windows.
 */
#pragma once

#include "pilotlight/event.h"
#include "pilotlight/unwind.h"
#include "pilotlight/walk.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* Sizes here are the smallest that load. Capture computes the real ones from rate and budget. */
#define STACKMAP(name, frame_bytes, flags)                               \
	struct {                                                         \
		__uint(type, BPF_MAP_TYPE_STACK_TRACE);                  \
		__uint(map_flags, flags);                                \
		__uint(max_entries, 64);                                 \
		__uint(key_size, sizeof(__u32));                         \
		__uint(value_size, PILOTLIGHT_STACK_DEPTH *frame_bytes); \
	} name SEC(".maps")

#define HASHMAP(name, key_type, value_type)      \
	struct {                                 \
		__uint(type, BPF_MAP_TYPE_HASH); \
		__uint(max_entries, 64);         \
		__type(key, key_type);           \
		__type(value, value_type);       \
	} name SEC(".maps")

STACKMAP(stacks_0, 8, 0);
STACKMAP(stacks_1, 8, 0);
STACKMAP(build_id_stacks_0, 32, BPF_F_STACK_BUILD_ID);
STACKMAP(build_id_stacks_1, 32, BPF_F_STACK_BUILD_ID);
HASHMAP(counts_0, struct pilotlight_sample_key, struct pilotlight_sample_count);
HASHMAP(counts_1, struct pilotlight_sample_key, struct pilotlight_sample_count);

/* Most stacks request their build-ids once in a process's life. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 64);
	__type(key, struct pilotlight_known_stack_key);
	__type(value, struct pilotlight_known_stack);
} known_stacks SEC(".maps");

/* Hashes of walked stacks that were sent for counted samples; a power of two of entries. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 64);
	__type(key, __u32);
	__type(value, __u64);
} sent_walks SEC(".maps");

/* What the engine knows of files, by file. Only the engine adds entries. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, PILOTLIGHT_WALK_FILES_MAX);
	__type(key, struct pilotlight_file_key);
	__type(value, struct pilotlight_walk_file);
} walk_files SEC(".maps");

/* The files that the engine is asked for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, PILOTLIGHT_WALK_REQUESTS_MAX);
	__type(key, struct pilotlight_file_key);
	__type(value, struct pilotlight_walk_request);
} walk_requests SEC(".maps");

/* Its records wake the engine for a request; their contents mean nothing. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} walk_request_wakeup SEC(".maps");

/* The unwind tables of all files. The engine has these arrays mapped and fills them. */
#define TABLE(name, entry_type)                    \
	struct {                                   \
		__uint(type, BPF_MAP_TYPE_ARRAY);  \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, 1);            \
		__type(key, __u32);                \
		__type(value, entry_type);         \
	} name SEC(".maps")

/* The kernel rounds entries up to 8 bytes, so two numbers share one. */
struct page_pair {
	__u32 pages[2];
};
TABLE(unwind_pages, struct page_pair);
TABLE(unwind_lines, struct pilotlight_unwind_line);
TABLE(unwind_rules, struct pilotlight_unwind_rule);
TABLE(unwind_escapes, struct pilotlight_unwind_escape);

/* By pilotlight_counters_index(). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PILOTLIGHT_SOURCES *PILOTLIGHT_SET_COUNT);
	__type(key, __u32);
	__type(value, struct pilotlight_counters);
} counters SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} ring SEC(".maps");

/* Of each CPU, entries for samples of CPU time and for those of other sources. Twice the longest
 * record: the verifier demands room for the greatest offset plus the greatest
 * size. */
struct scratch {
	__u8 bytes[2 * PILOTLIGHT_RING_SAMPLE_BYTES_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u8); /* enum pilotlight_followed */
} followed_tgids SEC(".maps");

/*
 * Updating an array of maps waits until all running programs have ended (synchronize_rcu() in the
 * kernel's maybe_wait_bpf_programs()). Drain uses this one for that alone.
 */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(
		values, struct {
			__uint(type, BPF_MAP_TYPE_ARRAY);
			__uint(max_entries, 1);
			__type(key, __u32);
			__type(value, __u32);
		});
} barrier SEC(".maps");

static __always_inline const __u32 *unwind_page(__u32 number)
{
	__u32 pair = number / 2;
	const struct page_pair *entry = bpf_map_lookup_elem(&unwind_pages, &pair);

	return entry ? &entry->pages[number & 1] : 0;
}

static __always_inline const struct pilotlight_unwind_line *unwind_line(__u32 number)
{
	return bpf_map_lookup_elem(&unwind_lines, &number);
}

static __always_inline const struct pilotlight_unwind_rule *unwind_rule(__u32 number)
{
	return bpf_map_lookup_elem(&unwind_rules, &number);
}

static __always_inline const struct pilotlight_unwind_escape *unwind_escape(__u32 number)
{
	return bpf_map_lookup_elem(&unwind_escapes, &number);
}
