/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How much a user may take of what all users share in a period. The first user gets two thirds, and
 * each further user gets two thirds of the rest. So no user can take all. Compiles for the host,
 * too.
 */
#pragma once

#include <linux/types.h>

enum { RUNTIME_USER_PLACE_BITS = 6 };

struct runtime_use {
	__u32 period; /* an older one: nothing is in use */
	__u32 amount;
};

struct runtime_shares {
	struct runtime_use all;
	struct runtime_use users[1 << RUNTIME_USER_PLACE_BITS]; /* some share a place */
};

static __always_inline __u32 runtime_used(const struct runtime_use *use, __u32 period)
{
	return use->period == period ? use->amount : 0;
}

static __always_inline struct runtime_use *runtime_user(struct runtime_shares *shares, __u32 user)
{
	return &shares->users[(user * 0x9e3779b1U) >> (32 - RUNTIME_USER_PLACE_BITS)];
}

static __always_inline int runtime_is_too_much(__u32 held, __u32 all, __u32 amount, __u32 most)
{
	return all + amount > most || held / 2 >= most - all;
}

/* May the user take `amount` of `most`? */
static __always_inline int runtime_may_take(
	struct runtime_shares *shares, __u32 user, __u32 period, __u32 amount, __u32 most)
{
	return !runtime_is_too_much(runtime_used(runtime_user(shares, user), period),
		runtime_used(&shares->all, period), amount, most);
}

/* Takes it. Returns 0 if that is too much for the user. Interrupts and other CPUs may take some at
 * the same moment, which is not counted then. */
static __always_inline int runtime_take(
	struct runtime_shares *shares, __u32 user, __u32 period, __u32 amount, __u32 most)
{
	struct runtime_use *own = runtime_user(shares, user);
	__u32 held = runtime_used(own, period), all = runtime_used(&shares->all, period);

	if (runtime_is_too_much(held, all, amount, most))
		return 0;
	*own = (struct runtime_use){ period, held + amount };
	shares->all = (struct runtime_use){ period, all + amount };
	return 1;
}

/* What users share, and how much of it there is in the period. */
struct runtime_part {
	struct runtime_shares *shares;
	__u32 period, most;
};

enum runtime_taken { RUNTIME_TAKEN, RUNTIME_FIRST_SPENT, RUNTIME_SECOND_SPENT };

/* Takes the amount of both, or of neither: what one refuses is left to others in the other one. */
static __always_inline enum runtime_taken runtime_take_both(const struct runtime_part *first,
	const struct runtime_part *second, __u32 user, __u32 amount)
{
	if (!runtime_may_take(first->shares, user, first->period, amount, first->most))
		return RUNTIME_FIRST_SPENT;
	if (!runtime_take(second->shares, user, second->period, amount, second->most))
		return RUNTIME_SECOND_SPENT;
	return runtime_take(first->shares, user, first->period, amount, first->most)
		       ? RUNTIME_TAKEN
		       : RUNTIME_FIRST_SPENT;
}
