/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/aggregator.h"

#include "base/array.h"
#include "base/utf8.h"
#include "labels/cgroup_path.h"
#include "resolve/tracing_frames.h"
#include "resolve/wait_reason.h"

#include <errno.h>
#include <string.h>

enum {
	NO_BINARY = UINT32_MAX,
	/* Weighed before a frame is added: at most two new strings, and one element of each kind.
	 */
	FRAME_STRING_BYTES = 2 * (UTF8_CLEAN_BYTES + 32),
	FRAME_ELEMENT_BYTES = 256,
};

static const char over_quota[] = "[names over quota]";

#define SEGMENTS ((size_t)ELF_IMAGE_SEGMENTS_MAX)

struct aggregator {
	struct profile *profile;
	const struct binary_table *binaries;
	struct user_excess *excess;	     /* borrowed */
	struct aggregator_quota own, *quota; /* of the profile's budget; the one in force */
	/* Of the sample that is being added: its user, and the profile's size before it. */
	uint64_t user;
	uint32_t owner; /* as profile_thread.owner */
	size_t string_bytes, element_bytes;
	/*
	 * By the binary table's id and the executable segment, and the other way round: a mapping
	 * of pprof has one offset, so each segment is a binary of the profile.
	 */
	uint32_t *profile_binaries;
	size_t profile_binaries_count, profile_binaries_capacity;
	uint32_t *table_binaries;
	size_t table_binaries_count, table_binaries_capacity;
};

void aggregator_quota_init(
	struct aggregator_quota *quota, size_t limit_bytes, struct aggregator_quota *within)
{
	*quota = (struct aggregator_quota){
		.strings.capacity = limit_bytes / PROFILE_STRING_PARTS,
		.elements.capacity = profile_sure_element_bytes(limit_bytes),
		.spans.capacity = profile_span_bytes(limit_bytes),
		.within = within,
	};
}

static bool has_room(
	const struct aggregator_quota *quota, uint64_t user, size_t strings, size_t elements)
{
	for (; quota; quota = quota->within)
		if (!user_share_has_room(&quota->strings, user, strings) ||
			!user_share_has_room(&quota->elements, user, elements))
			return false;
	return true;
}

static void charge(struct aggregator_quota *quota, uint64_t user, size_t strings, size_t elements)
{
	for (; quota; quota = quota->within) {
		user_share_add(&quota->strings, user, strings);
		user_share_add(&quota->elements, user, elements);
	}
}

/* Spans that have no room leave their samples whole. */
static void note_span(struct aggregator *aggregator, const struct raw_sample *sample,
	const struct profile_sample *added)
{
	const struct profile_spans *spans = &aggregator->profile->spans;
	const size_t before = profile_spans_element_bytes(spans);
	struct aggregator_quota *quota;

	if (thread_context_is_none(&sample->context))
		return;
	for (quota = aggregator->quota; quota; quota = quota->within)
		if (!user_share_has_room(&quota->spans, aggregator->user, PROFILE_SPAN_BYTES))
			return;
	profile_note_span(aggregator->profile, added, &sample->context);
	for (quota = aggregator->quota; quota; quota = quota->within)
		user_share_add(&quota->spans, aggregator->user,
			profile_spans_element_bytes(spans) - before);
}

int aggregator_new(struct profile *profile, const struct binary_table *binaries,
	struct user_excess *excess, struct aggregator **ret_aggregator)
{
	struct aggregator *aggregator = calloc(1, sizeof(*aggregator));

	if (!aggregator)
		return -ENOMEM;
	aggregator->profile = profile;
	aggregator->binaries = binaries;
	aggregator->excess = excess;
	aggregator_quota_init(&aggregator->own, profile->limit_bytes, NULL);
	aggregator->quota = &aggregator->own;
	*ret_aggregator = aggregator;
	return 0;
}

