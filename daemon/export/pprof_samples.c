/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writes the samples and the losses. */
#include "export/pprof_fields.h"
#include "export/pprof_writer.h"

static uint64_t add(uint64_t a, uint64_t b)
{
	return __builtin_add_overflow(a, b, &a) ? UINT64_MAX : a;
}

static void put_values(struct pprof_writer *writer, uint64_t count)
{
	size_t begin = protobuf_begin(&writer->part, SAMPLE_VALUE);
	uint64_t amount;

	if (__builtin_mul_overflow(count, writer->profile->period_ns, &amount))
		amount = UINT64_MAX;
	protobuf_varint(&writer->part, pprof_saturate(count));
	protobuf_varint(&writer->part, pprof_saturate(amount));
	protobuf_end(&writer->part, begin);
}

static void put_label(struct pprof_writer *writer, uint32_t key, uint32_t field, uint64_t value)
{
	size_t begin = protobuf_begin(&writer->part, SAMPLE_LABEL);

	protobuf_u64(&writer->part, LABEL_KEY, key);
	protobuf_u64(&writer->part, field, value);
	protobuf_end(&writer->part, begin);
}

/* Omits an empty text, which readers would take for a number. */
static void put_text(struct pprof_writer *writer, uint32_t key, uint32_t text)
{
	if (text != 0)
		put_label(writer, key, LABEL_TEXT, text);
}

static void put_thread_labels(struct pprof_writer *writer, const struct profile_thread *thread)
{
	const struct pprof_keys *keys = &writer->keys;
	struct pprof_tables *tables = &writer->tables;

	put_text(writer, keys->comm, pprof_tables_string(tables, thread->comm));
	/* Merged threads have neither number. */
	if (thread->tgid != 0 || thread->tid != 0) {
		put_label(writer, keys->pid, LABEL_NUMBER, thread->tgid);
		put_label(writer, keys->tid, LABEL_NUMBER, thread->tid);
	}
	if (thread->owner != 0)
		put_label(writer, keys->user, LABEL_NUMBER, thread->owner - 1);
	put_text(writer, keys->executable, pprof_tables_string(tables, thread->exe));
	put_text(writer, keys->cgroup, pprof_tables_string(tables, thread->cgroup));
	for (enum process_claim i = 0; i < CLAIM_COUNT; i++)
		put_text(writer, keys->claims[i], pprof_tables_claim(tables, thread, i));
}

static void put_labels(struct pprof_writer *writer, const struct profile_thread *thread)
{
	const struct pprof_keys *keys = &writer->keys;
	struct pprof_cgroup cgroup;

	if (writer->tables.labels == PPROF_LABELS_NONE)
		return;
	if (writer->tables.labels != PPROF_LABELS_SERVICE)
		put_thread_labels(writer, thread);
	cgroup = pprof_tables_cgroup(&writer->tables, thread->cgroup);
	put_text(writer, keys->unit, cgroup.unit);
	put_text(writer, keys->container, cgroup.container);
	put_text(writer, keys->pod, cgroup.pod);
}

static void put_stack(struct pprof_writer *writer, const struct profile_sample *sample)
{
	const struct profile_node *nodes = writer->profile->nodes.items;
	const uint32_t *comms = writer->tables.comm_location_ids;
	uint32_t node = sample->node;
	size_t begin = protobuf_begin(&writer->part, SAMPLE_LOCATION);

	if (node == PROFILE_ROOT)
		protobuf_varint(&writer->part, writer->tables.extra_location_ids[PPROF_NO_STACK]);
	for (; node != PROFILE_ROOT; node = nodes[node].parent)
		protobuf_varint(&writer->part, writer->tables.location_ids[nodes[node].location]);
	if (comms)
		protobuf_varint(
			&writer->part, comms[writer->profile->threads.items[sample->thread].comm]);
	protobuf_end(&writer->part, begin);
}

static void put_span_labels(
	struct pprof_writer *writer, const struct pilotlight_thread_context *ids)
{
	char trace[TRACE_ID_TEXT_BYTES], span[SPAN_ID_TEXT_BYTES];

