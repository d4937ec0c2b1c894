/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/array.h"
#include "export/clickhouse_writer.h"
#include "export/row_writer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	SERVICE_LABELS = 3,
	THREAD_LABELS = 2,
	LABELS_MAX = SERVICE_LABELS + THREAD_LABELS + CLAIM_COUNT,
	EXTRA_TEXT_BYTES = 256,
};

static const char *string_of(const struct clickhouse_writer *writer, uint32_t string)
{
	return string_pool_get(&writer->profile->strings, string);
}

static const char *text_of(const struct clickhouse_writer *writer, uint32_t text)
{
	return string_pool_get(&writer->tables.strings, text);
}

static void put_day_and_host(struct clickhouse_writer *writer)
{
	row_put_u16(&writer->plain, writer->day);
	row_put_text(&writer->plain, writer->options->host);
}

/* A place that a profile lacks: a loss, or a sample without a stack. */
struct extra {
	char text[EXTRA_TEXT_BYTES];
	struct clickhouse_place place;
	uint64_t stack;
};

static int get_extra(struct clickhouse_writer *writer, uint32_t index, struct extra *ret_extra)
{
	struct extra extra = { .text = "[unknown]" };
	int r;

	if (index != PPROF_NO_STACK)
		(void)snprintf(extra.text, sizeof(extra.text), "[lost: %s]",
			accounts_drop_name((enum pilotlight_drop)index));
	r = clickhouse_text_place(extra.text, &writer->scratch, &extra.place);
	if (r < 0)
		return r;
	extra.stack = clickhouse_stack(0, extra.place.id);
	*ret_extra = extra;
	return 0;
}

/* --- names, locations, stacks --- */

static void put_frames(struct clickhouse_writer *writer, const struct profile_location *location)
{
	const struct profile_frame *frames = writer->profile->frames.items + location->first_frame;

	row_put_length(&writer->plain, location->frame_count);
	for (uint32_t i = 0; i < location->frame_count; i++)
		row_put_text(&writer->plain, string_of(writer, frames[i].function));
	row_put_length(&writer->plain, location->frame_count);
	for (uint32_t i = 0; i < location->frame_count; i++)
		row_put_text(&writer->plain, string_of(writer, frames[i].file));
	row_put_length(&writer->plain, location->frame_count);
	for (uint32_t i = 0; i < location->frame_count; i++)
		row_put_u32(&writer->plain, frames[i].line);
}

static void put_name(struct clickhouse_writer *writer, const struct clickhouse_place *place,
	enum pilotlight_name_rank rank)
{
	put_day_and_host(writer);
	row_put_text(&writer->plain, place->build_id);
	row_put_u64(&writer->plain, place->vaddr);
	row_put_u8(&writer->plain, (uint8_t)rank);
	writer->rows++;
}

static void put_location(struct clickhouse_writer *writer, const struct clickhouse_place *place,
	enum binary_kind kind, const char *path)
{
	put_day_and_host(writer);
	row_put_u64(&writer->plain, place->id);
	row_put_text(&writer->plain, place->build_id);
	row_put_u64(&writer->plain, place->vaddr);
	row_put_text(&writer->plain, clickhouse_kind_name(kind));
	row_put_text(&writer->plain, path);
	writer->rows++;
}

/* The names of one location, or the location itself. */
static int put_place(struct clickhouse_writer *writer, size_t index, bool is_name)
{
	const struct profile *profile = writer->profile;
	const struct profile_location *location = &profile->locations.items[index];
	const struct profile_binary *binary = &profile->binaries.items[location->binary];
	struct clickhouse_place place;
	int r;

	if (writer->tables.location_ids[index] == 0 || (is_name && location->frame_count == 0))
		return 0;
	r = clickhouse_place(profile, location, &writer->scratch, &place);
	if (r < 0)
		return r;
	if (is_name) {
		put_name(writer, &place, clickhouse_rank(profile, location));
		put_frames(writer, location);
	} else {
		put_location(writer, &place, binary->kind, string_of(writer, binary->path));
	}
	return 0;
}

static int put_extra_place(struct clickhouse_writer *writer, uint32_t index, bool is_name)
{
	struct extra extra;
	int r;

	if (writer->tables.extra_location_ids[index] == 0)
		return 0;
	r = get_extra(writer, index, &extra);
	if (r < 0)
		return r;
	if (!is_name) {
		put_location(writer, &extra.place, BINARY_SYNTHETIC, "");
		return 0;
	}
	put_name(writer, &extra.place, PILOTLIGHT_NAME_FUNCTION);
	row_put_length(&writer->plain, 1);
	row_put_text(&writer->plain, extra.text);
	row_put_length(&writer->plain, 1);
	row_put_text(&writer->plain, "");
	row_put_length(&writer->plain, 1);
	row_put_u32(&writer->plain, 0);
	return 0;
}

