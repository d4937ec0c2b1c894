/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of two profiles as plain text, the one whose share has changed most first, under
 * header lines that begin with '#': what was measured, when, and what was lost, of each (I1).
 * Shares are in per cent of the difference's wholes, changes in percentage points.
 *
 * A function is a name in a binary, and a binary is known by the base name of its path here, since
 * a new build may be installed elsewhere; of functions that are one then, the shares are added up.
 */
#pragma once

#include "base/output.h"
#include "query/profile_difference.h"

struct difference_table_options {
	/* Of the profiles, in the header; NULL: "base" and "compared"; any bytes will do. */
	const char *names[DIFFERENCE_SIDE_COUNT];
	size_t functions_max; /* 0: all whose self or total changed by 0.01 points at least */
	bool by_total;	      /* sorted by the change of the total, else by that of self */
	bool by_line;	      /* each line of a function is a row, new where it has moved */
};

/* Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report. */
int difference_table_write(const struct profile_difference *difference,
	const struct difference_table_options *options, struct output *output);
