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

/* In words of 4 bytes, so that three methods are in the first cache line. */
struct hotspot_seen_method {
	__u32 unit;
	__u32 code, code_high;
};

/*
 * An interrupt may read and write between two words of an entry. So the seal covers all that an
 * entry says, and an entry of two halves is that of no frame.
 */
struct hotspot_seen {
	__u64 seal;
	__u64 block;
	__u32 count;						  /* 0: the entry is empty */
	struct hotspot_seen_method methods[HOTSPOT_SEEN_METHODS]; /* innermost first */
};
_Static_assert(sizeof(struct hotspot_seen) == 128, "two cache lines");

/* The time that a sample may take: `usual`, and the overtime that others have not used, but no
 * more than `most`. */
static __always_inline __u64 hotspot_ns_max(
	__u64 usual, __u64 most, __u64 overtime, __u64 overtime_max)
{
	__u64 allowed = usual + (overtime < overtime_max ? overtime_max - overtime : 0);

	return allowed < most ? allowed : most;
}

/* The overtime that is used once a sample has taken `taken`; a short sample gives some back. It has
 * a bound, as the clock goes on while a virtual machine does not run. */
static __always_inline __u64 hotspot_overtime(
	__u64 overtime, __u64 overtime_max, __u64 usual, __u64 taken)
{
	__u64 left = overtime + taken > usual ? overtime + taken - usual : 0;

	return left < overtime_max ? left : overtime_max;
}

/* What a frame is looked up by. */
struct hotspot_seen_key {
	__u64 hash; /* of the frame and of the process, also over time */
	__u64 epoch;
};

static __always_inline __u32 hotspot_seen_place(const struct hotspot_seen_key *key)
{
	return key->hash >> (64 - HOTSPOT_SEEN_SHIFT);
}

/* The hash of an entry's methods: from hotspot_begin_methods(), with one method after the other. */
static __always_inline __u64 hotspot_begin_methods(__u32 count)
{
	return count;
}

static __always_inline __u64 hotspot_hash_method(__u64 hash, __u64 code, __u32 unit)
{
	return runtime_hash(hash ^ (__u64)unit << 32, code);
}

/* Odd numbers. The CPU multiplies by several of them at a time. */
#define HOTSPOT_FACTOR_1 0x9e3779b97f4a7c15ULL
#define HOTSPOT_FACTOR_2 0xc2b2ae3d27d4eb4fULL
#define HOTSPOT_FACTOR_3 0x165667b19e3779f9ULL
#define HOTSPOT_FACTOR_4 0xd6e8feb86659fd93ULL
#define HOTSPOT_FACTOR_5 0xa0761d6478bd642fULL

/* `methods`: their hash. */
static __always_inline __u64 hotspot_seen_seal(
	const struct hotspot_seen_key *key, __u64 block, __u64 identity, __u64 methods)
{
	return runtime_hash(key->hash ^ key->epoch * HOTSPOT_FACTOR_2 ^ block * HOTSPOT_FACTOR_3 ^
				    methods * HOTSPOT_FACTOR_4,
		identity);
}

/*
 * Reads what identifies the code in the block: its head, with the length and whether it is in use;
 * the name, which tells compiled methods from stubs; and the number. One read costs less than
 * three. Returns 0 if it cannot be read.
 */
static __always_inline int hotspot_read_identity(struct hotspot_blob *blob,
	const struct pilotlight_runtime_hotspot *runtime, __u64 block, __u64 *ret_identity)
{
	__u32 at = runtime->block_bytes;
	__u64 words = (at + (__u64)runtime->blob_number_at) / HOTSPOT_WORD + 1;

	/* Linux 6.1 wants the bound of this very register. */
	__asm__ volatile("" : "+r"(words));
	if (!block || words > HOTSPOT_WORDS || !can_read_own_user(blob->words, (__u32)words, block))
		return 0;
	*ret_identity =
		hotspot_word(blob, 0) * HOTSPOT_FACTOR_1 ^
		hotspot_word(blob, HOTSPOT_WORD) * HOTSPOT_FACTOR_2 ^
		hotspot_word(blob, at + runtime->blob_name_at) * HOTSPOT_FACTOR_3 ^
		(__u64)hotspot_number(blob, at + runtime->blob_number_at) * HOTSPOT_FACTOR_5;
	return 1;
}
