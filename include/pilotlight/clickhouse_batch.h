/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A batch for ClickHouse, as it lies in the folder of a sink: the requests that insert it, in their
 * order. A query process writes it (export/clickhouse.h), and another process sends it, maybe after
 * a restart (send/clickhouse_requests.h).
 *
 * After the header comes each request: its own header, then the body, compressed by gzip; none are
 * sent that have no body. The first has a question as its body, whose answer is a number: other
 * than 0 if the batch is there already. The others are rows of the tables names, locations, stacks
 * and samples (pilotlight/clickhouse_schema.h), which the sender inserts: its file chooses no query
 * that writes. The samples come last, so the batch is there if they are.
 */
#pragma once

#include <stdint.h>

#define PILOTLIGHT_CLICKHOUSE_BATCH_MAGIC 0x4553554f48434c50ULL /* "PLCHOUSE" */

enum {
	PILOTLIGHT_CLICKHOUSE_BATCH_VERSION = 2,
	PILOTLIGHT_CLICKHOUSE_REQUESTS = 5,
};

struct pilotlight_clickhouse_batch {
	uint64_t magic;
	uint32_t version;
	uint32_t padding;
};

struct pilotlight_clickhouse_request {
	uint64_t body_bytes;
};

_Static_assert(sizeof(struct pilotlight_clickhouse_batch) == 16, "batch");
_Static_assert(sizeof(struct pilotlight_clickhouse_request) == 8, "request");
