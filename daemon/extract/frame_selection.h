/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Removes the frames that contain no code. */
#pragma once

#include "base/scratch.h"

/*
 * Keeps those of `frames` (struct pilotlight_symbol_frame, parents before children, [0] unused)
 * that `boundaries` name, and their callers, in order. Updates the ids in the boundaries. Time is
 * linear. Errors of the scratch.
 */
int frame_selection_run(
	struct scratch *scratch, struct scratch_array *frames, struct scratch_array *boundaries);
