/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The name of a batch: which time of which source it covers. The name is the batch's identity: the
 * same host never makes two batches whose times overlap for one source. Names sort by time:
 *
 *   20261126T141500.003123456Z_60001234567ns_offcpu.pb.gz
 */
#pragma once

#include "pilotlight/event.h"

#include <stdbool.h>
#include <stdint.h>

enum { BATCH_NAME_BYTES = 96, BATCH_ENDING_BYTES = 16 };

struct batch {
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME */
	enum pilotlight_source source;
};

bool batch_is_same(const struct batch *a, const struct batch *b);

/* `ending` is of at most BATCH_ENDING_BYTES, such as ".pb.gz". */
void batch_name_format(const struct batch *batch, const char *ending, char name[BATCH_NAME_BYTES]);

/* Returns 0, or -EINVAL unless batch_name_format() makes exactly this name with this ending. */
int batch_name_parse(const char *name, const char *ending, struct batch *ret_batch);
