/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which block device a sample of block I/O is of, as a frame above those of the kernel:
 * "[block: vda]". One owner, one thread.
 */
#pragma once

#include "drain/drain.h"

#include <stddef.h>

enum { BLOCK_FRAME_BYTES = PILOTLIGHT_BLOCK_NAME_BYTES + 16 };

/*
 * Writes the frame of a sample. Its disk's name is in the map `block_disks`. Returns `text`, or
 * NULL if the sample is of another source.
 */
const char *block_frame_of(
	const struct raw_sample *sample, int block_disks_fd, char text[BLOCK_FRAME_BYTES]);
