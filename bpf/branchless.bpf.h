/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comparing without a branch, for searches: each step's would be mispredicted half the time, and
 * the verifier follows both ways of each, which is most of what loading the program costs.
 */
#pragma once

#include <linux/types.h>

/* 1: a <= b; else 0. For numbers below 2^63. The compiler must not see what it is. */
static __always_inline __u32 is_at_most(__u64 a, __u64 b)
{
	__u64 difference = a - b - 1;

	__asm__ volatile("" : "+r"(difference));
	return difference >> 63;
}
