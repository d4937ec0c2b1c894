/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Remembers which code objects have been copied: a copy is made when an object is first seen, and
 * later samples name it by its hash. An object is known by its address space, its address, and a
 * check of its fields, so one that takes the place of another is noticed. The place of an entry
 * follows from a hash; another object may take it, which costs one more copy. Compiles for the
 * host, too.
 */
#pragma once

#include "runtime_walk.bpf.h"

enum { RUNTIME_KNOWN_SHIFT = 9, RUNTIME_KNOWN = 1 << RUNTIME_KNOWN_SHIFT };

struct runtime_known {
	__u64 owner; /* identifies the address space, also over time; not 0 */
	__u64 code, check;
	__u64 hash; /* as in struct pilotlight_runtime_code */
};

/* The index of the entry that the step's code object has or may get. */
static __always_inline __u32 runtime_known_place(__u64 owner, const struct runtime_step *step)
{
	return runtime_hash(owner, step->code) >> (64 - RUNTIME_KNOWN_SHIFT);
}

/* Is it the step's code object? Then its hash is known. */
static __always_inline int runtime_is_known(
	const struct runtime_known *known, __u64 owner, const struct runtime_step *step)
{
	return known->owner == owner && known->code == step->code && known->check == step->check;
}

/* After the copy has been sent. An interrupt may look between the writes: it finds no owner. */
static __always_inline void runtime_remember(
	struct runtime_known *known, __u64 owner, const struct runtime_step *step, __u64 hash)
{
	volatile __u64 *valid = &known->owner;

	*valid = 0;
	__asm__ volatile("" ::: "memory");
	known->code = step->code;
	known->check = step->check;
	known->hash = hash;
	__asm__ volatile("" ::: "memory");
	*valid = owner;
}
