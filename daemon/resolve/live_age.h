/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long ago memory that lives was allocated, as the last frame of its stack: "[age 1 min to
 * 10 min]". What only lives for a moment is young in each window; a leak grows old. Few steps, of
 * about ten times the last one, so that a stack becomes few stacks (I4).
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { LIVE_AGES = 6 };

/* The step of an age, and its frame. */
size_t live_age_of(uint64_t age_ns);
const char *live_age_frame(size_t age);

/* The step of a frame; LIVE_AGES: it is another one. */
size_t live_age_find(const char *frame, size_t size);

/* What memory of a step has at least: "10 min"; and the same in seconds. */
const char *live_age_least(size_t age);
uint32_t live_age_least_s(size_t age);
