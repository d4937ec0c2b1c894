/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions of a profile as plain text, the one with the most samples of its own first, under
 * header lines that begin with '#': what was measured, when, and the accounts (I1). Shares are of
 * the samples stored. By line, each line of a function is a row of its own.
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
