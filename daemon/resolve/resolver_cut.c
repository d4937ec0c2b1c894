/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/resolver_cut.h"

static const struct {
	const char *name;
	const char *frame;
} cuts[] = {
	[RESOLVER_CUT_NONE] = { "whole", NULL },
	[RESOLVER_CUT_GARBAGE] = { "no code there", "[truncated: no code there]" },
	[RESOLVER_CUT_DEPTH] = { "depth", "[truncated: depth]" },
	[RESOLVER_CUT_UNKNOWN] = { "unknown process", "[unknown]" },
	[RESOLVER_CUT_FULL] = { "too many binaries", "[truncated: too many binaries]" },
	[RESOLVER_CUT_NO_TABLE] = { "no unwind table", "[truncated: no unwind table]" },
	[RESOLVER_CUT_NO_FUNCTION] = { "no unwind rule", "[truncated: no unwind rule]" },
	[RESOLVER_CUT_UNREADABLE] = { "stack unreadable", "[truncated: stack unreadable]" },
	[RESOLVER_CUT_UNSUPPORTED] = { "unsupported rule", "[truncated: unsupported rule]" },
	[RESOLVER_CUT_LOOPED] = { "stack loops", "[truncated: stack loops]" },
	[RESOLVER_CUT_NO_FRAME_POINTER] = { "JIT code without frame pointer",
		"[truncated: JIT code without frame pointer]" },
	[RESOLVER_CUT_BLOCKED] = { "still blocked", "[truncated: still blocked]" },
	[RESOLVER_CUT_MISSING] = { "stack missing", "[truncated: stack missing]" },
};

const char *resolver_cut_name(enum resolver_cut cut)
{
	return cuts[cut].name;
}

const char *resolver_cut_frame(enum resolver_cut cut)
{
	return cuts[cut].frame;
}

enum resolver_cut resolver_cut_of(enum pilotlight_walk_end end)
{
	switch (end) {
	case PILOTLIGHT_WALK_ROOT:
		return RESOLVER_CUT_NONE;
	case PILOTLIGHT_WALK_NO_TABLE:
		return RESOLVER_CUT_NO_TABLE;
	case PILOTLIGHT_WALK_NO_FUNCTION:
		return RESOLVER_CUT_NO_FUNCTION;
	case PILOTLIGHT_WALK_UNREADABLE:
		return RESOLVER_CUT_UNREADABLE;
	case PILOTLIGHT_WALK_UNSUPPORTED:
		return RESOLVER_CUT_UNSUPPORTED;
	case PILOTLIGHT_WALK_NO_CODE:
		return RESOLVER_CUT_GARBAGE;
	case PILOTLIGHT_WALK_LOOPED:
		return RESOLVER_CUT_LOOPED;
	case PILOTLIGHT_WALK_DEEP:
		return RESOLVER_CUT_DEPTH;
	case PILOTLIGHT_WALK_NO_FRAME_POINTER:
		return RESOLVER_CUT_NO_FRAME_POINTER;
	case PILOTLIGHT_WALK_BLOCKED:
		return RESOLVER_CUT_BLOCKED;
	case PILOTLIGHT_WALK_ENDS:
		break;
	}
	return RESOLVER_CUT_MISSING;
}
