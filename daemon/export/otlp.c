/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes the resources one after the other, then the dictionary with what they refer to. The
 * samples are sorted by service, so a resource is a run of them.
 */
#include "export/otlp.h"

#include "base/cleanup.h"
#include "base/event_source.h"
#include "export/otlp_fields.h"
#include "export/otlp_writer.h"
#include "export/service_identity.h"

#include <errno.h>
#include <string.h>

enum { ATTRIBUTE_NAME_BYTES = 128 };

static void writer_free(struct otlp_writer *writer)
{
	if (!writer)
		return;
	gzip_free(writer->gzip);
	protobuf_done(&writer->message);
	pprof_tables_done(&writer->tables);
	hash_index_done(&writer->attribute_index);
	free(writer->attributes);
	free(writer->stacks);
	free(writer->stack_ids);
	free(writer);
}
DEFINE_CLEANUP(struct otlp_writer, writer_free);

static int writer_init(struct otlp_writer *writer, struct output *output)
{
	const struct profile *profile = writer->profile;
	int r = pprof_tables_init(&writer->tables, profile, writer->labels, NULL);

	protobuf_init(&writer->message, OTLP_BYTES_MAX);
	if (r == 0)
		r = pprof_tables_sort_by_service(&writer->tables);
	if (r < 0)
		return r;
	writer->stack_ids = calloc(profile->nodes.count + 1, sizeof(*writer->stack_ids));
	writer->stacks = calloc(profile->nodes.count + PPROF_EXTRA_COUNT, sizeof(*writer->stacks));
	if (!writer->stack_ids || !writer->stacks)
		return -ENOMEM;
	r = gzip_new(output, &writer->gzip);
	if (r == 0)
		output_init(&writer->plain, gzip_write, writer->gzip);
	return r;
}

static int first_error(const struct otlp_writer *writer)
{
	return writer->message.error < 0  ? writer->message.error
	       : writer->tables.error < 0 ? writer->tables.error
					  : writer->error;
}

static void send(struct otlp_writer *writer)
{
	if (first_error(writer) == 0)
		output_write(&writer->plain, writer->message.bytes, writer->message.size);
	protobuf_clear(&writer->message);
}

static const struct event_source *source_of(const struct profile *profile)
{
	return event_source_of(string_pool_get(&profile->strings, profile->event));
}

/* --- resources --- */

static void put_string_attribute(
	struct protobuf *message, uint32_t field, const char *key, const char *text, size_t size)
{
	const size_t begin = protobuf_begin(message, field);
	size_t value;

	protobuf_bytes(message, KEY_VALUE_KEY, key, strlen(key));
	value = protobuf_begin(message, KEY_VALUE_VALUE);
	protobuf_bytes(message, ANY_VALUE_STRING, text, size);
	protobuf_end(message, value);
	protobuf_end(message, begin);
}

static const char *string_of(const struct otlp_writer *writer, uint32_t string)
{
	return string_pool_get(&writer->tables.strings, string);
}

static struct service_identity identity_of(
	const struct otlp_writer *writer, const struct pprof_cgroup *service)
{
	return (struct service_identity){
		.unit = string_of(writer, service->unit),
		.container = string_of(writer, service->container),
		.pod = string_of(writer, service->pod),
		.claims = string_pool_get(&writer->profile->strings, service->claims),
	};
}

static void put_service(struct otlp_writer *writer, const struct pprof_cgroup *service)
{
	const struct service_identity identity = identity_of(writer, service);
	char name[SERVICE_NAME_BYTES];

	service_identity_name(&identity, name);
	put_string_attribute(
		&writer->message, RESOURCE_ATTRIBUTE, "service.name", name, strlen(name));
}

/* What the program claims, if nothing else tells the service; its name is there already. */
static void put_claims(struct otlp_writer *writer, const struct pprof_cgroup *service)
{
	char claimed[CLAIM_BYTES];

	for (enum process_claim i = CLAIM_SERVICE + 1; i < CLAIM_COUNT; i++) {
		(void)process_claims_get(
			string_pool_get(&writer->profile->strings, service->claims), i, claimed);
		if (claimed[0])
			put_string_attribute(&writer->message, RESOURCE_ATTRIBUTE,
				process_claim_attribute(i), claimed, strlen(claimed));
	}
}

