/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/clickhouse.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/event_source.h"
#include "export/clickhouse_writer.h"
#include "export/gzip.h"
#include "export/row_writer.h"
#include "pilotlight/clickhouse_batch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SECONDS_OF_DAY = 24 * 3600, SCRATCH_BYTES_MAX = 64 << 20 };

static void writer_free(struct clickhouse_writer *writer)
{
	if (!writer)
		return;
	pprof_tables_done(&writer->tables);
	free(writer->stacks);
	free(writer->is_stack_used);
	free(writer->locations);
	free(writer->scratch.bytes);
	free(writer->attributes.bytes);
	free(writer->spans);
	free(writer->body.bytes);
	free(writer);
}
DEFINE_CLEANUP(struct clickhouse_writer, writer_free);

/* "name=value,name=value" to elements of an array. */
static int set_attributes(struct clickhouse_writer *writer)
{
	const char *at = writer->options->attributes ? writer->options->attributes : "";
	int r = 0;

	while (r == 0 && *at) {
		size_t size = strcspn(at, ",");
		uint8_t bytes[ROW_VARINT_BYTES];

		r = output_to_memory(&writer->attributes, bytes, row_format_length(size, bytes));
		if (r == 0)
			r = output_to_memory(&writer->attributes, at, size);
		writer->attribute_count++;
		at += size + (at[size] == ',');
	}
	return r;
}

static int set_stacks(struct clickhouse_writer *writer)
{
	const struct profile *profile = writer->profile;

	writer->stacks = calloc(profile->nodes.count + 1, sizeof(*writer->stacks));
	writer->is_stack_used = calloc(profile->nodes.count + 1, sizeof(*writer->is_stack_used));
	writer->locations = calloc(profile->locations.count + 1, sizeof(*writer->locations));
	if (!writer->stacks || !writer->is_stack_used || !writer->locations)
		return -ENOMEM;
	for (size_t i = 0; i < profile->locations.count; i++) {
		struct clickhouse_place place;
		int r;

		if (writer->tables.location_ids[i] == 0)
			continue;
		r = clickhouse_place(
			profile, &profile->locations.items[i], &writer->scratch, &place);
		if (r < 0)
			return r;
		writer->locations[i] = place.id;
	}
	/* Parents come first. */
	for (size_t i = PROFILE_ROOT + 1; i < profile->nodes.count; i++) {
		const struct profile_node *node = &profile->nodes.items[i];

		writer->stacks[i] = clickhouse_stack(
			writer->stacks[node->parent], writer->locations[node->location]);
	}
	for (size_t i = 0; i < writer->tables.sample_count; i++)
		writer->is_stack_used[profile->samples.items[writer->tables.samples[i]].node] =
			true;
	writer->is_stack_used[PROFILE_ROOT] = false;
	return 0;
}

/* --- requests --- */

typedef int (*put_function)(struct clickhouse_writer *writer);

/* Rows that refer to others come behind them. */
static const put_function put_bodies[PILOTLIGHT_CLICKHOUSE_REQUESTS - 1] = {
	clickhouse_put_names,
	clickhouse_put_locations,
	clickhouse_put_stacks,
	clickhouse_put_spans,
	clickhouse_put_samples,
};

static int encode_body(struct clickhouse_writer *writer, put_function put_body)
{
	_cleanup_(gzip_freep) struct gzip *gzip = NULL;
	int r;

	writer->rows = 0;
	writer->body.size = 0;
	output_init(&writer->packed, output_to_memory, &writer->body);
	r = gzip_new(&writer->packed, &gzip);
	if (r < 0)
		return r;
	output_init(&writer->plain, gzip_write, gzip);
	r = put_body(writer);
	if (r == 0)
		r = writer->tables.error;
	if (r == 0)
		r = output_finish(&writer->plain);
	if (r == 0)
		r = gzip_finish(gzip);
	return r == 0 ? output_finish(&writer->packed) : r;
}