void aggregator_set_quota(struct aggregator *aggregator, struct aggregator_quota *quota)
{
	aggregator->quota = quota;
}

void aggregator_free(struct aggregator *aggregator)
{
	if (!aggregator)
		return;
	free(aggregator->profile_binaries);
	free(aggregator->table_binaries);
	free(aggregator);
}

/* Sets array[position] = value; what lies between the old end and it is NO_BINARY. */
static int set_at(
	uint32_t **array, size_t *count, size_t *capacity, size_t position, uint32_t value)
{
	int r = ARRAY_RESERVE(*array, capacity, position + 1, UINT32_MAX);

	if (r < 0)
		return r;
	while (*count <= position)
		(*array)[(*count)++] = NO_BINARY;
	(*array)[position] = value;
	return 0;
}

static size_t segment_of(const struct elf_image *image, uint64_t address)
{
	for (size_t i = 0; image && i < image->segment_count; i++)
		if (address - image->segments[i].vaddr < image->segments[i].file_bytes)
			return i;
	return 0;
}

static int add_binary(struct aggregator *aggregator, uint32_t table_binary,
	const struct binary *binary, size_t segment, uint32_t *ret_binary)
{
	struct profile_binary added = { .kind = binary->kind, .build_id = binary->build_id };
	uint32_t id = (uint32_t)aggregator->profile->binaries.count;
	int r;

	if (binary->image && segment < binary->image->segment_count) {
		added.text_vaddr = binary->image->segments[segment].vaddr;
		added.text_bytes = binary->image->segments[segment].file_bytes;
		added.text_offset = binary->image->segments[segment].offset;
	}
	r = profile_add_string(aggregator->profile, binary->path, &added.path);
	if (r < 0)
		return r;
	r = set_at(&aggregator->table_binaries, &aggregator->table_binaries_count,
		&aggregator->table_binaries_capacity, id, table_binary);
	if (r < 0)
		return r;
	r = profile_add_binary(aggregator->profile, &added, &id);
	if (r < 0)
		return r;
	r = set_at(&aggregator->profile_binaries, &aggregator->profile_binaries_count,
		&aggregator->profile_binaries_capacity, table_binary * SEGMENTS + segment, id);
	if (r < 0)
		return r;
	*ret_binary = id;
	return 0;
}

static int find_binary(struct aggregator *aggregator, uint32_t table_binary, uint64_t address,
	uint32_t *ret_binary)
{
	struct binary binary;
	size_t segment, place;

	binary_table_get(aggregator->binaries, table_binary, &binary);
	segment = segment_of(binary.image, address);
	place = table_binary * SEGMENTS + segment;
	if (place < aggregator->profile_binaries_count &&
		aggregator->profile_binaries[place] != NO_BINARY) {
		*ret_binary = aggregator->profile_binaries[place];
		return 0;
	}
	return add_binary(aggregator, table_binary, &binary, segment, ret_binary);
}

/* Of code that has no symbols elsewhere. */
static int add_jit_location(struct aggregator *aggregator, const struct resolved_frame *resolved,
	uint32_t *ret_location)
{
	struct profile *profile = aggregator->profile;
	struct profile_frame frame = { .line = resolved->line, .column = resolved->column };
	uint32_t binary;
	int r = find_binary(aggregator, resolved->binary, resolved->address, &binary);

	if (r == 0)
		r = profile_add_string(profile, resolved->name, &frame.function);
	if (r == 0 && resolved->file)
		r = profile_add_string(profile, resolved->file, &frame.file);
	return r < 0 ? r
		     : profile_add_jit_location(
			       profile, binary, resolved->address, &frame, ret_location);
}

