/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Starts the query process that makes a batch, with the sink's parameters. */
#pragma once

#include "push/batch_name.h"
#include "push/late_names.h"
#include "push/push.h"

struct answer_job;

/* `late_names` are those of earlier batches, for types that have some. Returns 0, -ENOMEM, or
 * -errno of starting the process. */
int batch_job_start(const struct push_options *push, const struct push_sink_options *sink,
	const struct batch *batch, const struct late_names *late_names,
	struct answer_job **ret_job);