static int put_places(struct clickhouse_writer *writer, bool is_name)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < writer->profile->locations.count; i++)
		r = put_place(writer, i, is_name);
	for (uint32_t i = 0; r == 0 && i < PPROF_EXTRA_COUNT; i++)
		r = put_extra_place(writer, i, is_name);
	return r;
}

int clickhouse_put_names(struct clickhouse_writer *writer)
{
	return put_places(writer, true);
}

int clickhouse_put_locations(struct clickhouse_writer *writer)
{
	return put_places(writer, false);
}

static int put_extra_stack(struct clickhouse_writer *writer, uint32_t index)
{
	struct extra extra;
	int r;

	if (writer->tables.extra_location_ids[index] == 0)
		return 0;
	r = get_extra(writer, index, &extra);
	if (r < 0)
		return r;
	put_day_and_host(writer);
	row_put_u64(&writer->plain, extra.stack);
	row_put_length(&writer->plain, 1);
	row_put_u64(&writer->plain, extra.place.id);
	writer->rows++;
	return 0;
}

int clickhouse_put_stacks(struct clickhouse_writer *writer)
{
	const struct profile_node *nodes = writer->profile->nodes.items;
	int r = 0;

	for (uint32_t i = 0; i < writer->profile->nodes.count; i++) {
		uint32_t depth = 0;

		if (!writer->is_stack_used[i])
			continue;
		for (uint32_t node = i; node != PROFILE_ROOT; node = nodes[node].parent)
			depth++;
		put_day_and_host(writer);
		row_put_u64(&writer->plain, writer->stacks[i]);
		row_put_length(&writer->plain, depth);
		for (uint32_t node = i; node != PROFILE_ROOT; node = nodes[node].parent)
			row_put_u64(&writer->plain, writer->locations[nodes[node].location]);
		writer->rows++;
	}
	for (uint32_t i = 0; r == 0 && i < PPROF_EXTRA_COUNT; i++)
		r = put_extra_stack(writer, i);
	return r;
}

/* --- samples --- */

static struct pprof_cgroup service_of(
	struct clickhouse_writer *writer, const struct profile_thread *thread)
{
	struct pprof_cgroup service = pprof_tables_service(&writer->tables, thread);

	/* A service's name is by them only if it has no other (export/service_identity.h). */
	if (writer->has_threads)
		service.claims = thread->claims;
	return service;
}

static const struct profile_thread *thread_of(
	const struct clickhouse_writer *writer, uint32_t sample)
{
	return &writer->profile->threads.items[writer->profile->samples.items[sample].thread];
}

static int compare_u32(uint32_t a, uint32_t b)
{
	return (a > b) - (a < b);
}

int clickhouse_compare_samples(const void *first, const void *second, void *context)
{
	struct clickhouse_writer *writer = context;
	const uint32_t a = *(const uint32_t *)first, b = *(const uint32_t *)second;
	const struct profile_thread *s = thread_of(writer, a), *t = thread_of(writer, b);
	const struct pprof_cgroup x = service_of(writer, s), y = service_of(writer, t);
	int order = compare_u32(x.unit, y.unit);
	uint64_t p, q;

	if (order == 0)
		order = compare_u32(x.container, y.container);
	if (order == 0)
		order = compare_u32(x.pod, y.pod);
	if (order == 0)
		order = compare_u32(x.claims, y.claims);
	if (order == 0 && writer->has_threads)
		order = compare_u32(s->comm, t->comm);
	if (order == 0 && writer->has_threads)
		order = compare_u32(s->exe, t->exe);
	if (order != 0)
		return order;
	/* Several nodes may be one stack: generated code that was compiled twice. */
	p = writer->stacks[writer->profile->samples.items[a].node];
	q = writer->stacks[writer->profile->samples.items[b].node];
	return (p > q) - (p < q);
}

static void get_service(struct clickhouse_writer *writer, const struct pprof_cgroup *cgroup,
	char name[SERVICE_NAME_BYTES])
{
	const struct service_identity service = {
		.unit = text_of(writer, cgroup->unit),
		.container = text_of(writer, cgroup->container),
		.pod = text_of(writer, cgroup->pod),
		.claims = string_of(writer, cgroup->claims),
	};

	service_identity_name(&service, name);
}

