/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the functions of a profile as plain text, sorted by self samples, the greatest first.
 * Header lines begin with '#' and give what was measured, when, and the accounts (I1). Shares are
 * of the samples stored. By line, each line of a function is a separate row.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"

struct table_options {
	size_t functions_max; /* 0: all whose total is 0.01 % at least */
	bool by_line;
};

/* Returns 0, -ENOMEM or -E2BIG; errors of the output are output_finish()'s to report. */
int table_write(
	const struct profile *profile, const struct table_options *options, struct output *output);