static int add_location(struct aggregator *aggregator, const struct resolved_frame *resolved,
	uint32_t *ret_location)
{
	struct profile *profile = aggregator->profile;
	struct profile_frame frame = { 0 };
	uint32_t binary;
	int r;

	if (resolved->binary == RESOLVED_SYNTHETIC)
		return profile_add_synthetic(profile, resolved->name, ret_location);
	if ((resolved->jit || resolved->is_interpreted) && resolved->name)
		return add_jit_location(aggregator, resolved, ret_location);
	r = find_binary(aggregator, resolved->binary, resolved->address, &binary);
	if (r == 0 && resolved->name)
		r = profile_add_string(profile, resolved->name, &frame.function);
	if (r == 0 && resolved->file)
		r = profile_add_string(profile, resolved->file, &frame.file);
	if (r < 0)
		return r;
	frame.line = resolved->line;
	frame.column = resolved->column;
	r = profile_add_location(profile, binary, resolved->address, ret_location);
	if (r < 0 || !resolved->name || profile->locations.items[*ret_location].frame_count > 0)
		return r;
	return profile_name_location(profile, *ret_location, &frame, 1);
}

/* Freezes the profile if the user's share is used up. */
static void weigh(struct aggregator *aggregator)
{
	struct profile *profile = aggregator->profile;
	size_t strings = profile_string_bytes(profile) - aggregator->string_bytes;
	size_t elements = profile_element_bytes(profile) - aggregator->element_bytes;

	profile->is_frozen = !has_room(aggregator->quota, aggregator->user,
		strings + FRAME_STRING_BYTES, elements + FRAME_ELEMENT_BYTES);
}

static int add_frame(
	struct aggregator *aggregator, const struct resolved_frame *frame, uint32_t *node)
{
	uint32_t location;
	int r;

	weigh(aggregator);
	r = add_location(aggregator, frame, &location);
	return r < 0 ? r : profile_add_node(aggregator->profile, *node, location, node);
}

static int add_stack(struct aggregator *aggregator, const struct raw_sample *sample,
	const struct resolved_frame *frames, size_t count, uint32_t *ret_node)
{
	const struct resolved_frame none = { .binary = RESOLVED_SYNTHETIC, .name = "[no stack]" };
	/* A thread that did not run has none: the sampler skips them, and labels the wait. */
	const size_t shown = sample->source > PILOTLIGHT_SOURCE_RUNQUEUE
				     ? count - tracing_frames_count(frames, count)
				     : count;
	const struct resolved_frame last = {
		.binary = RESOLVED_SYNTHETIC,
		.name = wait_reason_frame(sample, frames, count),
	};
	uint32_t node = PROFILE_ROOT;
	int r = 0;

	for (size_t i = 0; r == 0 && i < shown; i++)
		r = add_frame(aggregator, &frames[i], &node);
	/* Idle threads have no stack in common. */
	if (r == 0 && shown == 0 && sample->wait != PILOTLIGHT_WAIT_LONG)
		r = add_frame(aggregator, &none, &node);
	if (r == 0 && last.name)
		r = add_frame(aggregator, &last, &node);
	if (r == 0)
		*ret_node = node;
	return r;
}

static int add_thread(struct aggregator *aggregator, const struct raw_sample *sample,
	const struct aggregator_labels *labels, uint32_t *ret_thread)
{
	struct profile_thread thread = {
		.process_start_ns = sample->process.start_ns,
		.tgid = sample->process.tgid,
		.tid = sample->tid,
		.user = sample->user,
		.owner = aggregator->owner,
	};
	int r;

	r = profile_add_string(aggregator->profile, sample->comm, &thread.comm);
	if (r == 0 && labels)
		r = profile_add_string(aggregator->profile, labels->exe, &thread.exe);
	if (r == 0 && labels)
		r = profile_add_string(aggregator->profile, labels->cgroup, &thread.cgroup);
	if (r == 0 && labels && labels->claims)
		r = profile_add_string(aggregator->profile, labels->claims, &thread.claims);
	return r < 0 ? r : profile_add_thread(aggregator->profile, &thread, ret_thread);
}

