/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Remembers which code objects have been copied: a copy is made when an object is first seen, and
 * later samples name it by its hash. An object is known by its address space, its address, and a
 * check of what it says, so one that takes the place of another is noticed. The place of an entry
 * follows from a hash; if four other objects take it, that costs one more copy. Compiles for the
 * host, too.
 */
#pragma once

#include "runtime_walk.bpf.h"

enum {
	RUNTIME_KNOWN_WAYS = 4,
	RUNTIME_RECENT = 8, /* a power of two */
};

/*
 * An interrupt or another CPU may read and write between two words of an entry. So the seal covers
 * all that an entry says, and an entry of two halves is that of no object.
 */
struct runtime_known_way {
	__u64 seal;
	__u64 hash; /* as in struct pilotlight_runtime_code */
};

/* The last one is first. */
struct runtime_known {
	struct runtime_known_way ways[RUNTIME_KNOWN_WAYS];
};

/* The index of the entries that the step's code object has or may get, of 2^shift. `owner`
 * identifies the address space, also over time. */
static __always_inline __u32 runtime_known_place(
	__u64 owner, const struct runtime_step *step, __u32 shift)
{
	return runtime_hash_two(owner, step->code, step->check) >> (64 - shift);
}

static __always_inline __u64 runtime_seal(__u64 owner, const struct runtime_step *step, __u64 hash)
{
	/* No entry of zeros has a seal. */
	return runtime_hash(runtime_hash_two(owner, step->code, step->check), hash) | 1;
}

/* Is the step's code object known? Then this is its hash. */
static __always_inline int runtime_is_known(const struct runtime_known *known, __u64 owner,
	const struct runtime_step *step, __u64 *hash)
{
	for (__u32 i = 0; i < RUNTIME_KNOWN_WAYS; i++) {
		const volatile struct runtime_known_way *way = &known->ways[i];

		*hash = way->hash;
		if (way->seal == runtime_seal(owner, step, *hash))
			return 1;
	}
	return 0;
}

/* The entry of the step's code object among those that one walker has met lately. */
static __always_inline struct runtime_known_way *runtime_recent(
	struct runtime_known_way recent[RUNTIME_RECENT], const struct runtime_step *step)
{
	__u32 at = (__u32)(runtime_hash(0, step->code) >> 32) & (RUNTIME_RECENT - 1);

	__asm__ volatile("" : "+r"(at));
	return &recent[at & (RUNTIME_RECENT - 1)];
}

static __always_inline int runtime_is_way(
	const struct runtime_known_way *way, __u64 owner, const struct runtime_step *step)
{
	return way->seal == runtime_seal(owner, step, way->hash);
}

/* Call it after the copy was sent. It replaces an older entry of the same object. */
static __always_inline void runtime_remember(struct runtime_known *known,
	struct runtime_known_way recent[RUNTIME_RECENT], __u64 owner,
	const struct runtime_step *step, __u64 hash)
{
	struct runtime_known_way way = { runtime_seal(owner, step, hash), hash }, next;

	*runtime_recent(recent, step) = way;
	for (__u32 i = 0; i < RUNTIME_KNOWN_WAYS; i++) {
		next = known->ways[i];
		known->ways[i] = way;
		if (runtime_is_way(&next, owner, step))
			break;
		way = next;
	}
}
