/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of an interpreter in a walked stack, while it is resolved. They come with the native
 * frames that run them: the resolver asks at each native frame, leaf first, and pushes the rest
 * behind the last one. A value object that borrows the sample.
 */
#pragma once

#include "resolve/resolver.h"

#include <stdbool.h>

struct interpreted_stack {
	const struct raw_sample *sample;
	const struct runtime_names *names;
	uint32_t binary; /* of the frames */
	/* Still to be pushed, innermost first. */
	const struct pilotlight_runtime_frame *frames;
	size_t count;
	/* So many of them come with the native frame `place`; SIZE_MAX: behind all. */
	size_t next, place;
	size_t room;	    /* for functions that have been put into others */
	size_t callers_end; /* native frames behind `place` up to here go with the last ones */
	bool is_lost;	    /* no frame can be shown, because there were too many */
};

/* There are none if `names` is NULL. */
void interpreted_stack_init(struct interpreted_stack *stack, const struct raw_sample *sample,
	const struct runtime_names *names, uint32_t binary);

/* Writes the next frames, leaf first: at most PILOTLIGHT_RUNTIME_FRAMES_MAX in all, and at the end
 * one that tells if the outermost are missing. Returns their number. */
size_t interpreted_stack_take(struct interpreted_stack *stack, struct resolved_frame *frames,
	struct resolver_counters *counters);
