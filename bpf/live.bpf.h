/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which sampled allocations live. A source of what lives notes the address of each allocation that
 * it samples, and takes it away when the address is freed. A sample reaches the engine with its
 * address; whether the allocation still lives, the engine looks up in the map (struct
 * pilotlight_live_key). So a free sends nothing, and none is lost while the ring is full.
 *
 * An allocation at a noted address means that a free was missed: live_end() it, too.
 */
#pragma once

#include "pilotlight/event.h"

#include <linux/bpf.h>

#include <bpf/bpf_helpers.h>

/* Preallocated: programs that note allocations must not allocate. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1);
	__type(key, struct pilotlight_live_key);
	__type(value, struct pilotlight_live);
} live SEC(".maps");

/* Call it before the sample is taken. Returns 0 if there is no room: then drop the sample. */
static __always_inline int live_begin(enum pilotlight_source source, __u32 tgid, __u64 address)
{
	struct pilotlight_live_key key = { .address = address, .tgid = tgid, .source = source };
	struct pilotlight_live value = { .time_ns = bpf_ktime_get_ns() };

	return bpf_map_update_elem(&live, &key, &value, BPF_ANY) == 0;
}

/* Most addresses were not sampled, so a look-up that fails must be all that a free costs. */
static __always_inline void live_end(enum pilotlight_source source, __u32 tgid, __u64 address)
{
	struct pilotlight_live_key key = { .address = address, .tgid = tgid, .source = source };

	if (bpf_map_lookup_elem(&live, &key))
		bpf_map_delete_elem(&live, &key);
}
