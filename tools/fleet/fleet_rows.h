/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rows of a fleet that ClickHouse answers (pilotlight/clickhouse_schema.h), in RowBinary. They
 * come from three questions, each about what the one before it has named: samples; stacks and
 * their locations; names. Their bytes are hostile (I8).
 */
#pragma once

#include "client/clickhouse_client.h"
#include "client/row_binary.h"

/* The columns of each answer. */
struct fleet_rows {
	struct clickhouse_answer samples;   /* stack, comm, period, weight, sum(value) */
	struct clickhouse_answer stacks;    /* id, locations */
	struct clickhouse_answer locations; /* id, build_id, vaddr, kind, path */
	struct clickhouse_answer names;	    /* build_id, vaddr, functions, files, lines */
};

void fleet_rows_done(struct fleet_rows *rows);

struct row_reader fleet_rows_reader(const struct clickhouse_answer *answer);

struct fleet_sample_row {
	uint64_t stack;
	struct row_text comm;
	uint64_t period;
	double weight;
	uint64_t value;
};

struct fleet_location_row {
	struct row_text build_id;
	uint64_t vaddr;
	struct row_text kind, path;
};

/* The reader is broken by a period or a weight that cannot be. */
struct fleet_sample_row fleet_rows_read_sample(struct row_reader *reader);
/* Behind its id. */
struct fleet_location_row fleet_rows_read_location(struct row_reader *reader);

/*
 * What the next question is about: ids of stacks (UInt64), ids of locations (UInt64), and code
 * (build_id String, vaddr UInt64), as rows of a table. Return 0, -ENOMEM, or -EBADMSG: these are
 * no such rows.
 */
int fleet_rows_stack_ids(const struct fleet_rows *rows, struct clickhouse_answer *ret_ids);
int fleet_rows_location_ids(const struct fleet_rows *rows, struct clickhouse_answer *ret_ids);
int fleet_rows_code(const struct fleet_rows *rows, struct clickhouse_answer *ret_code);
