/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Leaves out of an insert the rows that the receiver has. */
#pragma once

#include "base/output.h"
#include "send/clickhouse_requests.h"
#include "send/known_rows.h"

#include <stddef.h>
#include <stdint.h>

struct new_rows {
	struct output_memory body; /* compressed by gzip */
	uint64_t *hashes;	   /* owned; of the rows in it */
	size_t count, capacity;
};

void new_rows_done(struct new_rows *rows);

/*
 * Reads the rows of an insert into names, locations or stacks from its batch, `fd`, and takes those
 * that are not known to be at `url`. Returns 0; or -errno, and the caller sends the body as it is:
 * it is too large, or not of such rows.
 */
int new_rows_take(struct new_rows *rows, const struct clickhouse_request *request, int fd,
	const char *url, struct known_rows *known);
/* The insert was confirmed. */
void new_rows_note(const struct new_rows *rows, struct known_rows *known);
