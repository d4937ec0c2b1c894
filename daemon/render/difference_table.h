/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the functions of two profiles as plain text, sorted by the change of their own share, the
 * greatest first. Functions whose changes are within the error of sampling follow, those whose
 * shares changed by less than 0.01 points are left out. Header lines begin with '#': the first is a
 * sentence with the greatest changes, others give, for each profile, what was measured, when, and
 * the losses (I1). Shares are in per cent of the difference's wholes, changes in percentage points.
 *
 * A function is identified by its name and the base name of its binary, since a new build may be
 * installed elsewhere. The shares of functions with the same identity are added up.
 */
#pragma once

#include "base/output.h"
#include "query/profile_difference.h"
#include "render/frame_labels.h"

/*
 * `names` are those of the profiles, and may hold any bytes. By line, a line that has moved is new.
 * `rows_max`: list so many rows at most, and only changes beyond the error of sampling; 0: list
 * all. `ret_increase` is the greatest of these increases of a function's own share, in billionths.
 * Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report.
 */
int difference_table_write(const struct profile_difference *difference,
	const char *const names[DIFFERENCE_SIDE_COUNT], enum frame_detail detail, size_t rows_max,
	struct output *output, int64_t *ret_increase);
