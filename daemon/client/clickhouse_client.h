/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sends queries to a ClickHouse server over HTTP, one after another. Each answer is held whole,
 * within a bound: the server finishes a query before it begins to answer, so an error never hides
 * behind rows. One thread.
 */
#pragma once

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clickhouse_client;

struct clickhouse_server {
	const char *url;	     /* http:// or https://, without user and query */
	const char *user, *password; /* NULL: none */
	/* Paths; NULL: the system's certificates, and none of our own. */
	const char *ca_file, *certificate_file, *key_file;
};

/* A table that a query can name, sent with it: `columns` as "id UInt64", its rows as RowBinary. */
struct clickhouse_table {
	const char *name, *columns;
	const void *rows;
	size_t bytes;
};

struct clickhouse_answer {
	uint8_t *bytes; /* owned */
	size_t size, capacity;
};

static inline void clickhouse_answer_done(struct clickhouse_answer *answer)
{
	free(answer->bytes);
	*answer = (struct clickhouse_answer){ 0 };
}

/* Returns 0, -ENOMEM, or -E2BIG beyond `limit`. */
int clickhouse_answer_append(
	struct clickhouse_answer *answer, const void *bytes, size_t size, size_t limit);

/*
 * Copies what `server` has. `answer_bytes_max` bounds each answer. Returns 0; or with a fault
 * -EINVAL for a URL that is none, -ENOMEM, -ELIBACC or -ELIBBAD.
 */
int clickhouse_client_new(const struct clickhouse_server *server, size_t answer_bytes_max,
	unsigned timeout_s, struct clickhouse_client **ret_client, struct fault *fault);
void clickhouse_client_free(struct clickhouse_client *client);
DEFINE_CLEANUP(struct clickhouse_client, clickhouse_client_free);

/*
 * `table` may be NULL. Returns 0 and the answer, which the caller releases; or a negative errno
 * with a fault that names the server and a remedy: -ENOMEM, -E2BIG an answer beyond the bound,
 * -ETIMEDOUT, -EIO no connection or a broken one, -EREMOTEIO the server refuses.
 */
int clickhouse_client_query(struct clickhouse_client *client, const char *sql,
	const struct clickhouse_table *table, struct clickhouse_answer *ret_answer,
	struct fault *fault);

/* Sends `rows` with `sql`, which ends with their format: "INSERT INTO x FORMAT RowBinary". Returns
 * 0 or an error of the above, with a fault. */
int clickhouse_client_insert(struct clickhouse_client *client, const char *sql, const void *rows,
	size_t bytes, struct fault *fault);
