/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The service's answer, on its way into a file that is there whole or not at all (output_file.h),
 * with a line on a terminal that tells what is waited for when it takes more than a second.
 */
#pragma once

#include "base/fault.h"

#include <stdbool.h>

struct history_answer {
	const char *socket_path;
	const char *target; /* encoded (client/query_text.h) */
	const char *path;   /* where to; "-": standard output */
	bool is_quiet;	    /* without that line */
};

/*
 * Asks and writes. The place is looked at before anything is asked. Returns 0 or -errno with
 * `fault`, -EPIPE without one: who read standard output has gone away.
 */
int history_answer_write(const struct history_answer *answer, struct fault *fault);
