/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the end of a worker means for its job. The worker may lie (I8). */
#pragma once

#include "child/child_process.h"
#include "symbolize/worker_pool.h"

/* Of a worker that ended without a report since libiberty, which has no other way, was out of
 * memory: demangling calls its xmalloc(). */
enum { WORKER_EXIT_NO_MEMORY = 1 };

/* Fills all but the context. An output of more than `output_bytes_max` is too big. */
void worker_outcome(const struct child_process_end *end,
	const struct pilotlight_symbol_request *request, int output_fd, uint64_t output_bytes_max,
	struct worker_result *ret_result);
