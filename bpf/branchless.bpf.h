/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Comparison without a branch, for searches. A branch in each step would be mispredicted half the
 * time. The verifier would follow both ways of each, which was most of the cost of loading.
 */
#pragma once

#include <linux/types.h>

/* 1 if a <= b, else 0, for numbers below 2^63. The asm keeps the compiler from making a branch. */
static __always_inline __u32 is_at_most(__u64 a, __u64 b)
{
	__u64 difference = a - b - 1;

	__asm__ volatile("" : "+r"(difference));
	return difference >> 63;
}

/* 1 if a == b, else 0, for numbers below 2^63. */
static __always_inline __u32 are_equal(__u64 a, __u64 b)
{
	__u64 difference = (a ^ b) - 1;

	__asm__ volatile("" : "+r"(difference));
	return difference >> 63;
}
