/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places in the source that a profile's frames are at, as numbers that sort by (path, line) and
 * do not depend on the order in which the profile was filled. For the frames of an inlined chain
 * but the innermost it is where the next was called. Memory: 4 bytes a frame and 16 a distinct
 * place; nothing where no frame has one. Read-only once built; owned by whoever called
 * frame_places_new(); paths are the profile's.
 */
#pragma once

#include "render/frame_labels.h"

struct frame_place {
	uint32_t file; /* string of the profile, never 0 */
	uint32_t line; /* 0: unknown */
};

struct frame_places {
	struct frame_place *items; /* in their order */
	size_t count, capacity;
	uint32_t *chain; /* parallel to that of the labels; FRAME_NONE: unknown. NULL: count is 0 */
};

/* Returns 0, -ENOMEM, or -E2BIG when there are more than 2^32 places. */
int frame_places_new(const struct profile *profile, const struct frame_labels *labels,
	struct frame_places **ret_places);
void frame_places_free(struct frame_places *places);
DEFINE_CLEANUP(struct frame_places, frame_places_free);

enum { FRAME_PLACE_BYTES = 1040 }; /* the longest pooled string, ":", 10 digits and a NUL */

/* "encoder.c:200", or "encoder.c" where the line is not known. Returns `text`. */
const char *frame_place_format(const struct profile *profile, const struct frame_place *place,
	char text[FRAME_PLACE_BYTES]);