static int write_request(
	struct clickhouse_writer *writer, put_function put_body, struct output *output)
{
	struct pilotlight_clickhouse_request header;
	int r = encode_body(writer, put_body);

	if (r < 0)
		return r;
	header.body_bytes = writer->rows > 0 ? writer->body.size : 0;
	output_write(output, &header, sizeof(header));
	output_write(output, writer->body.bytes, header.body_bytes);
	return output->error;
}

/*
 * Of the first row of samples. The beginning of the table's key is in it. Two windows may begin in
 * one second, the one before a restart and the one behind it, but cover different times.
 */
static int write_identity(struct clickhouse_writer *writer, struct output *output)
{
	const char *host = writer->options->host;
	const char *attributes = writer->options->attributes ? writer->options->attributes : "";
	/* The first is the host's id, if that is known. */
	const size_t label_bytes = strcspn(attributes, ",");
	const struct pilotlight_clickhouse_identity identity = {
		.duration_ns = clickhouse_covered_ns(writer),
		.ts = writer->start_s,
	};
	struct pilotlight_clickhouse_request header;
	char service[SERVICE_NAME_BYTES];

	clickhouse_first_service(writer, service);
	header.body_bytes = sizeof(identity) + strlen(writer->type) + 1 + strlen(service) + 1 +
			    strlen(host) + 1 + label_bytes + 1;
	if (header.body_bytes > PILOTLIGHT_CLICKHOUSE_IDENTITY_BYTES_MAX)
		return -E2BIG;
	output_write(output, &header, sizeof(header));
	output_write(output, &identity, sizeof(identity));
	output_write(output, writer->type, strlen(writer->type) + 1);
	output_write(output, service, strlen(service) + 1);
	output_write(output, host, strlen(host) + 1);
	output_write(output, attributes, label_bytes);
	output_char(output, '\0');
	return output->error;
}

static int write_requests(struct clickhouse_writer *writer, struct output *output)
{
	const struct pilotlight_clickhouse_batch header = {
		.magic = PILOTLIGHT_CLICKHOUSE_BATCH_MAGIC,
		.version = PILOTLIGHT_CLICKHOUSE_BATCH_VERSION,
	};
	int r;

	output_write(output, &header, sizeof(header));
	r = write_identity(writer, output);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(put_bodies); i++)
		r = write_request(writer, put_bodies[i], output);
	return r;
}

static void set_times(struct clickhouse_writer *writer)
{
	const struct profile *profile = writer->profile;
	const char *event = string_pool_get(&profile->strings, profile->event);
	const struct event_source *source = event_source_of(event);

	/* Windows begin some milliseconds early or late. */
	writer->start_s = (uint32_t)((profile->start_ns + NSEC_PER_SEC / 2) / NSEC_PER_SEC);
	writer->day = (uint16_t)(writer->start_s / SECONDS_OF_DAY);
	writer->type = source->title ? source->name : event;
}

int clickhouse_write(const struct profile *profile, const struct clickhouse_options *options,
	struct output *output)
{
	_cleanup_(writer_freep) struct clickhouse_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->profile = profile;
	writer->options = options;
	writer->has_threads = options->labels != PPROF_LABELS_SERVICE;
	writer->scratch.limit_bytes = writer->attributes.limit_bytes = SCRATCH_BYTES_MAX;
	writer->body.limit_bytes = CLICKHOUSE_BODY_BYTES_MAX;
	set_times(writer);
	r = pprof_tables_init(&writer->tables, profile, PPROF_LABELS_NONE, NULL);
	if (r == 0)
		r = set_attributes(writer);
	if (r == 0)
		r = set_stacks(writer);
	if (r < 0)
		return r;
	qsort_r(writer->tables.samples, writer->tables.sample_count,
		sizeof(*writer->tables.samples), clickhouse_compare_samples, writer);
	return write_requests(writer, output);
}
