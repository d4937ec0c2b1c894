/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leaves out the frames that no code is in. */
#pragma once

#include "base/scratch.h"

/*
 * Keeps of `frames` (struct pilotlight_symbol_frame, parents before their children, [0] none) those
 * that `boundaries` name, and their callers, in their order; and gives the boundaries their new
 * ids. Linear, whatever the frames. Errors of the scratch.
 */
int frame_selection_run(
	struct scratch *scratch, struct scratch_array *frames, struct scratch_array *boundaries);