/* `thread` NULL: of none. */
static void put_labels(struct clickhouse_writer *writer, const struct pprof_cgroup *cgroup,
	const struct profile_thread *thread)
{
	const bool has_threads = thread && writer->has_threads;
	const char *claims = string_of(writer, cgroup->claims);
	char claimed[CLAIM_COUNT][CLAIM_BYTES];
	const struct {
		const char *name, *value;
	} labels[LABELS_MAX] = {
		{ "unit=", text_of(writer, cgroup->unit) },
		{ "container=", text_of(writer, cgroup->container) },
		{ "pod=", text_of(writer, cgroup->pod) },
		{ "comm=", has_threads ? string_of(writer, thread->comm) : "" },
		{ "exe=", has_threads ? string_of(writer, thread->exe) : "" },
		{ "claimed_service=",
			process_claims_get(claims, CLAIM_SERVICE, claimed[CLAIM_SERVICE]) },
		{ "claimed_namespace=",
			process_claims_get(claims, CLAIM_NAMESPACE, claimed[CLAIM_NAMESPACE]) },
		{ "claimed_environment=",
			process_claims_get(claims, CLAIM_ENVIRONMENT, claimed[CLAIM_ENVIRONMENT]) },
	};
	size_t known = 0;

	for (size_t i = 0; i < LABELS_MAX; i++)
		known += labels[i].value[0] != '\0';
	row_put_length(&writer->plain, known + writer->attribute_count);
	for (size_t i = 0; i < LABELS_MAX; i++) {
		if (!labels[i].value[0])
			continue;
		row_put_length(&writer->plain, strlen(labels[i].name) + strlen(labels[i].value));
		output_string(&writer->plain, labels[i].name);
		output_string(&writer->plain, labels[i].value);
	}
	if (writer->attributes.size > 0)
		output_write(&writer->plain, writer->attributes.bytes, writer->attributes.size);
}

uint64_t clickhouse_covered_ns(const struct clickhouse_writer *writer)
{
	const struct profile *profile = writer->profile;

	return profile->covered_ns > 0		     ? profile->covered_ns
	       : profile->end_ns > profile->start_ns ? profile->end_ns - profile->start_ns
						     : 0;
}

/* What a row of samples is about. */
struct sample_row {
	struct pprof_cgroup cgroup;
	const struct profile_thread *thread; /* NULL: none */
	uint64_t stack;
};

static void put_sample(
	struct clickhouse_writer *writer, const struct sample_row *row, uint64_t count)
{
	char service[SERVICE_NAME_BYTES];

	get_service(writer, &row->cgroup, service);
	row_put_u32(&writer->plain, writer->start_s);
	row_put_u64(&writer->plain, clickhouse_covered_ns(writer));
	row_put_text(&writer->plain, writer->options->host);
	row_put_text(&writer->plain, service);
	row_put_text(&writer->plain, writer->type);
	put_labels(writer, &row->cgroup, row->thread);
	row_put_u64(&writer->plain, row->stack);
	row_put_u64(&writer->plain, count);
	row_put_u64(&writer->plain, writer->profile->period_ns);
	row_put_double(&writer->plain, writer->options->weight);
	writer->rows++;
}

static int put_losses(struct clickhouse_writer *writer)
{
	struct sample_row row = { 0 };

	for (enum pilotlight_drop reason = 0; reason < PILOTLIGHT_DROP_COUNT; reason++) {
		struct extra extra;
		int r;

		if (writer->tables.extra_location_ids[reason] == 0)
			continue;
		r = get_extra(writer, reason, &extra);
		if (r < 0)
			return r;
		row.stack = extra.stack;
		put_sample(writer, &row, writer->profile->accounts.dropped[reason]);
	}
	return 0;
}

