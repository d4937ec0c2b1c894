/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes a profile as a batch for ClickHouse: the rows of inserts (pilotlight/clickhouse_batch.h)
 * into the tables of pilotlight/clickhouse_schema.h, in RowBinary, and before them an identity, by
 * which a server can be asked whether the batch is there already. Names, locations and stacks come
 * before the samples: if the inserts end early, nothing refers to rows that are not there, and
 * nothing is counted.
 *
 * gzip compresses the bodies. It also lets the server refuse a body that was cut off: the server
 * would insert the first rows of one without compression. The same profile gives the same bytes,
 * and so the same block, which a server inserts once as long as it remembers it. That needs no
 * token of insert_deduplication_token, which early servers refuse to hear of.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"
#include "export/pprof.h"

#include <stdint.h>

struct clickhouse_options {
	enum pprof_labels labels; /* PPROF_LABELS_SERVICE: without those of threads */
	const char *host;
	const char *attributes; /* as those of otlp_write(); NULL: none */
	double weight;		/* 1 / the share of hosts that push */
};

/* Of an insert, compressed, which is held in memory; and of samples, which must be one block. */
enum { CLICKHOUSE_BODY_BYTES_MAX = 64 << 20, CLICKHOUSE_ROWS_MAX = 1000000 };
/* Rows of spans for each stack of a thread, on average: who makes up ids multiplies no rows. */
enum { CLICKHOUSE_SPANS_OF_STACK = 8 };

/*
 * Needs the memory of pprof_write() besides, and 8 bytes for each location and stack of the
 * profile. Does not flush `output`. Returns 0, -ENOMEM, -E2BIG, or the first error of `output`.
 */
int clickhouse_write(const struct profile *profile, const struct clickhouse_options *options,
	struct output *output);
