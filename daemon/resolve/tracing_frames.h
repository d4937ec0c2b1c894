/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames by which the kernel calls our own program at an event. A sample of CPU time has none:
 * there the interrupt begins a stack of its own. In other samples they are the leaf, and they
 * change while other tracers come and go.
 */
#pragma once

#include "resolve/resolver.h"

#include <stddef.h>

/* How many of the last frames they are. `frames` are root first. */
size_t tracing_frames_count(const struct resolved_frame *frames, size_t count);