static int add_whole(struct aggregator *aggregator, const struct raw_sample *sample,
	const struct aggregator_labels *labels, const struct resolved_frame *frames, size_t count,
	struct profile_sample *added)
{
	int r;

	weigh(aggregator);
	r = add_thread(aggregator, sample, labels, &added->thread);
	if (r == 0)
		r = add_stack(aggregator, sample, frames, count, &added->node);
	if (r == 0)
		r = profile_add_sample(aggregator->profile, added);
	if (r == 0)
		note_span(aggregator, sample, added);
	return r;
}

static int add_nameless_thread(
	struct aggregator *aggregator, const struct raw_sample *sample, uint32_t *ret_thread)
{
	struct profile_thread thread = { .user = sample->user, .owner = aggregator->owner };
	int r = profile_add_string(aggregator->profile, over_quota, &thread.comm);

	return r < 0 ? r : profile_add_thread(aggregator->profile, &thread, ret_thread);
}

static int add_nameless_stack(struct aggregator *aggregator, uint32_t *ret_node)
{
	uint32_t location;
	int r = profile_add_synthetic(aggregator->profile, over_quota, &location);

	return r < 0 ? r : profile_add_node(aggregator->profile, PROFILE_ROOT, location, ret_node);
}

/* Adds the sample with what the profile knows of its thread and its stack, and nothing new. */
static int add_excess(struct aggregator *aggregator, const struct raw_sample *sample,
	const struct aggregator_labels *labels, const struct resolved_frame *frames, size_t count,
	struct profile_sample *added)
{
	struct profile *profile = aggregator->profile;
	int r = add_thread(aggregator, sample, labels, &added->thread);

	profile->is_frozen = false;
	if (r == -E2BIG)
		r = add_nameless_thread(aggregator, sample, &added->thread);
	if (r < 0)
		return r;
	r = add_stack(aggregator, sample, frames, count, &added->node);
	profile->is_frozen = false;
	if (r == -E2BIG)
		r = add_nameless_stack(aggregator, &added->node);
	/* A time would be something new. */
	if (r == 0)
		r = profile_add_untimed(profile, added);
	if (r == 0)
		user_excess_add(aggregator->excess, aggregator->user, USER_WINDOW, sample->count);
	return r;
}

int aggregator_add(struct aggregator *aggregator, const struct raw_sample *sample,
	const struct aggregator_labels *labels, const struct resolved_frame *frames, size_t count)
{
	struct profile *profile = aggregator->profile;
	struct profile_sample added = {
		.count = sample->count,
		.first_ns = sample->first_ns,
		.last_ns = sample->last_ns,
	};
	int r;

	aggregator->user = cgroup_path_user(sample->user, labels ? labels->cgroup : "");
	aggregator->owner = cgroup_path_owner(sample->user, labels ? labels->cgroup : "");
	aggregator->string_bytes = profile_string_bytes(profile);
	aggregator->element_bytes = profile_element_bytes(profile);
	r = add_whole(aggregator, sample, labels, frames, count, &added);
	if (r == -E2BIG && profile->is_frozen)
		r = add_excess(aggregator, sample, labels, frames, count, &added);
	profile->is_frozen = false;
	charge(aggregator->quota, aggregator->user,
		profile_string_bytes(profile) - aggregator->string_bytes,
		profile_element_bytes(profile) - aggregator->element_bytes);
	return r;
}

uint32_t aggregator_table_binary(const struct aggregator *aggregator, uint32_t profile_binary)
{
	return profile_binary < aggregator->table_binaries_count
		       ? aggregator->table_binaries[profile_binary]
		       : (uint32_t)NO_BINARY;
}

void aggregator_holdings(const struct aggregator *aggregator, struct user_holdings *holdings)
{
	user_holdings_add(holdings, USER_WINDOW, &aggregator->quota->strings);
	user_holdings_add(holdings, USER_WINDOW, &aggregator->quota->elements);
}
