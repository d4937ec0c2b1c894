/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "export/service_series.h"

#include "base/cleanup.h"
#include "base/event_source.h"
#include "export/pprof_tables.h"
#include "export/service_identity.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one profile, by Pyroscope's default limits. */
enum { SAMPLES_MAX = 16000, PLAIN_BYTES_MAX = 4 << 20 };

enum { LABELS_MAX = 30, LABEL_NAME_BYTES = 64, UUID_BYTES = 37 };

struct writer {
	const struct profile *profile;
	const char *host, *attributes;
	const struct service_series_format *format;
	void *context; /* of the format */
	struct pprof_tables tables;
	struct output *pprof; /* a buffer for one profile */
	/* Of the series that is being written. */
	struct service_identity service;
	char labels[LABELS_MAX][LABEL_NAME_BYTES]; /* names that it has */
	size_t label_count;
	uint32_t part_count;
};

static void writer_free(struct writer *writer)
{
	if (!writer)
		return;
	pprof_tables_done(&writer->tables);
	free(writer->pprof);
	free(writer);
}
DEFINE_CLEANUP(struct writer, writer_free);

/* --- labels --- */

static void clean_name(const char *from, size_t size, char name[LABEL_NAME_BYTES])
{
	size_t used = 0;

	for (; used < size && used < LABEL_NAME_BYTES - 1; used++) {
		char c = from[used];
		bool is_valid = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
				(c >= '0' && c <= '9' && used > 0);

		name[used] = c;
		if (!is_valid)
			name[used] = '_';
	}
	name[used] = '\0';
}

/* Receivers refuse a series with two labels of one name: the first counts. */
static bool take_name(struct writer *writer, const char *name)
{
	for (size_t i = 0; i < writer->label_count; i++)
		if (strcmp(writer->labels[i], name) == 0)
			return false;
	if (!*name || writer->label_count == LABELS_MAX)
		return false;
	memcpy(writer->labels[writer->label_count++], name, strlen(name) + 1);
	return true;
}

static void put_label(struct writer *writer, const char *name, const char *value, size_t size)
{
	if (size > 0 && take_name(writer, name))
		writer->format->label(writer->context, name, value, size);
}

static void put_text(struct writer *writer, const char *name, const char *value)
{
	put_label(writer, name, value, strlen(value));
}

static void put_attributes(struct writer *writer)
{
	const char *at = writer->attributes ? writer->attributes : "";

	while (*at) {
		size_t size = strcspn(at, ","), name_size = strcspn(at, "=");
		char name[LABEL_NAME_BYTES];

		if (name_size < size) {
			clean_name(at, name_size, name);
			put_label(writer, name, at + name_size + 1, size - name_size - 1);
		}
		at += size + (at[size] == ',');
	}
}

/* "process_cpu" is what viewers know; other names are those of the types. */
static void put_name(struct writer *writer)
{
	const char *event = string_pool_get(&writer->profile->strings, writer->profile->event);
	char text[EVENT_TYPE_BYTES], name[LABEL_NAME_BYTES];

	if (event_source_is_cpu(event_source_of(event))) {
		put_text(writer, "__name__", "process_cpu");
		return;
	}
	event = event_source_type(event, text);
	clean_name(event, strlen(event), name);
	put_text(writer, "__name__", name);
}

static void put_labels(struct writer *writer)
{
	char name[SERVICE_NAME_BYTES];

	writer->label_count = 0;
	service_identity_name(&writer->service, name);
	put_name(writer);
	put_text(writer, "service_name", name);
	put_text(writer, "container_id", writer->service.container);
	put_text(writer, "k8s_pod_uid", writer->service.pod);
	put_text(writer, writer->format->host_label, writer->host ? writer->host : "");
	put_attributes(writer);
}

/* --- profiles --- */

