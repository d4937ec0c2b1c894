/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Remembers which methods run in native frames of HotSpot's generated code. A frame that was seen
 * before costs one look-up, and a few words of its block, instead of a search in the debug
 * information and a proof of each method.
 *
 * Other code may take the place of the one that was seen. So an entry holds only for its block,
 * with the number that HotSpot gives to a compiled method, and to no other one; its debug
 * information does not change. It also compiles for the host.
 */
#pragma once

#include "runtime_hotspot_scopes.bpf.h"

enum {
	HOTSPOT_SEEN_SHIFT = 9,
	HOTSPOT_SEEN_METHODS = 9, /* frames with more are read anew each time */
};

/*
 * An interrupt may read and write between two words of an entry. So the seal covers all that an
 * entry says, and an entry of two halves is that of no frame.
 */
struct hotspot_seen {
	__u64 seal;
	__u64 block;
	__u64 codes[HOTSPOT_SEEN_METHODS]; /* innermost first, as they are sent */
	__u32 units[HOTSPOT_SEEN_METHODS];
	__u32 count; /* 0: the entry is empty */
};
_Static_assert(sizeof(struct hotspot_seen) == 128, "two cache lines");

static __always_inline __u32 hotspot_seen_place(__u64 owner, __u64 frame)
{
	return runtime_hash(owner, frame) >> (64 - HOTSPOT_SEEN_SHIFT);
}

/* The seal of an entry, whose unused methods are 0. */
static __always_inline __u64 hotspot_seen_seal(
	const struct hotspot_seen *seen, __u64 frame, __u64 identity)
{
	__u64 hash = runtime_hash(runtime_hash(identity, frame), seen->block);

	for (__u32 i = 0; i < HOTSPOT_SEEN_METHODS; i++)
		hash = runtime_hash(hash ^ seen->units[i], seen->codes[i]);
	return runtime_hash(hash, seen->count);
}

/*
 * Reads what identifies the code in the block: its head, with the length and whether it is in use;
 * the name, which tells compiled methods from stubs; and the number. `owner` identifies the
 * process, also over time. Returns 0 if it cannot be read.
 */
static __always_inline int hotspot_read_identity(struct walk *walk,
	const struct pilotlight_runtime_hotspot *runtime, __u64 block, __u64 owner,
	__u64 *ret_identity)
{
	__u64 at = block + runtime->block_bytes, head[2], name, number;
	__u64 identity = runtime_hash(owner, block);

	if (!block || !can_read_own_user(head, 2, block) ||
		!can_read_own_user(&name, 1, at + runtime->blob_name_at) ||
		!can_read_own_user(&number, 1, at + runtime->blob_number_at))
		return 0;
	identity = runtime_hash(runtime_hash(identity, head[0]), head[1]);
	*ret_identity = runtime_hash(runtime_hash(identity, name), number & 0xffffffff);
	return 1;
}
