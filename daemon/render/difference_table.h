/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the functions of two profiles as plain text, sorted by the change of their share, the
 * greatest first. Header lines begin with '#' and give, for each profile, what was measured, when,
 * and the losses (I1). Shares are in per cent of the difference's wholes, changes in percentage
 * points.
 *
 * A function is identified by its name and the base name of its binary, since a new build may be
 * installed elsewhere. The shares of functions with the same identity are added up.
 */
#pragma once

#include "base/output.h"
#include "query/profile_difference.h"

struct difference_table_options {
	/* Of the profiles, in the header; NULL: "base" and "compared"; any bytes will do. */
	const char *names[DIFFERENCE_SIDE_COUNT];
	size_t functions_max; /* 0: all whose self or total changed by 0.01 points at least */
	bool by_total;	      /* sorted by the change of the total, else by that of self */
	bool by_line; /* each line of a function is a row, a line that has moved counts as new */
};

/* Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report. */
int difference_table_write(const struct profile_difference *difference,
	const struct difference_table_options *options, struct output *output);
