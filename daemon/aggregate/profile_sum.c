/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/profile_sum.h"

#include "base/array.h"

#include <errno.h>
#include <stdlib.h>

/* A part on its way into the sum. The arrays map its ids to those of the sum. */
struct carrying {
	const struct profile *part;
	struct profile *sum;
	struct hash_index *binary_index; /* of the sum's binaries; borrowed */
	uint32_t *binaries, *locations, *nodes, *threads;
	struct profile_frame *frames; /* of the location that is being carried */
	size_t frame_capacity;
};

static void carrying_done(struct carrying *carrying)
{
	free(carrying->binaries);
	free(carrying->locations);
	free(carrying->nodes);
	free(carrying->threads);
	free(carrying->frames);
}

static int carrying_init(struct carrying *carrying)
{
	const struct profile *part = carrying->part;

	carrying->binaries = calloc(part->binaries.count + 1, sizeof(uint32_t));
	carrying->locations = calloc(part->locations.count + 1, sizeof(uint32_t));
	carrying->nodes = calloc(part->nodes.count + 1, sizeof(uint32_t));
	carrying->threads = calloc(part->threads.count + 1, sizeof(uint32_t));
	return carrying->binaries && carrying->locations && carrying->nodes && carrying->threads
		       ? 0
		       : -ENOMEM;
}

static int carry_string(struct carrying *carrying, uint32_t string, uint32_t *ret_string)
{
	return profile_add_string(
		carrying->sum, string_pool_get(&carrying->part->strings, string), ret_string);
}

static bool binary_equal(const void *owner, uint32_t id, const void *key)
{
	return profile_binary_equal(&((const struct profile *)owner)->binaries.items[id], key);
}

static int carry_binaries(struct carrying *carrying)
{
	struct profile *sum = carrying->sum;

	for (size_t i = 0; i < carrying->part->binaries.count; i++) {
		struct profile_binary binary = carrying->part->binaries.items[i];
		uint64_t hash;
		uint32_t id;
		int r;

		/* The sum has one of its own (profile_add_synthetic()). */
		if (binary.kind == BINARY_SYNTHETIC)
			continue;
		r = carry_string(carrying, binary.path, &binary.path);
		if (r < 0)
			return r;
		hash = profile_binary_hash(&binary);
		id = hash_index_find(carrying->binary_index, hash, binary_equal, sum, &binary);
		if (id == HASH_INDEX_NONE) {
			r = hash_index_reserve(carrying->binary_index);
			if (r == 0)
				r = profile_add_binary(sum, &binary, &id);
			if (r < 0)
				return r;
			hash_index_insert(carrying->binary_index, hash, id);
		}
		carrying->binaries[i] = id;
	}
	return 0;
}

static int carry_frames(struct carrying *carrying, const struct profile_location *location)
{
	int r = ARRAY_RESERVE(carrying->frames, &carrying->frame_capacity,
		(size_t)location->frame_count + 1, UINT32_MAX);

	for (uint32_t i = 0; r == 0 && i < location->frame_count; i++) {
		struct profile_frame *frame = &carrying->frames[i];

		*frame = carrying->part->frames.items[location->first_frame + i];
		r = carry_string(carrying, frame->function, &frame->function);
		if (r == 0)
			r = carry_string(carrying, frame->file, &frame->file);
	}
	return r;
}

static int carry_location(
	struct carrying *carrying, const struct profile_location *location, uint32_t *ret_location)
{
	const struct profile *part = carrying->part;
	struct profile *sum = carrying->sum;
	uint32_t binary = carrying->binaries[location->binary];
	int r;

	if (part->binaries.items[location->binary].kind == BINARY_SYNTHETIC)
		return profile_add_synthetic(sum,
			string_pool_get(
				&part->strings, part->frames.items[location->first_frame].function),
			ret_location);
	r = carry_frames(carrying, location);
	if (r < 0)
		return r;
	if (location->function != 0)
		return profile_add_jit_location(
			sum, binary, location->address, carrying->frames, ret_location);
	r = profile_add_location(sum, binary, location->address, ret_location);
	if (r < 0 || location->frame_count == 0 ||
		sum->locations.items[*ret_location].frame_count > 0)
		return r;
	return profile_name_location(sum, *ret_location, carrying->frames, location->frame_count);
}

static int carry_stacks(struct carrying *carrying)
{
	const struct profile *part = carrying->part;
	int r = 0;

	for (size_t i = 0; r == 0 && i < part->locations.count; i++)
		r = carry_location(carrying, &part->locations.items[i], &carrying->locations[i]);
	/* A node's parent has a lower id. Node 0 is the root in both. */
	for (size_t i = 1; r == 0 && i < part->nodes.count; i++) {
		const struct profile_node *node = &part->nodes.items[i];

		r = profile_add_node(carrying->sum, carrying->nodes[node->parent],
			carrying->locations[node->location], &carrying->nodes[i]);
	}
	return r;
}

