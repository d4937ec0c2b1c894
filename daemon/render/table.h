/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the functions of a profile as plain text, sorted by self samples, the greatest first.
 * Header lines begin with '#' and give what was measured, when, and the accounts (I1). Shares are
 * of the samples stored. Functions with a total below 0.01 % are left out. By line, each line of a
 * function is a separate row.
 */
#pragma once

#include "base/output.h"
#include "render/frame_labels.h"

/*
 * `rows_max`: list so many at most; 0: no limit. Returns 0, -ENOMEM or -E2BIG; errors of the output
 * are output_finish()'s to report.
 */
int table_write(const struct profile *profile, enum frame_detail detail, size_t rows_max,
	struct output *output);
