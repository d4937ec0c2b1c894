/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The state of clickhouse_write(), and its rows. */
#pragma once

#include "export/clickhouse.h"
#include "export/clickhouse_places.h"
#include "export/pprof_tables.h"
#include "export/service_identity.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clickhouse_span {
	uint32_t span; /* of the profile */
	uint64_t count;
};

struct clickhouse_writer {
	const struct profile *profile;
	const struct clickhouse_options *options;
	struct pprof_tables tables;
	bool has_threads;
	uint32_t start_s;
	uint16_t day;
	const char *type;

	uint64_t *stacks; /* by node */
	bool *is_stack_used;
	uint64_t *locations; /* by location */

	struct output_memory scratch;
	struct output_memory attributes; /* elements of an array of texts */
	size_t attribute_count;
	struct clickhouse_span *spans; /* of the row that is being written */
	size_t span_capacity;
	uint64_t spans_left; /* rows of them that samples have room for */

	/* The insert that is being written. */
	uint64_t rows;
	struct output_memory body;
	struct output packed, plain; /* buffers behind and before the compressor */
};

/* By what makes a row of samples: service, thread and stack; for qsort_r(). */
int clickhouse_compare_samples(const void *first, const void *second, void *writer);
/* The service of the first row of samples. */
void clickhouse_first_service(struct clickhouse_writer *writer, char name[SERVICE_NAME_BYTES]);

/* duration_ns of all rows of samples. */
uint64_t clickhouse_covered_ns(const struct clickhouse_writer *writer);

/* Each writes all rows of a table to writer->plain. Returns 0, -ENOMEM or -E2BIG. */
int clickhouse_put_names(struct clickhouse_writer *writer);
int clickhouse_put_locations(struct clickhouse_writer *writer);
int clickhouse_put_stacks(struct clickhouse_writer *writer);
int clickhouse_put_spans(struct clickhouse_writer *writer);
int clickhouse_put_samples(struct clickhouse_writer *writer);