void clickhouse_first_service(struct clickhouse_writer *writer, char name[SERVICE_NAME_BYTES])
{
	const struct pprof_tables *tables = &writer->tables;
	struct pprof_cgroup cgroup = { 0 };
	bool has_losses = false;

	for (size_t i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		has_losses |= tables->extra_location_ids[i] > 0;
	if (!has_losses && tables->sample_count > 0)
		cgroup = service_of(writer, thread_of(writer, tables->samples[0]));
	get_service(writer, &cgroup, name);
}

/* The samples from `first` on that are one row. Returns the position behind them. */
static size_t end_of_row(struct clickhouse_writer *writer, size_t first)
{
	const struct pprof_tables *tables = &writer->tables;
	size_t end = first + 1;

	while (end < tables->sample_count && clickhouse_compare_samples(&tables->samples[first],
						     &tables->samples[end], writer) == 0)
		end++;
	return end;
}

static int get_row(struct clickhouse_writer *writer, size_t first, struct sample_row *ret_row)
{
	const uint32_t sample = writer->tables.samples[first];
	const struct profile_thread *thread = thread_of(writer, sample);
	const uint32_t node = writer->profile->samples.items[sample].node;
	struct extra none = { 0 };
	int r = node == PROFILE_ROOT ? get_extra(writer, PPROF_NO_STACK, &none) : 0;

	if (r == 0)
		*ret_row = (struct sample_row){
			.cgroup = service_of(writer, thread),
			.thread = thread,
			.stack = node == PROFILE_ROOT ? none.stack : writer->stacks[node],
		};
	return r;
}

int clickhouse_put_samples(struct clickhouse_writer *writer)
{
	const struct profile_sample *samples = writer->profile->samples.items;
	const struct pprof_tables *tables = &writer->tables;
	int r = put_losses(writer);

	for (size_t i = 0, end; r == 0 && i < tables->sample_count; i = end) {
		struct sample_row row;
		uint64_t count = 0;

		end = end_of_row(writer, i);
		r = get_row(writer, i, &row);
		for (size_t k = i; r == 0 && k < end; k++)
			if (__builtin_add_overflow(
				    count, samples[tables->samples[k]].count, &count))
				count = UINT64_MAX;
		if (r == 0)
			put_sample(writer, &row, count);
	}
	return r < 0 ? r : writer->rows <= CLICKHOUSE_ROWS_MAX ? 0 : -E2BIG;
}

/* --- spans --- */

/* Adds the counts of a sample that are of a span. They are no more than its own. */
static int add_spans(struct clickhouse_writer *writer, uint32_t sample, size_t *count)
{
	const struct profile *profile = writer->profile;
	uint64_t left = profile->samples.items[sample].count;
	const struct profile_span_count *span = NULL;

	while ((span = profile_spans_next(&profile->spans, sample, span)) && left > 0) {
		const uint64_t value = span->count < left ? span->count : left;
		int r = ARRAY_RESERVE(
			writer->spans, &writer->span_capacity, *count + 1, UINT32_MAX);

		if (r < 0)
			return r;
		writer->spans[(*count)++] =
			(struct clickhouse_span){ .span = span->span, .count = value };
		left -= value;
	}
	return 0;
}

static int compare_spans(const void *a, const void *b)
{
	return compare_u32(((const struct clickhouse_span *)a)->span,
		((const struct clickhouse_span *)b)->span);
}

static void put_span(struct clickhouse_writer *writer, const struct sample_row *row, uint64_t count,
	const struct pilotlight_thread_context *ids)
{
	if (count == 0)
		return;
	put_sample(writer, row, count);
	output_write(&writer->plain, ids->trace_id, sizeof(ids->trace_id));
	output_write(&writer->plain, ids->span_id, sizeof(ids->span_id));
}

/* Each span once, as readers take equal rows for one. Those without room are a row without ids. */
static void put_row_spans(
	struct clickhouse_writer *writer, const struct sample_row *row, size_t count)
{
	const struct clickhouse_span *spans = writer->spans;
	uint64_t without_room = 0;

	if (count > 1)
		qsort(writer->spans, count, sizeof(*spans), compare_spans);
	for (size_t i = 0, end; i < count; i = end) {
		uint64_t sum = 0;

		for (end = i; end < count && spans[end].span == spans[i].span; end++)
			if (__builtin_add_overflow(sum, spans[end].count, &sum))
				sum = UINT64_MAX;
		if (writer->spans_left > 0) {
			put_span(writer, row, sum, &writer->profile->spans.items[spans[i].span]);
			writer->spans_left--;
		} else if (__builtin_add_overflow(without_room, sum, &without_room)) {
			without_room = UINT64_MAX;
		}
	}
	put_span(writer, row, without_room, &(struct pilotlight_thread_context){ 0 });
}

int clickhouse_put_spans(struct clickhouse_writer *writer)
{
	const struct pprof_tables *tables = &writer->tables;
	const bool has_spans = writer->has_threads && writer->profile->spans.counts_count > 0;
	int r = 0;

	for (size_t i = 0, end; r == 0 && has_spans && i < tables->sample_count; i = end) {
		struct sample_row row;
		size_t count = 0;

		end = end_of_row(writer, i);
		r = get_row(writer, i, &row);
		writer->spans_left += (end - i) * CLICKHOUSE_SPANS_OF_STACK;
		for (size_t k = i; r == 0 && k < end; k++)
			r = add_spans(writer, tables->samples[k], &count);
		if (r == 0)
			put_row_spans(writer, &row, count);
	}
	return r;
}
