/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A stack has both the frames of an interpreter's code and the native frames that run them: a frame
 * of the interpreter's loop, and above it, as its callees, the frames that this call of the loop
 * runs. Whoever shows a profile chooses: the history keeps both, so that this can be decided late.
 */
#pragma once

#include "aggregate/profile.h"

enum interpreted_frames {
	INTERPRETED_FRAMES_SPLICED, /* in place of the frame of the loop that runs them */
	INTERPRETED_FRAMES_BOTH,
	INTERPRETED_FRAMES_NATIVE, /* none */
	INTERPRETED_FRAMES_CHOICES,
};

/* "spliced", "both", "native": as users write them. */
extern const char *const interpreted_frames_names[INTERPRETED_FRAMES_CHOICES];

/* Returns false, with `ret_choice` untouched, if there is no such choice. */
bool interpreted_frames_find(const char *name, enum interpreted_frames *ret_choice);

/*
 * Leaves out what was not chosen, in place. Call it last: nodes that become the same stay two, and
 * profile_add_node() no longer finds all. Takes time in proportion to the nodes.
 */
void interpreted_frames_choose(struct profile *profile, enum interpreted_frames choice);
