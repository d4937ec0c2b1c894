/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A batch for ClickHouse, as it lies in the folder of a sink: the requests that insert it, in their
 * order. A query process writes it (export/clickhouse.h), and another process sends it, maybe after
 * a restart (send/clickhouse_requests.h).
 *
 * After the header comes each request: its own header, then the body; none are sent that have no
 * body. The first says how the sender can ask whether the batch is there already. The others are
 * rows of the tables names, locations, stacks, spans and samples (pilotlight/clickhouse_schema.h),
 * compressed by gzip. The sender has all queries, so no byte of a batch is SQL. The samples come
 * last, so the batch is there if they are. Version 3, which waits in a folder over an upgrade, has
 * no request of spans.
 */
#pragma once

#include <stdint.h>

#define PILOTLIGHT_CLICKHOUSE_BATCH_MAGIC 0x4553554f48434c50ULL /* "PLCHOUSE" */

enum {
	PILOTLIGHT_CLICKHOUSE_BATCH_VERSION = 4,
	PILOTLIGHT_CLICKHOUSE_BATCH_WITHOUT_SPANS = 3,
	PILOTLIGHT_CLICKHOUSE_REQUESTS = 6,
	PILOTLIGHT_CLICKHOUSE_IDENTITY_BYTES_MAX = 5 << 10,
};

struct pilotlight_clickhouse_batch {
	uint64_t magic;
	uint32_t version;
	uint32_t padding;
};

struct pilotlight_clickhouse_request {
	uint64_t body_bytes;
};

/*
 * The body of the first request: columns of the first row of samples. Texts follow, each with a NUL
 * at its end: type, service, host, and one of the labels, "" if there is none.
 */
struct pilotlight_clickhouse_identity {
	uint64_t duration_ns;
	uint32_t ts;
	uint32_t padding;
};

_Static_assert(sizeof(struct pilotlight_clickhouse_batch) == 16, "batch");
_Static_assert(sizeof(struct pilotlight_clickhouse_identity) == 16, "identity");
_Static_assert(sizeof(struct pilotlight_clickhouse_request) == 8, "request");
