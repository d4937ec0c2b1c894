/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the frames that the still picture does not draw, for the script: as JSON in the element
 * <metadata class="narrow">, {"looks":[LOOK,…],"frames":[STACKS,…]}.
 *
 * LOOK: ["NAME","CLASS",BINARY,"LINE",INLINED]; BINARY is as data-b, -1: none; LINE as data-l, with
 * ":+" at its end if there are several; INLINED is 1 or 0. The first look is of frames that were
 * left out of the file.
 *
 * STACKS: [PARENT,FRAME,…], a frame that is not drawn and all that stands on it, in pre-order.
 * PARENT counts the rectangles of drawn frames. FRAME is LOOK,LEVEL,SELF: LEVEL is 1 for the first.
 * A style adds numbers to each frame. A frame's total is the sum of SELF of what stands on it.
 */
#pragma once

#include "render/flamegraph_drawing.h"

/* Returns 0 or -ENOMEM. */
int flamegraph_narrow_write(struct flamegraph_drawing *drawing);
