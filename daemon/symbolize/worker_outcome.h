/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes a job's result from the worker's end. The worker's report may be forged (I8). */
#pragma once

#include "child/child_process.h"
#include "symbolize/worker_pool.h"

/* Exit status without a report: libiberty's demangler calls xmalloc(), which exits when memory
 * runs out. */
enum { WORKER_EXIT_NO_MEMORY = 1 };

/* Fills all fields except the context. */
void worker_outcome(const struct child_process_end *end,
	const struct pilotlight_symbol_request *request, int output_fd, uint64_t output_bytes_max,
	struct worker_result *ret_result);
