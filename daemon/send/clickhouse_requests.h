/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads the requests of a batch for ClickHouse (pilotlight/clickhouse_batch.h). Of a file that is
 * damaged nothing is read beyond the damage (I8).
 */
#pragma once

#include "pilotlight/clickhouse_batch.h"

#include <stdint.h>

/* In the order of a batch. */
enum clickhouse_insert {
	CLICKHOUSE_QUESTION, /* is none */
	CLICKHOUSE_NAMES,
	CLICKHOUSE_LOCATIONS,
	CLICKHOUSE_STACKS,
	CLICKHOUSE_SAMPLES,
};

struct clickhouse_requests {
	int fd; /* borrowed */
	uint64_t at, bytes;
	unsigned count; /* that were read */
};

struct clickhouse_request {
	enum clickhouse_insert insert;
	const char *query; /* of an insert; NULL: the body is a question */
	uint64_t body_at, body_bytes;
};

/* Begins with a batch of `bytes`. Returns 0, -EBADMSG it is none, or -errno. */
int clickhouse_requests_open(struct clickhouse_requests *requests, int fd, uint64_t bytes);
/* Returns 0; -ENOENT there are no more; -EBADMSG it is damaged; or -errno. */
int clickhouse_requests_next(
	struct clickhouse_requests *requests, struct clickhouse_request *ret_request);
