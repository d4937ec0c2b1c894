/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How far a walk goes. A frame costs 0.1 µs, but six times as much if a hostile program spreads its
 * stack and its code over as many pages as it has frames. So the frames beyond the first
 * PILOTLIGHT_WALK_CUT_DEPTH also have a bound of time. A stack that is cut at a bound keeps only
 * those first ones: without its root it would not merge with others, and fill the ring, the profile
 * and the history.
 *
 * The includer defines walk_clock_ns(). Compiles for the host, too.
 */
#pragma once

#include "walk_state.bpf.h"

static __always_inline __u64 walk_clock_ns(void);

enum {
	WALK_TIMED_FRAMES = 64, /* between two looks at the clock; a power of two */
	WALK_DEEP_NS_MAX = 200 * 1000,
};
_Static_assert((int)REMEMBERED_FRAMES <= (int)PILOTLIGHT_WALK_CUT_DEPTH,
	"deeper frames are appended one by one, so that none is missed here");

/* Must the walk end before its next frame? */
static __always_inline int is_too_deep(struct walk *walk)
{
	__u32 count = walk->record.count;

	if (count < PILOTLIGHT_WALK_CUT_DEPTH || (count & (WALK_TIMED_FRAMES - 1)))
		return count >= PILOTLIGHT_WALK_DEPTH;
	if (count == PILOTLIGHT_WALK_CUT_DEPTH) {
		walk->cut_hash = walk->record.hash;
		walk->cut_ns = walk_clock_ns();
		return 0;
	}
	return walk_clock_ns() - walk->cut_ns > WALK_DEEP_NS_MAX;
}

/* The walk has ended at a bound. */
static __always_inline void cut_walk(struct walk *walk)
{
	if (walk->record.count <= PILOTLIGHT_WALK_CUT_DEPTH)
		return;
	walk->record.count = PILOTLIGHT_WALK_CUT_DEPTH;
	walk->record.hash = walk->cut_hash;
}