static int carry_threads(struct carrying *carrying)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < carrying->part->threads.count; i++) {
		struct profile_thread thread = carrying->part->threads.items[i];

		r = carry_string(carrying, thread.comm, &thread.comm);
		if (r == 0)
			r = carry_string(carrying, thread.exe, &thread.exe);
		if (r == 0)
			r = carry_string(carrying, thread.cgroup, &thread.cgroup);
		if (r == 0)
			r = carry_string(carrying, thread.claims, &thread.claims);
		if (r == 0)
			r = profile_add_thread(carrying->sum, &thread, &carrying->threads[i]);
	}
	return r;
}

static void carry_spans(
	struct carrying *carrying, uint32_t part_sample, struct profile_sample sample)
{
	const struct profile_spans *spans = &carrying->part->spans;
	const struct profile_span_count *count = NULL;

	while ((count = profile_spans_next(spans, part_sample, count))) {
		if (__builtin_mul_overflow(count->count, carrying->part->period_ns, &sample.count))
			sample.count = UINT64_MAX;
		profile_note_span(carrying->sum, &sample, &spans->items[count->span]);
	}
}

static void carry_stamps(
	struct carrying *carrying, uint32_t part_sample, struct profile_sample sample)
{
	size_t count;
	const struct profile_stamp *stamps = profile_stamps_of(carrying->part, part_sample, &count);

	for (size_t i = 0; i < count; i++) {
		if (__builtin_mul_overflow(
			    stamps[i].count, carrying->part->period_ns, &sample.count))
			sample.count = UINT64_MAX;
		profile_note_stamp(carrying->sum, &sample, stamps[i].time_ns);
	}
}

/* As amounts: counts times the period. */
static int carry_samples(struct carrying *carrying)
{
	const struct profile *part = carrying->part;
	int r = 0;

	for (size_t i = 0; r == 0 && i < part->samples.count; i++) {
		struct profile_sample sample = part->samples.items[i];

		if (__builtin_mul_overflow(sample.count, part->period_ns, &sample.count))
			sample.count = UINT64_MAX;
		sample.node = carrying->nodes[sample.node];
		sample.thread = carrying->threads[sample.thread];
		r = profile_add_sample(carrying->sum, &sample);
		if (r == 0) {
			carry_spans(carrying, (uint32_t)i, sample);
			carry_stamps(carrying, (uint32_t)i, sample);
		}
	}
	return r;
}

static int add_part(
	struct profile *sum, struct hash_index *binary_index, const struct profile *part)
{
	_cleanup_(carrying_done) struct carrying carrying = {
		.part = part,
		.sum = sum,
		.binary_index = binary_index,
	};
	uint64_t longest_ns = part->longest_period_ns > part->period_ns ? part->longest_period_ns
									: part->period_ns;
	int r = carrying_init(&carrying);

	if (r == 0)
		r = carry_binaries(&carrying);
	if (r == 0)
		r = carry_stacks(&carrying);
	if (r == 0)
		r = carry_threads(&carrying);
	if (r == 0)
		r = carry_samples(&carrying);
	accounts_add_weighted(&sum->accounts, &part->accounts, part->period_ns);
	if (sum->period_ns == 0 || part->period_ns < sum->period_ns)
		sum->period_ns = part->period_ns;
	if (longest_ns > sum->longest_period_ns)
		sum->longest_period_ns = longest_ns;
	return r;
}

int profile_sum_new(const struct profile *const *parts, size_t count, const char *event,
	size_t limit_bytes, struct profile **ret_sum)
{
	_cleanup_(profile_freep) struct profile *sum = NULL;
	struct hash_index binary_index = { 0 };
	int r = profile_new(limit_bytes, &sum);

	if (r < 0)
		return r;
	sum->start_ns = parts[0]->start_ns;
	sum->end_ns = parts[0]->end_ns;
	sum->covered_ns = parts[0]->covered_ns;
	sum->possible_cpu_ns = parts[0]->possible_cpu_ns;
	sum->cpu_count = parts[0]->cpu_count;
	sum->keeps_spans = true;
	r = profile_add_string(sum, event, &sum->event);
	for (size_t i = 0; r == 0 && i < count; i++)
		r = add_part(sum, &binary_index, parts[i]);
	hash_index_done(&binary_index);
	if (r < 0)
		return r;
	profile_divide(sum);
	profile_sort_stamps(sum);
	*ret_sum = TAKE_PTR(sum);
	return 0;
}
