/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A path of frames from the outermost one on, as the page names it in a question: for each frame
 * the hash of its label (frame_label_hash()) in hexadecimal, with dots between them. Names of C++
 * would make the question too long.
 */
#pragma once

#include "render/frame_labels.h"

#include <stdbool.h>

struct frame_path {
	uint32_t *labels; /* FRAME_NONE: the profile has no such label */
	size_t count;	  /* 0: no path */
};

bool frame_path_is_valid(const char *text);

/*
 * Finds the labels of a valid text. Of several labels with one hash it takes the first: then
 * another path than the one meant may be found. Returns 0 or -ENOMEM.
 */
int frame_path_find(
	const struct frame_labels *labels, const char *text, struct frame_path *ret_path);
void frame_path_done(struct frame_path *path);
