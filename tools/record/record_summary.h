/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a recording saw, in six lines that begin with a key: samples, lost, processes, functions,
 * symbols, cost. */
#pragma once

#include "engine/pipeline.h"

#include <stdio.h>

struct record_cost {
	uint64_t cpu_ns;	 /* user and system, start-up included */
	uint64_t peak_rss_bytes; /* at most */
};

/* Of this process, and of those of its children that it has waited for: the time of all, the memory
 * of the greatest. */
void record_cost_read(struct record_cost *ret_cost);

/* Returns 0 or -ENOMEM. */
int record_summary_print(FILE *file, const struct profile *profile,
	const struct pipeline_report *report, const struct record_cost *cost);