/* Of the whole host, as the sink's settings have them. */
static void put_attributes(struct otlp_writer *writer)
{
	const char *at = writer->host_attributes ? writer->host_attributes : "";

	while (*at) {
		size_t size = strcspn(at, ","), name = strcspn(at, "=");
		char key[ATTRIBUTE_NAME_BYTES];

		if (name < size && name < sizeof(key)) {
			memcpy(key, at, name);
			key[name] = '\0';
			put_string_attribute(&writer->message, RESOURCE_ATTRIBUTE, key,
				at + name + 1, size - name - 1);
		}
		at += size + (at[size] == ',');
	}
}

static void put_resource(struct otlp_writer *writer, const struct pprof_cgroup *service)
{
	struct protobuf *message = &writer->message;
	const size_t begin = protobuf_begin(message, RESOURCE_PROFILES_RESOURCE);
	const struct {
		const char *key, *text;
	} others[] = {
		{ "container.id",
			service->container ? string_of(writer, service->container) : NULL },
		{ "k8s.pod.uid", service->pod ? string_of(writer, service->pod) : NULL },
		{ "host.name", writer->host },
		{ "os.type", "linux" },
	};

	put_service(writer, service);
	put_claims(writer, service);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (others[i].text && others[i].text[0])
			put_string_attribute(message, RESOURCE_ATTRIBUTE, others[i].key,
				others[i].text, strlen(others[i].text));
	put_attributes(writer);
	protobuf_end(message, begin);
}

static void put_scope(struct protobuf *message)
{
	const size_t begin = protobuf_begin(message, SCOPE_PROFILES_SCOPE);

	protobuf_bytes(message, SCOPE_NAME, "pilotlight", strlen("pilotlight"));
	protobuf_bytes(message, SCOPE_VERSION, PILOTLIGHT_VERSION, strlen(PILOTLIGHT_VERSION));
	protobuf_end(message, begin);
}

/* --- samples --- */

static uint32_t stack_of_node(struct otlp_writer *writer, uint32_t node)
{
	uint32_t *known = &writer->stack_ids[node];

	if (*known == 0) {
		writer->stacks[writer->stack_count++] = (struct otlp_stack){ .node = node };
		*known = (uint32_t)writer->stack_count;
	}
	return *known;
}

static uint32_t stack_of_extra(struct otlp_writer *writer, uint32_t extra)
{
	uint32_t *known = &writer->extra_stack_ids[extra];

	if (*known == 0) {
		writer->stacks[writer->stack_count++] = (struct otlp_stack){ .extra = extra };
		*known = (uint32_t)writer->stack_count;
	}
	return *known;
}

static void put_bare_value(struct otlp_writer *writer, uint64_t count)
{
	uint64_t amount = count;

	/* The receiver multiplies samples of CPU time by the period. */
	if (!event_source_is_cpu(source_of(writer->profile)) &&
		__builtin_mul_overflow(count, writer->profile->period_ns, &amount))
		amount = UINT64_MAX;
	protobuf_varint(&writer->message, amount < INT64_MAX ? amount : INT64_MAX);
}

static void put_value(struct otlp_writer *writer, uint64_t count)
{
	const size_t begin = protobuf_begin(&writer->message, OTLP_SAMPLE_VALUES);

	put_bare_value(writer, count);
	protobuf_end(&writer->message, begin);
}

/* Not the names of resources, which receivers would let win over those of the resource. */
static const char *const claim_attributes[CLAIM_COUNT] = {
	[CLAIM_SERVICE] = "claimed.service.name",
	[CLAIM_NAMESPACE] = "claimed.service.namespace",
	[CLAIM_ENVIRONMENT] = "claimed.deployment.environment.name",
};

