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
	CLICKHOUSE_IDENTITY, /* is none */
	CLICKHOUSE_NAMES,
	CLICKHOUSE_LOCATIONS,
	CLICKHOUSE_STACKS,
	CLICKHOUSE_SPANS,
	CLICKHOUSE_SAMPLES,
};

/* A hexadecimal digit for each half of a byte, and the rest. */
enum { CLICKHOUSE_QUESTION_BYTES = 2 * PILOTLIGHT_CLICKHOUSE_IDENTITY_BYTES_MAX + 512 };

struct clickhouse_requests {
	int fd; /* borrowed */
	uint64_t at, bytes;
	uint32_t version;
	unsigned count; /* that were read, or that its version has not */
};

struct clickhouse_request {
	enum clickhouse_insert insert;
	const char *query; /* of an insert; NULL: the body is the batch's identity */
	uint64_t body_at, body_bytes;
};

/* Begins with a batch of `bytes`. Returns 0, -EBADMSG it is none, or -errno. */
int clickhouse_requests_open(struct clickhouse_requests *requests, int fd, uint64_t bytes);
/* Returns 0; -ENOENT there are no more; -EBADMSG it is damaged; or -errno. */
int clickhouse_requests_next(
	struct clickhouse_requests *requests, struct clickhouse_request *ret_request);

/*
 * Makes the query that asks whether a batch of this identity is there, whose answer is a number:
 * other than 0 if it is. Returns 0; -EBADMSG the identity is damaged; or -errno.
 */
int clickhouse_requests_question(const struct clickhouse_requests *requests,
	const struct clickhouse_request *identity, char ret_query[CLICKHOUSE_QUESTION_BYTES]);
