/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What memory of the kernel a sample is of, as the last frame of its stack: "[kmalloc-64]",
 * "[dentry]", "[pages order 0]". One owner, one thread.
 */
#pragma once

#include "drain/drain.h"
#include "resolve/resolver.h"

#include <stdbool.h>
#include <stddef.h>

enum { KMEM_FRAME_BYTES = PILOTLIGHT_KMEM_NAME_BYTES + 2 };

/* Writes the frame of a kind; `cache_name` is that of a PILOTLIGHT_KMEM_CACHE. Returns `text`. */
const char *kmem_frame_text(uint16_t kind, const char *cache_name, char text[KMEM_FRAME_BYTES]);

/*
 * The same for a sample. Reads the name of a cache from the map `cache_names`. Returns `text`, or
 * NULL if the sample is of another source.
 */
const char *kmem_frame_of(
	const struct raw_sample *sample, int cache_names_fd, char text[KMEM_FRAME_BYTES]);

/*
 * Is the sample of pages that the slab allocator took? What is in them counts already. `frames` are
 * root first. A frame's name decides, as only the stack tells.
 */
bool kmem_frame_is_slab(
	const struct raw_sample *sample, const struct resolved_frame *frames, size_t count);