static void put_thread(struct otlp_writer *writer, const struct profile_thread *thread)
{
	struct pprof_tables *tables = &writer->tables;
	struct protobuf *message = &writer->message;
	const uint32_t comm = pprof_tables_string(tables, thread->comm);
	const uint32_t exe = pprof_tables_string(tables, thread->exe);
	const size_t begin = protobuf_begin(message, OTLP_SAMPLE_ATTRIBUTES);

	if (comm)
		protobuf_varint(message, otlp_attribute_text(writer, "thread.name", comm));
	/* Merged threads have neither number. */
	if (thread->tid)
		protobuf_varint(message, otlp_attribute_number(writer, "thread.id", thread->tid));
	if (thread->tgid)
		protobuf_varint(
			message, otlp_attribute_number(writer, "process.pid", thread->tgid));
	if (exe)
		protobuf_varint(
			message, otlp_attribute_text(writer, "process.executable.path", exe));
	for (enum process_claim i = 0; i < CLAIM_COUNT; i++) {
		const uint32_t claim = pprof_tables_claim(tables, thread, i);

		if (claim)
			protobuf_varint(
				message, otlp_attribute_text(writer, claim_attributes[i], claim));
	}
	protobuf_end(message, begin);
}

static void put_place(struct otlp_writer *writer, const struct profile_sample *sample)
{
	protobuf_u64(&writer->message, OTLP_SAMPLE_STACK,
		sample->node == PROFILE_ROOT ? stack_of_extra(writer, PPROF_NO_STACK)
					     : stack_of_node(writer, sample->node));
	if (writer->labels == PPROF_LABELS_ALL)
		put_thread(writer, &writer->profile->threads.items[sample->thread]);
}

/* Writes a sample with its stack and thread; link 0: none. */
static void put_one_sample(struct otlp_writer *writer, const struct profile_sample *sample,
	uint32_t link, uint64_t count)
{
	const size_t begin = protobuf_begin(&writer->message, OTLP_PROFILE_SAMPLE);

	put_place(writer, sample);
	protobuf_u64(&writer->message, OTLP_SAMPLE_LINK, link);
	put_value(writer, count);
	protobuf_end(&writer->message, begin);
}

/* Writes the counts of a sample that are of a span. Returns how many they are. */
static uint64_t put_spans(struct otlp_writer *writer, uint32_t sample)
{
	const struct profile *profile = writer->profile;
	const struct profile_span_count *count = NULL;
	uint64_t left = profile->samples.items[sample].count, sum = 0;

	while ((count = profile_spans_next(&profile->spans, sample, count)) && sum < left) {
		uint64_t value = count->count < left - sum ? count->count : left - sum;

		if (value > 0)
			put_one_sample(
				writer, &profile->samples.items[sample], count->span + 1, value);
		sum += value;
	}
	return sum;
}

static uint64_t timed_count(const struct profile *profile, uint32_t sample)
{
	uint64_t sum = 0;
	size_t count;
	const struct profile_stamp *stamps = profile_stamps_of(profile, sample, &count);

	for (size_t i = 0; i < count; i++)
		sum += stamps[i].count;
	return sum;
}

/* Writes the counts of a sample that have a time: a value for each time. */
static void put_timed_sample(struct otlp_writer *writer, uint32_t sample)
{
	struct protobuf *message = &writer->message;
	size_t count, begin, field;
	const struct profile_stamp *stamps = profile_stamps_of(writer->profile, sample, &count);

	if (count == 0)
		return;
	begin = protobuf_begin(message, OTLP_PROFILE_SAMPLE);
	put_place(writer, &writer->profile->samples.items[sample]);
	field = protobuf_begin(message, OTLP_SAMPLE_VALUES);
	for (size_t i = 0; i < count; i++)
		put_bare_value(writer, stamps[i].count);
	protobuf_end(message, field);
	field = protobuf_begin(message, OTLP_SAMPLE_TIMES);
	for (size_t i = 0; i < count; i++)
		protobuf_bare_fixed64(message, stamps[i].time_ns);
	protobuf_end(message, field);
	protobuf_end(message, begin);
}