	put_text(writer, writer->keys.trace_id,
		pprof_tables_text(&writer->tables, trace_id_format(ids, trace)));
	put_text(writer, writer->keys.span_id,
		pprof_tables_text(&writer->tables, span_id_format(ids, span)));
}

static void put_time(struct pprof_writer *writer, uint64_t time_ns)
{
	size_t begin = protobuf_begin(&writer->part, SAMPLE_LABEL);

	protobuf_u64(&writer->part, LABEL_KEY, writer->keys.time);
	protobuf_u64(&writer->part, LABEL_NUMBER, time_ns);
	protobuf_u64(&writer->part, LABEL_UNIT, writer->keys.time_unit);
	protobuf_end(&writer->part, begin);
}

/* `ids` NULL: of no span; `time_ns` 0: of no time. */
static void put_sample(struct pprof_writer *writer, const struct profile_sample *sample,
	const struct pilotlight_thread_context *ids, uint64_t time_ns, uint64_t count)
{
	const size_t begin = protobuf_begin(&writer->part, PROFILE_SAMPLE);

	put_stack(writer, sample);
	put_values(writer, count);
	put_labels(writer, &writer->profile->threads.items[sample->thread]);
	if (ids)
		put_span_labels(writer, ids);
	if (time_ns > 0)
		put_time(writer, time_ns);
	protobuf_end(&writer->part, begin);
	pprof_writer_send(writer);
}

/* Writes the counts of a sample that are of a span. Returns how many they are. */
static uint64_t put_spans(struct pprof_writer *writer, uint32_t sample)
{
	const struct profile *profile = writer->profile;
	const struct profile_span_count *count = NULL;
	uint64_t left = profile->samples.items[sample].count, sum = 0;

	/* Each would be a series where labels are of services. */
	if (writer->tables.labels == PPROF_LABELS_NONE ||
		writer->tables.labels == PPROF_LABELS_SERVICE)
		return 0;
	while ((count = profile_spans_next(&profile->spans, sample, count)) && sum < left) {
		uint64_t value = count->count < left - sum ? count->count : left - sum;

		if (value > 0)
			put_sample(writer, &profile->samples.items[sample],
				&profile->spans.items[count->span], 0, value);
		sum += value;
	}
	return sum;
}

/* Writes the counts of a sample that have a time. Returns how many they are. */
static uint64_t put_stamps(struct pprof_writer *writer, uint32_t sample)
{
	const struct profile *profile = writer->profile;
	uint64_t sum = 0;
	size_t count;
	const struct profile_stamp *stamps = profile_stamps_of(profile, sample, &count);

	for (size_t i = 0; i < count; i++) {
		put_sample(writer, &profile->samples.items[sample], NULL, stamps[i].time_ns,
			stamps[i].count);
		sum += stamps[i].count;
	}
	return sum;
}

void pprof_write_samples(struct pprof_writer *writer)
{
	const struct profile_sample *samples = writer->profile->samples.items;
	const struct pprof_tables *tables = &writer->tables;

	for (size_t i = 0; i < tables->sample_count;) {
		uint32_t first = tables->samples[i];
		uint64_t count = 0;

		for (; i < tables->sample_count; i++) {
			uint32_t sample = tables->samples[i];

			if (!pprof_tables_same_sample(tables, first, sample))
				break;
			count = add(count, samples[sample].count - put_spans(writer, sample) -
						   put_stamps(writer, sample));
		}
		if (count > 0)
			put_sample(writer, &samples[first], NULL, 0, count);
	}
}

void pprof_write_losses(struct pprof_writer *writer)
{
	for (enum pilotlight_drop reason = 0; reason < PILOTLIGHT_DROP_COUNT; reason++) {
		uint32_t location = writer->tables.extra_location_ids[reason];
		size_t begin, stack;

		if (location == 0)
			continue;
		begin = protobuf_begin(&writer->part, PROFILE_SAMPLE);
		stack = protobuf_begin(&writer->part, SAMPLE_LOCATION);
		protobuf_varint(&writer->part, location);
		protobuf_end(&writer->part, stack);
		put_values(writer, writer->profile->accounts.dropped[reason]);
		protobuf_end(&writer->part, begin);
		pprof_writer_send(writer);
	}
}
