/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Profiles for the tests of pprof, by name and address, and what was written of them. */
#pragma once

#include "export/pprof.h"
#include "tests/export/pprof_decoder.h"

enum { BUDGET = 64 << 20, OUTPUT_LIMIT = 64 << 20 };

static inline uint32_t string(struct profile *profile, const char *text)
{
	uint32_t id;

	assert_int_equal(profile_add_string(profile, text, &id), 0);
	return id;
}

static inline struct profile *new_profile(void)
{
	struct profile *profile;

	assert_int_equal(profile_new(BUDGET, &profile), 0);
	profile->start_ns = 1790000000000000000;
	profile->end_ns = profile->start_ns + 2500000000;
	profile->period_ns = 10101010;
	profile->cpu_count = 4;
	profile->event = string(profile, "cpu-clock");
	return profile;
}

static inline uint32_t add_binary(struct profile *profile, enum binary_kind kind, const char *path)
{
	struct profile_binary binary = { .kind = kind, .path = string(profile, path) };
	uint32_t id;

	assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
	return id;
}

/* A library of a build-id, which has no byte of zero. */
static inline uint32_t add_file(struct profile *profile, const char *path, const char *build_id)
{
	struct profile_binary binary = { .kind = BINARY_LIBRARY, .path = string(profile, path) };
	uint32_t id;

	assert_int_equal(build_id_set(&binary.build_id, build_id, strlen(build_id)), 0);
	assert_int_equal(profile_add_binary(profile, &binary, &id), 0);
	return id;
}

static inline uint32_t add_location(struct profile *profile, uint32_t binary, uint64_t address)
{
	uint32_t id;

	assert_int_equal(profile_add_location(profile, binary, address, &id), 0);
	return id;
}

static inline uint32_t add_named(struct profile *profile, uint32_t binary, uint64_t address,
	const char *name, const char *file, uint32_t line)
{
	struct profile_frame frame = {
		.function = string(profile, name),
		.file = string(profile, file),
		.line = line,
		.column = line / 2,
	};
	uint32_t id = add_location(profile, binary, address);

	assert_int_equal(profile_name_location(profile, id, &frame, 1), 0);
	return id;
}

/* A stack, root first. */
static inline uint32_t add_stack(struct profile *profile, const uint32_t *locations, size_t count)
{
	uint32_t node = PROFILE_ROOT;

	for (size_t i = 0; i < count; i++)
		assert_int_equal(profile_add_node(profile, node, locations[i], &node), 0);
	return node;
}

static inline void add_sample(
	struct profile *profile, uint32_t node, const struct profile_thread *thread, uint64_t count)
{
	struct profile_sample sample = { .count = count, .node = node };

	assert_int_equal(profile_add_thread(profile, thread, &sample.thread), 0);
	assert_int_equal(profile_add_sample(profile, &sample), 0);
}

/* Notes that so many of the sample's counts are of a span, whose ids are of these bytes. */
static inline void add_span(struct profile *profile, uint32_t node,
	const struct profile_thread *thread, uint64_t count, int trace, int span)
{
	struct profile_sample sample = { .count = count, .node = node };
	struct pilotlight_thread_context ids;

	memset(ids.trace_id, trace, sizeof(ids.trace_id));
	memset(ids.span_id, span, sizeof(ids.span_id));
	profile->keeps_spans = true;
	assert_int_equal(profile_add_thread(profile, thread, &sample.thread), 0);
	profile_note_span(profile, &sample, &ids);
}

/* Notes that so many of the sample's counts are of a time. */
static inline void add_stamp(struct profile *profile, uint32_t node,
	const struct profile_thread *thread, uint64_t count, uint64_t time_ns)
{
	struct profile_sample sample = { .count = count, .node = node };

	assert_int_equal(profile_add_thread(profile, thread, &sample.thread), 0);
	profile_note_stamp(profile, &sample, time_ns);
	profile_sort_stamps(profile);
}

static inline void write_with(
	const struct profile *profile, enum pprof_labels labels, struct output_memory *memory)
{
	struct output output;

	*memory = (struct output_memory){ .limit_bytes = OUTPUT_LIMIT };
	output_init(&output, output_to_memory, memory);
	assert_int_equal(pprof_write(profile, labels, &output), 0);
	assert_int_equal(output_finish(&output), 0);
}

static inline void write_to_memory(const struct profile *profile, struct output_memory *memory)
{
	write_with(profile, PPROF_LABELS_ALL, memory);
}

/* Writes, frees the profile, reads back and checks. */
static inline void round_trip(struct profile *profile, struct decoded *decoded)
{
	struct output_memory memory;

	write_to_memory(profile, &memory);
	profile_free(profile);
	decode(decoded, memory.bytes, memory.size);
	free(memory.bytes);
}

#define ASSERT_STRING(decoded, id, text) assert_true(decoded_string_is((decoded), (id), (text)))

static inline void assert_function(
	const struct decoded *decoded, const uint64_t *line, const char *name, const char *file)
{
	const uint64_t *function = decoded->functions[line[1] - 1];

	ASSERT_STRING(decoded, function[2], name);
	ASSERT_STRING(decoded, function[3], name);
	ASSERT_STRING(decoded, function[4], file);
}

/* The text of the "key=" comment, or a failure. */
static inline void assert_comment(const struct decoded *decoded, const char *text)
{
	for (size_t i = 0; i < decoded->comment_count; i++)
		if (decoded_string_is(decoded, decoded->comments[i], text))
			return;
	fail_msg("no comment says \"%s\"", text);
}

static inline const struct decoded_location *location_of(
	const struct decoded *decoded, size_t sample, size_t depth)
{
	assert_true(sample < decoded->sample_count);
	assert_true(depth < decoded->samples[sample].location_count);
	return &decoded->locations[decoded->samples[sample].locations[depth] - 1];
}

static inline const uint64_t *label_of(
	const struct decoded *decoded, size_t sample, const char *key)
{
	const struct decoded_sample *of = &decoded->samples[sample];

	for (size_t i = 0; i < of->label_count; i++)
		if (decoded_string_is(decoded, of->labels[i][1], key))
			return of->labels[i];
	return NULL;
}
