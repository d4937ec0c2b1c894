/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { WEIGHT_MAX = 1000000 };

void fleet_rows_done(struct fleet_rows *rows)
{
	clickhouse_answer_done(&rows->samples);
	clickhouse_answer_done(&rows->stacks);
	clickhouse_answer_done(&rows->locations);
	clickhouse_answer_done(&rows->names);
}

struct row_reader fleet_rows_reader(const struct clickhouse_answer *answer)
{
	return (struct row_reader){ .at = answer->bytes, .end = answer->bytes + answer->size };
}

struct fleet_sample_row fleet_rows_read_sample(struct row_reader *reader)
{
	struct fleet_sample_row row = { .stack = row_u64(reader) };

	row.comm = row_text(reader);
	row.period = row_u64(reader);
	row.weight = row_f64(reader);
	row.value = row_u64(reader);
	/* A weight that is no number is refused, too. */
	if (row.period == 0 || !(row.weight >= 1 && row.weight <= WEIGHT_MAX))
		reader->is_broken = true;
	return row;
}

struct fleet_location_row fleet_rows_read_location(struct row_reader *reader)
{
	struct fleet_location_row row = { .build_id = row_text(reader) };

	row.vaddr = row_u64(reader);
	row.kind = row_text(reader);
	row.path = row_text(reader);
	return row;
}

/* --- what the next question is about --- */

static int compare_ids(const void *a, const void *b)
{
	const uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return first < second ? -1 : first > second;
}

/* The machine's integers are those of RowBinary. */
static void keep_each_once(struct clickhouse_answer *ids)
{
	uint64_t *items = (uint64_t *)(void *)ids->bytes;
	size_t count = ids->size / sizeof(*items), kept = 0;

	if (count > 1)
		qsort(items, count, sizeof(*items), compare_ids);
	for (size_t i = 0; i < count; i++)
		if (kept == 0 || items[i] != items[kept - 1])
			items[kept++] = items[i];
	ids->size = kept * sizeof(*items);
}

static int finish_table(const struct row_reader *reader, int error, struct clickhouse_answer *table,
	struct clickhouse_answer *ret_table)
{
	if (error == 0 && reader->is_broken)
		error = -EBADMSG;
	if (error < 0) {
		clickhouse_answer_done(table);
		return error;
	}
	*ret_table = *table;
	return 0;
}

int fleet_rows_stack_ids(const struct fleet_rows *rows, struct clickhouse_answer *ret_ids)
{
	struct row_reader reader = fleet_rows_reader(&rows->samples);
	struct clickhouse_answer ids = { 0 };
	int r = 0;

	while (r == 0 && row_reader_has_more(&reader)) {
		const struct fleet_sample_row row = fleet_rows_read_sample(&reader);

		r = clickhouse_answer_append(&ids, &row.stack, sizeof(row.stack), SIZE_MAX);
	}
	keep_each_once(&ids);
	return finish_table(&reader, r, &ids, ret_ids);
}

int fleet_rows_location_ids(const struct fleet_rows *rows, struct clickhouse_answer *ret_ids)
{
	struct row_reader reader = fleet_rows_reader(&rows->stacks);
	struct clickhouse_answer ids = { 0 };
	int r = 0;

	while (r == 0 && row_reader_has_more(&reader)) {
		(void)row_u64(&reader);
		for (size_t i = row_array(&reader, sizeof(uint64_t)); r == 0 && i > 0; i--) {
			const uint64_t id = row_u64(&reader);

			r = clickhouse_answer_append(&ids, &id, sizeof(id), SIZE_MAX);
		}
	}
	keep_each_once(&ids);
	return finish_table(&reader, r, &ids, ret_ids);
}

/* Few locations share code, so it may come twice. */
int fleet_rows_code(const struct fleet_rows *rows, struct clickhouse_answer *ret_code)
{
	struct row_reader reader = fleet_rows_reader(&rows->locations);
	struct clickhouse_answer code = { 0 };
	int r = 0;

	while (r == 0 && row_reader_has_more(&reader)) {
		const uint8_t *begin, *end;

		(void)row_u64(&reader);
		begin = reader.at;
		(void)row_text(&reader);
		(void)row_u64(&reader);
		end = reader.at;
		(void)row_text(&reader);
		(void)row_text(&reader);
		if (!reader.is_broken)
			r = clickhouse_answer_append(&code, begin, (size_t)(end - begin), SIZE_MAX);
	}
	return finish_table(&reader, r, &code, ret_code);
}
