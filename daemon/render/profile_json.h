/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A profile as the page reads it (render/page.js): one JSON object (RFC 8259). Its members:
 *
 *   version      1
 *   title, event, event_title
 *   unit         of a period: "nanoseconds", "bytes" or "count"
 *   period       what a sample stands for, in the unit
 *   is_cpu       samples are told as numbers of samples
 *   cpus
 *   start, end   seconds since 1970, with three digits; covered: seconds without the gaps
 *   zone         seconds by which local time, as the title has it, is ahead of UTC
 *   stored, lost samples; elided: those of frames that were too small
 *   elided_count the number of those frames, without their descendants
 *   labels       [text, kind] of each; kind: a position in kinds
 *   kinds        "kernel", "executable", ...
 *   binaries     [path, build-id] of each; "": none
 *   files        paths of source files
 *   frames       parallel arrays, a frame each, in pre-order: label, depth (0: the root), total,
 *                self, binary (-1: none), file (-1: none), line (0: unknown)
 *
 * The frames are those of the flame graph (render/frame_walk.h). There are at most
 * PROFILE_JSON_FRAMES_MAX: the smallest are left out, and their samples counted. A user who zooms
 * asks for those below the zoomed frame.
 */
#pragma once

#include "base/output.h"
#include "render/frame_labels.h"

enum { PROFILE_JSON_FRAMES_MAX = 150000 };

struct profile_json_options {
	const char *title; /* NULL: "Flame graph" */
	enum frame_detail detail;
	size_t frames_max; /* a lower limit of frames; 0: none */
	const char *below; /* as that of struct frame_budget */
};

/* Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report. */
int profile_json_write(const struct profile *profile, const struct profile_json_options *options,
	struct output *output);