static void put_profile(struct writer *writer, const struct output_memory *memory)
{
	enum { VERSION_AT = 6, VARIANT_AT = 8 };
	uint8_t id[PROFILE_ID_BYTES];
	char text[UUID_BYTES];
	size_t used = 0;

	service_identity_profile_id(
		writer->profile, writer->host, &writer->service, writer->part_count++, id);
	id[VERSION_AT] = (uint8_t)((id[VERSION_AT] & 0x0f) | 0x80);
	id[VARIANT_AT] = (uint8_t)((id[VARIANT_AT] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(id); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%02x",
			i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", id[i]);
	writer->format->profile(writer->context, text, memory->bytes, memory->size);
}

static int encode(struct writer *writer, const struct pprof_part *part,
	struct output_memory *memory, uint64_t *ret_plain_bytes)
{
	int r;

	memory->limit_bytes = SERVICE_SERIES_BYTES_MAX;
	output_init(writer->pprof, output_to_memory, memory);
	r = pprof_write_part(
		writer->profile, PPROF_LABELS_NONE, part, writer->pprof, ret_plain_bytes);
	return r == 0 ? output_finish(writer->pprof) : r;
}

/* Halves what is too large for the receiver. The recursion is as deep as a count has bits. */
static int put_profiles(struct writer *writer, const struct pprof_part *part)
{
	struct output_memory memory = { 0 };
	uint64_t plain_bytes = 0;
	int r = 0;

	if (part->count <= SAMPLES_MAX)
		r = encode(writer, part, &memory, &plain_bytes);
	if (r == 0 && part->count > 1 &&
		(part->count > SAMPLES_MAX || plain_bytes > PLAIN_BYTES_MAX)) {
		const size_t half = part->count / 2;

		free(memory.bytes);
		r = put_profiles(
			writer, &(struct pprof_part){ part->samples, half, part->has_losses });
		return r < 0 ? r
			     : put_profiles(writer, &(struct pprof_part){ part->samples + half,
							    part->count - half, false });
	}
	if (r == 0)
		put_profile(writer, &memory);
	free(memory.bytes);
	return r;
}

static const char *string_of(const struct writer *writer, uint32_t string)
{
	return string_pool_get(&writer->tables.strings, string);
}

static int write_series(
	struct writer *writer, const struct pprof_cgroup *service, const struct pprof_part *part)
{
	int r, error;

	writer->service = (struct service_identity){
		.unit = string_of(writer, service->unit),
		.container = string_of(writer, service->container),
		.pod = string_of(writer, service->pod),
		.claims = string_pool_get(&writer->profile->strings, service->claims),
	};
	writer->part_count = 0;
	writer->format->begin(writer->context);
	put_labels(writer);
	if (writer->format->begin_profiles)
		writer->format->begin_profiles(writer->context);
	r = put_profiles(writer, part);
	error = writer->format->end(writer->context);
	return r < 0 ? r : error;
}

static struct pprof_cgroup service_at(struct writer *writer, size_t i)
{
	const struct profile *profile = writer->profile;
	const struct profile_sample *sample = &profile->samples.items[writer->tables.samples[i]];

	return pprof_tables_service(&writer->tables, &profile->threads.items[sample->thread]);
}

static bool has_losses(const struct writer *writer)
{
	for (size_t i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		if (writer->tables.extra_location_ids[i] > 0)
			return true;
	return false;
}

/* Samples without a service come first, and have the losses. */
static int write_all(struct writer *writer)
{
	const struct pprof_tables *tables = &writer->tables;
	const struct pprof_cgroup none = { 0 };
	bool has_loss = has_losses(writer);
	int r = 0;

	for (size_t first = 0, end; r == 0 && (first < tables->sample_count || has_loss);
		first = end) {
		struct pprof_cgroup service =
			first < tables->sample_count ? service_at(writer, first) : none;

		if (has_loss && !pprof_service_equal(&service, &none))
			service = none;
		for (end = first; end < tables->sample_count; end++) {
			const struct pprof_cgroup next = service_at(writer, end);

			if (!pprof_service_equal(&next, &service))
				break;
		}
		r = write_series(writer, &service,
			&(struct pprof_part){ tables->samples + first, end - first, has_loss });
		has_loss = false;
	}
	return r < 0 ? r : tables->error;
}

int service_series_write(const struct profile *profile, const char *host, const char *attributes,
	const struct service_series_format *format, void *context)
{
	_cleanup_(writer_freep) struct writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->profile = profile;
	writer->host = host;
	writer->attributes = attributes;
	writer->format = format;
	writer->context = context;
	writer->pprof = malloc(sizeof(*writer->pprof));
	if (!writer->pprof)
		return -ENOMEM;
	r = pprof_tables_init(&writer->tables, profile, PPROF_LABELS_NONE, NULL);
	if (r == 0)
		r = pprof_tables_sort_by_service(&writer->tables);
	return r == 0 ? write_all(writer) : r;
}
