/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `pilotlight top` lists, as lines of fields with tabs between them; names have none:
 *
 *	S SAMPLES LOST
 *	T SAMPLES NAME				the threads of a name, the greatest first
 *	F SELF TOTAL UNIT PROCESS BINARY FRAME	a function, the greatest self first
 *
 * Unit and process (the name of the thread) are those with most of the function's own samples, and
 * empty if it has none. FRAME is as in folded.h, but for ';', and BINARY has no folder. A reader
 * ignores lines that begin otherwise.
 */
#pragma once

#include "base/output.h"
#include "render/frame_labels.h"

/*
 * `rows_max`: so many functions at most; 0: no limit. Returns 0, -ENOMEM or -E2BIG; errors of the
 * output are output_finish()'s to report.
 */
int top_table_write(const struct profile *profile, enum frame_detail detail, size_t rows_max,
	struct output *output);
