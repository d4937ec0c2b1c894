/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers the source lines of a profile's frames by (path, line), independent of the order in which
 * the profile was filled. In an inlined chain, the place of an outer frame is the line of the
 * inlined call. Memory: 4 bytes a frame and 16 a distinct place; none if no frame has a place.
 * Read-only once built; the caller of frame_places_new() owns the result and the profile owns the
 * paths.
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

/* "encoder.c:200", or "encoder.c" if the line is unknown. Returns `text`. */
const char *frame_place_format(const struct profile *profile, const struct frame_place *place,
	char text[FRAME_PLACE_BYTES]);