/* Writes the sample at `first`, with those that are equal to it. Returns the next. */
static size_t put_sample(struct otlp_writer *writer, size_t first)
{
	const struct pprof_tables *tables = &writer->tables;
	const struct profile_sample *samples = writer->profile->samples.items;
	uint64_t count = 0;
	size_t i = first;

	for (; i < tables->sample_count &&
		pprof_tables_same_sample(tables, tables->samples[first], tables->samples[i]);
		i++) {
		uint64_t left = samples[tables->samples[i]].count;

		left -= put_spans(writer, tables->samples[i]);
		left -= timed_count(writer->profile, tables->samples[i]);
		if (__builtin_add_overflow(count, left, &count))
			count = UINT64_MAX;
	}
	if (count > 0)
		put_one_sample(writer, &samples[tables->samples[first]], 0, count);
	return i;
}

static bool has_losses(const struct otlp_writer *writer)
{
	for (size_t i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		if (writer->tables.extra_location_ids[i] > 0)
			return true;
	return false;
}

static void put_losses(struct otlp_writer *writer)
{
	for (enum pilotlight_drop reason = 0; reason < PILOTLIGHT_DROP_COUNT; reason++) {
		size_t begin;

		if (writer->tables.extra_location_ids[reason] == 0)
			continue;
		begin = protobuf_begin(&writer->message, OTLP_PROFILE_SAMPLE);
		protobuf_u64(&writer->message, OTLP_SAMPLE_STACK, stack_of_extra(writer, reason));
		put_value(writer, writer->profile->accounts.dropped[reason]);
		protobuf_end(&writer->message, begin);
	}
}

/* --- profiles --- */

static void put_value_type(
	struct otlp_writer *writer, uint32_t field, const char *type, const char *unit)
{
	const uint32_t type_string = pprof_tables_text(&writer->tables, type);
	const uint32_t unit_string = pprof_tables_text(&writer->tables, unit);
	const size_t begin = protobuf_begin(&writer->message, field);

	protobuf_u64(&writer->message, OTLP_VALUE_TYPE_TYPE, type_string);
	protobuf_u64(&writer->message, OTLP_VALUE_TYPE_UNIT, unit_string);
	protobuf_end(&writer->message, begin);
}

/* Receivers crash without a period type, so that of amounts is empty. */
static void put_types(struct otlp_writer *writer)
{
	const struct event_source *source = source_of(writer->profile);
	char text[EVENT_TYPE_BYTES];
	const char *type = event_source_type(
		string_pool_get(&writer->profile->strings, writer->profile->event), text);

	if (!event_source_is_cpu(source)) {
		put_value_type(writer, OTLP_PROFILE_SAMPLE_TYPE, type, source->unit);
		put_value_type(writer, OTLP_PROFILE_PERIOD_TYPE, "", "");
		return;
	}
	put_value_type(writer, OTLP_PROFILE_SAMPLE_TYPE, "samples", "count");
	put_value_type(writer, OTLP_PROFILE_PERIOD_TYPE, type, source->unit);
	protobuf_u64(&writer->message, OTLP_PROFILE_PERIOD, writer->profile->period_ns);
}

static void put_time(struct otlp_writer *writer, bool is_timed)
{
	const struct profile *profile = writer->profile;

	protobuf_fixed64(&writer->message, OTLP_PROFILE_TIME_NS, profile->start_ns);
	/* Receivers divide by this, so it excludes time that was not recorded. Times of samples
	 * must lie within. */
	protobuf_u64(&writer->message, OTLP_PROFILE_DURATION_NS,
		profile->covered_ns > 0 && !is_timed  ? profile->covered_ns
		: profile->end_ns > profile->start_ns ? profile->end_ns - profile->start_ns
						      : 0);
}

static void put_id(struct otlp_writer *writer, const struct pprof_cgroup *service, bool is_timed)
{
	const struct service_identity identity = identity_of(writer, service);
	uint8_t id[PROFILE_ID_BYTES];

	service_identity_profile_id(writer->profile, writer->host, &identity, is_timed, id);
	protobuf_bytes(&writer->message, OTLP_PROFILE_ID, id, sizeof(id));
}

static struct pprof_cgroup service_at(struct otlp_writer *writer, size_t i)
{
	const struct profile *profile = writer->profile;
	const struct profile_sample *sample = &profile->samples.items[writer->tables.samples[i]];

	return pprof_tables_service(&writer->tables, &profile->threads.items[sample->thread]);
}

static void put_about(struct otlp_writer *writer, const struct pprof_cgroup *service, bool is_timed)
{
	put_types(writer);
	put_time(writer, is_timed);
	put_id(writer, service, is_timed);
}

static size_t end_of_service(
	struct otlp_writer *writer, const struct pprof_cgroup *service, size_t first)
{
	for (; first < writer->tables.sample_count; first++) {
		const struct pprof_cgroup next = service_at(writer, first);

		if (!pprof_service_equal(&next, service))
			break;
	}
	return first;
}

/* How many of a service's samples have counts with a time, or without one. */
static size_t count_samples(struct otlp_writer *writer, size_t first, size_t end, bool is_timed)
{
	size_t sum = 0;

	for (size_t i = first; i < end; i++) {
		const uint32_t sample = writer->tables.samples[i];
		const uint64_t timed = timed_count(writer->profile, sample);

		sum += is_timed ? timed > 0 : timed < writer->profile->samples.items[sample].count;
	}
	return sum;
}

/* All samples of a profile must have the same shape. So those with times are one of their own. */
static void put_timed_profile(
	struct otlp_writer *writer, const struct pprof_cgroup *service, size_t first, size_t end)
{
	size_t profile;

	if (count_samples(writer, first, end, true) == 0)
		return;
	profile = protobuf_begin(&writer->message, SCOPE_PROFILES_PROFILE);
	put_about(writer, service, true);
	for (size_t i = first; i < end; i++)
		put_timed_sample(writer, writer->tables.samples[i]);
	protobuf_end(&writer->message, profile);
}

static void put_profile(
	struct otlp_writer *writer, const struct pprof_cgroup *service, size_t first, size_t end)
{
	const struct pprof_cgroup none = { 0 };
	const bool shows_losses = pprof_service_equal(service, &none) && has_losses(writer);
	size_t profile;

	if (!shows_losses && count_samples(writer, first, end, false) == 0)
		return;
	profile = protobuf_begin(&writer->message, SCOPE_PROFILES_PROFILE);
	put_about(writer, service, false);
	if (shows_losses)
		put_losses(writer);
	while (first < end)
		first = put_sample(writer, first);
	protobuf_end(&writer->message, profile);
}

/* Writes the resource of a service, whose samples begin at `first`. Returns the first of the next.
 */
static size_t write_resource(
	struct otlp_writer *writer, const struct pprof_cgroup *service, size_t first)
{
	const size_t end = end_of_service(writer, service, first);
	struct protobuf *message = &writer->message;
	const size_t begin = protobuf_begin(message, REQUEST_RESOURCE_PROFILES);
	size_t scopes;

	put_resource(writer, service);
	scopes = protobuf_begin(message, RESOURCE_PROFILES_SCOPES);
	put_scope(message);
	put_timed_profile(writer, service, first, end);
	put_profile(writer, service, first, end);
	protobuf_end(message, scopes);
	protobuf_end(message, begin);
	send(writer);
	return end;
}

/* Samples without a service come first. */
static void write_resources(struct otlp_writer *writer)
{
	const struct pprof_cgroup none = { 0 };
	size_t i = 0;

	if (has_losses(writer))
		i = write_resource(writer, &none, 0);
	while (i < writer->tables.sample_count && first_error(writer) == 0) {
		const struct pprof_cgroup service = service_at(writer, i);

		i = write_resource(writer, &service, i);
	}
}

int otlp_write(const struct profile *profile, enum pprof_labels labels, const char *host,
	const char *attributes, struct output *output)
{
	_cleanup_(writer_freep) struct otlp_writer *writer = calloc(1, sizeof(*writer));
	int r;

	if (!writer)
		return -ENOMEM;
	writer->profile = profile;
	/* Viewers of this format show attributes, so it needs no roots for them. */
	writer->labels = labels == PPROF_LABELS_SERVICE ? labels : PPROF_LABELS_ALL;
	writer->host = host;
	writer->host_attributes = attributes;
	r = writer_init(writer, output);
	if (r < 0)
		return r;
	write_resources(writer);
	otlp_put_dictionary(writer);
	send(writer);
	r = first_error(writer);
	if (r == 0)
		r = output_finish(&writer->plain);
	return r < 0 ? r : gzip_finish(writer->gzip);
}
