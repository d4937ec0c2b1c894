/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "aggregate/profile.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

enum {
	NO_BINARY = UINT32_MAX,
	STRING_BYTES = 24, /* of a string beside its text: the index, its place */
	INDEX_BYTES = 16,  /* of an element in its index, at a mean load */
	GROWTH_SHARE = 4,  /* an array grows by a quarter: a full one may take most of the budget */
	/*
	 * Per cent of the budget. Strings that are weighed as a quarter of it may take 40. An array
	 * that has just grown has a quarter of unused room, and an index that has just doubled 21.3
	 * bytes an element: nodes take 31 % more than they are weighed, other elements less.
	 */
	SURE_PER_CENT = 45,
	/* Of the budget, for times, for spans and for stamps: they must not push out many stacks.
	 */
	TIMES_SHARE = 8,
	SPANS_SHARE = 8,
	STAMPS_SHARE = 4,
};

int profile_new(size_t limit_bytes, struct profile **ret_profile)
{
	_cleanup_(profile_freep) struct profile *profile = calloc(1, sizeof(*profile));
	struct profile_node root = { .parent = PROFILE_ROOT, .location = UINT32_MAX };
	int r;

	if (!profile)
		return -ENOMEM;
	profile->limit_bytes = limit_bytes;
	profile->synthetic_binary = NO_BINARY;
	r = string_pool_init(&profile->strings, limit_bytes / PROFILE_STRING_PARTS);
	if (r < 0)
		return r;
	r = ARRAY_RESERVE(profile->nodes.items, &profile->nodes.capacity, 1, 16);
	if (r < 0)
		return r;
	profile->nodes.items[profile->nodes.count++] = root;
	*ret_profile = TAKE_PTR(profile);
	return 0;
}

void profile_free(struct profile *profile)
{
	if (!profile)
		return;
	string_pool_done(&profile->strings);
	free(profile->binaries.items);
	free(profile->frames.items);
	free(profile->locations.items);
	free(profile->nodes.items);
	free(profile->threads.items);
	free(profile->samples.items);
	free(profile->times.items);
	free(profile->last_times.items);
	profile_spans_done(&profile->spans);
	free(profile->stamps.items);
	hash_index_done(&profile->location_index);
	hash_index_done(&profile->node_index);
	hash_index_done(&profile->thread_index);
	hash_index_done(&profile->sample_index);
	free(profile);
}

#define TABLE_BYTES(table) ((table)->capacity * sizeof(*(table)->items))

size_t profile_bytes(const struct profile *profile)
{
	return sizeof(*profile) + string_pool_bytes(&profile->strings) +
	       TABLE_BYTES(&profile->binaries) + TABLE_BYTES(&profile->frames) +
	       TABLE_BYTES(&profile->locations) + TABLE_BYTES(&profile->nodes) +
	       TABLE_BYTES(&profile->threads) + TABLE_BYTES(&profile->samples) +
	       TABLE_BYTES(&profile->times) + TABLE_BYTES(&profile->last_times) +
	       profile_spans_bytes(&profile->spans) + TABLE_BYTES(&profile->stamps) +
	       hash_index_bytes(&profile->location_index) + hash_index_bytes(&profile->node_index) +
	       hash_index_bytes(&profile->thread_index) + hash_index_bytes(&profile->sample_index);
}

size_t profile_string_bytes(const struct profile *profile)
{
	return profile->strings.size + (size_t)profile->strings.count * STRING_BYTES;
}

size_t profile_element_bytes(const struct profile *profile)
{
	return profile->binaries.count * sizeof(*profile->binaries.items) +
	       profile->frames.count * sizeof(*profile->frames.items) +
	       profile->locations.count * (sizeof(*profile->locations.items) + INDEX_BYTES) +
	       profile->nodes.count * (sizeof(*profile->nodes.items) + INDEX_BYTES) +
	       profile->threads.count * (sizeof(*profile->threads.items) + INDEX_BYTES) +
	       profile->samples.count * (sizeof(*profile->samples.items) + INDEX_BYTES) +
	       profile->times.count * sizeof(*profile->times.items) +
	       profile->last_times.count * sizeof(*profile->last_times.items) +
	       profile_spans_element_bytes(&profile->spans) +
	       profile->stamps.count * sizeof(*profile->stamps.items);
}

size_t profile_sure_element_bytes(size_t limit_bytes)
{
	return limit_bytes / 100 * SURE_PER_CENT;
}

size_t profile_span_bytes(size_t limit_bytes)
{
	return limit_bytes / SPANS_SHARE;
}

/* Does so much more fit into the budgets? */
static bool has_room(const struct profile *profile, size_t growth)
{
	const struct profile_pool *pool = profile->pool;
	size_t bytes = growth;

	if (profile_bytes(profile) + growth > profile->limit_bytes)
		return false;
	for (size_t i = 0; pool && i < pool->count; i++)
		bytes += profile_bytes(pool->members[i]);
	return !pool || bytes <= pool->limit_bytes;
}

/* The size up to which the profile's strings may grow. */
static size_t string_limit(const struct profile *profile)
{
	const struct profile_pool *pool = profile->pool;
	size_t limit = profile->strings.limit_bytes, others = 0, all;

	if (profile->is_frozen)
		return 0;
	if (!pool)
		return limit;
	for (size_t i = 0; i < pool->count; i++)
		if (pool->members[i] != profile)
			others += pool->members[i]->strings.size;
	all = pool->limit_bytes / PROFILE_STRING_PARTS;
	all = all > others ? all - others : 0;
	return all < limit ? all : limit;
}

/*
 * Makes room for one more element, and for its index where there is one. Only growth is weighed
 * against the budget, since that is when memory is taken: an index that doubles adds as many bytes
 * as it has.
 */
static int make_room(struct profile *profile, void *items, size_t *capacity, size_t count,
	size_t element_bytes, size_t most, struct hash_index *index)
{
	size_t more = *capacity / GROWTH_SHARE > 16 ? *capacity / GROWTH_SHARE : 16, growth = 0;
	int r;

	if (profile->is_frozen)
		return -E2BIG;
	if (more > most - *capacity)
		more = most - *capacity;
	if (count == *capacity)
		growth += more * element_bytes;
	if (index && hash_index_is_full(index))
		growth += hash_index_bytes(index);
	if (growth > 0 && !has_room(profile, growth))
		return -E2BIG;
	if (index) {
		r = hash_index_reserve(index);
		if (r < 0)
			return r;
	}
	return array_reserve(items, capacity, count + 1, element_bytes, *capacity + more);
}

#define MAKE_ROOM(profile, table, index)                                          \
	make_room((profile), &(table)->items, &(table)->capacity, (table)->count, \
		sizeof(*(table)->items), UINT32_MAX - 1, (index))

bool profile_binary_equal(const struct profile_binary *a, const struct profile_binary *b)
{
	return a->kind == b->kind && a->path == b->path && a->text_vaddr == b->text_vaddr &&
	       a->text_bytes == b->text_bytes && a->text_offset == b->text_offset &&
	       build_id_equal(&a->build_id, &b->build_id) &&
	       symbol_identity_equal(&a->symbols, &b->symbols);
}

uint64_t profile_binary_hash(const struct profile_binary *binary)
{
	uint64_t ids = hash_pair(hash_bytes(binary->build_id.bytes, BUILD_ID_BYTES),
		hash_bytes(binary->symbols.id.bytes, BUILD_ID_BYTES));

	return hash_pair(ids, (uint64_t)binary->path << 8 | binary->kind);
}

int profile_add_binary(
	struct profile *profile, const struct profile_binary *binary, uint32_t *ret_binary)
{
	int r = MAKE_ROOM(profile, &profile->binaries, NULL);

	if (r < 0)
		return r;
	*ret_binary = (uint32_t)profile->binaries.count;
	profile->binaries.items[profile->binaries.count++] = *binary;
	return 0;
}

int profile_add_string(struct profile *profile, const char *string, uint32_t *ret_string)
{
	return string_pool_intern_within(
		&profile->strings, string, strlen(string), string_limit(profile), ret_string);
}

struct location_key {
	uint64_t address;
	uint32_t binary;
	const struct profile_frame *jit; /* NULL: no JIT code */
};

static bool location_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile *profile = owner;
	const struct profile_location *location = &profile->locations.items[id];
	const struct location_key *wanted = key;
	const struct profile_frame *frame;

	if (location->address != wanted->address || location->binary != wanted->binary ||
		location->function != (wanted->jit ? wanted->jit->function : 0))
		return false;
	if (!wanted->jit)
		return true;
	frame = &profile->frames.items[location->first_frame];
	return location->frame_count == 1 && frame->file == wanted->jit->file &&
	       frame->line == wanted->jit->line && frame->column == wanted->jit->column;
}

static uint64_t hash_location(const struct location_key *key)
{
	uint64_t hash = hash_pair(key->address, key->binary);

	if (!key->jit)
		return hash;
	hash = hash_pair(hash, (uint64_t)key->jit->function << 32 | key->jit->file);
	return hash_pair(hash, (uint64_t)key->jit->line << 32 | key->jit->column);
}

static int add_location(
	struct profile *profile, const struct location_key *key, uint32_t *ret_location)
{
	uint64_t hash = hash_location(key);
	uint32_t id;
	int r;

	assert(key->binary < profile->binaries.count);
	id = hash_index_find(&profile->location_index, hash, location_equal, profile, key);
	if (id == HASH_INDEX_NONE) {
		r = MAKE_ROOM(profile, &profile->locations, &profile->location_index);
		if (r < 0)
			return r;
		id = (uint32_t)profile->locations.count++;
		profile->locations.items[id] = (struct profile_location){
			.address = key->address,
			.binary = key->binary,
			.function = key->jit ? key->jit->function : 0,
		};
		hash_index_insert(&profile->location_index, hash, id);
	}
	*ret_location = id;
	return 0;
}

int profile_add_location(
	struct profile *profile, uint32_t binary, uint64_t address, uint32_t *ret_location)
{
	const struct location_key key = { .address = address, .binary = binary };

	return add_location(profile, &key, ret_location);
}

int profile_add_jit_location(struct profile *profile, uint32_t binary, uint64_t address,
	const struct profile_frame *frame, uint32_t *ret_location)
{
	const struct location_key key = { .address = address, .binary = binary, .jit = frame };
	int r = add_location(profile, &key, ret_location);

	if (r < 0 || profile->locations.items[*ret_location].frame_count > 0)
		return r;
	return profile_name_location(profile, *ret_location, frame, 1);
}

int profile_name_location(struct profile *profile, uint32_t location,
	const struct profile_frame *frames, uint32_t count)
{
	size_t first = profile->frames.count;
	int r;

	assert(location < profile->locations.count);
	for (uint32_t i = 0; i < count; i++) {
		r = MAKE_ROOM(profile, &profile->frames, NULL);
		if (r < 0) {
			profile->frames.count = first;
			return r;
		}
		profile->frames.items[profile->frames.count++] = frames[i];
	}
	profile->locations.items[location].first_frame = (uint32_t)first;
	profile->locations.items[location].frame_count = count;
	return 0;
}

int profile_add_synthetic(struct profile *profile, const char *text, uint32_t *ret_location)
{
	struct profile_binary binary = { .kind = BINARY_SYNTHETIC };
	struct profile_frame frame = { 0 };
	uint32_t location;
	int r;

	r = profile_add_string(profile, text, &frame.function);
	if (r < 0)
		return r;
	if (profile->synthetic_binary == NO_BINARY) {
		r = profile_add_binary(profile, &binary, &profile->synthetic_binary);
		if (r < 0)
			return r;
	}
	/* The text is the identity: its string id stands in the place of an address. */
	r = profile_add_location(profile, profile->synthetic_binary, frame.function, &location);
	if (r < 0)
		return r;
	if (profile->locations.items[location].frame_count == 0) {
		r = profile_name_location(profile, location, &frame, 1);
		if (r < 0)
			return r;
	}
	*ret_location = location;
	return 0;
}

static bool node_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile_node *node = &((const struct profile *)owner)->nodes.items[id];
	const struct profile_node *wanted = key;

	return node->parent == wanted->parent && node->location == wanted->location;
}

int profile_add_node(
	struct profile *profile, uint32_t parent, uint32_t location, uint32_t *ret_node)
{
	struct profile_node node = { .parent = parent, .location = location };
	uint64_t hash = hash_pair(parent, location);
	uint32_t id;
	int r;

	assert(parent < profile->nodes.count && location < profile->locations.count);
	id = hash_index_find(&profile->node_index, hash, node_equal, profile, &node);
	if (id == HASH_INDEX_NONE) {
		r = MAKE_ROOM(profile, &profile->nodes, &profile->node_index);
		if (r < 0)
			return r;
		id = (uint32_t)profile->nodes.count++;
		profile->nodes.items[id] = node;
		hash_index_insert(&profile->node_index, hash, id);
	}
	*ret_node = id;
	return 0;
}

static bool thread_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile_thread *thread = &((const struct profile *)owner)->threads.items[id];
	const struct profile_thread *wanted = key;

	return thread->tgid == wanted->tgid && thread->tid == wanted->tid &&
	       thread->comm == wanted->comm && thread->exe == wanted->exe &&
	       thread->cgroup == wanted->cgroup && thread->claims == wanted->claims &&
	       thread->user == wanted->user && thread->owner == wanted->owner &&
	       thread->process_start_ns == wanted->process_start_ns;
}

int profile_add_thread(
	struct profile *profile, const struct profile_thread *thread, uint32_t *ret_thread)
{
	uint64_t hash = hash_pair(hash_pair(thread->tid, thread->tgid),
		hash_pair(thread->process_start_ns ^ thread->comm,
			(uint64_t)thread->exe << 32 | thread->cgroup));
	uint32_t id;
	int r;

	id = hash_index_find(&profile->thread_index, hash, thread_equal, profile, thread);
	if (id == HASH_INDEX_NONE) {
		r = MAKE_ROOM(profile, &profile->threads, &profile->thread_index);
		if (r < 0)
			return r;
		id = (uint32_t)profile->threads.count++;
		profile->threads.items[id] = *thread;
		hash_index_insert(&profile->thread_index, hash, id);
	}
	*ret_thread = id;
	return 0;
}

static bool sample_equal(const void *owner, uint32_t id, const void *key)
{
	const struct profile_sample *sample = &((const struct profile *)owner)->samples.items[id];
	const struct profile_sample *wanted = key;

	return sample->node == wanted->node && sample->thread == wanted->thread;
}

void profile_keep_times(struct profile *profile, uint64_t monotonic_ns)
{
	profile->slices_ns = monotonic_ns - profile->start_ns % PROFILE_SLICE_NS;
}

/* Makes room for the sample's times. */
static int reach_sample(struct profile *profile, uint32_t sample)
{
	int r = 0;

	while (r == 0 && profile->last_times.count <= sample) {
		r = MAKE_ROOM(profile, &profile->last_times, NULL);
		if (r == 0)
			profile->last_times.items[profile->last_times.count++] = 0;
	}
	return r;
}

/* Makes room for a time within their share of the budget, and of the pool. */
static int make_time_room(struct profile *profile)
{
	const struct profile_pool *pool = profile->pool;
	const size_t element_bytes = sizeof(*profile->times.items);
	size_t most_bytes = profile->limit_bytes / TIMES_SHARE, others_bytes = 0;

	for (size_t i = 0; pool && i < pool->count; i++)
		if (pool->members[i] != profile)
			others_bytes += TABLE_BYTES(&pool->members[i]->times);
	if (pool && pool->limit_bytes / TIMES_SHARE < others_bytes + most_bytes)
		most_bytes = pool->limit_bytes / TIMES_SHARE > others_bytes
				     ? pool->limit_bytes / TIMES_SHARE - others_bytes
				     : 0;
	if (most_bytes / element_bytes <= profile->times.count)
		return -E2BIG;
	return make_room(profile, &profile->times.items, &profile->times.capacity,
		profile->times.count, element_bytes, most_bytes / element_bytes, NULL);
}

/* Samples of a thread that runs on come in their order: most have the last one's slice. */
static bool is_joined(struct profile *profile, uint32_t sample, const struct profile_time *time)
{
	const uint32_t last =
		sample < profile->last_times.count ? profile->last_times.items[sample] : 0;
	struct profile_time *known = last > 0 ? &profile->times.items[last - 1] : NULL;

	if (!known || known->slice != time->slice || time->count > UINT16_MAX - known->count)
		return false;
	known->count += time->count;
	return true;
}

static void note_time(struct profile *profile, uint32_t sample, uint64_t time_ns, uint64_t count)
{
	const uint64_t slice = (time_ns - profile->slices_ns) / PROFILE_SLICE_NS;
	struct profile_time time = { .slice = (uint16_t)slice, .count = (uint16_t)count };

	if (time_ns < profile->slices_ns || slice > UINT16_MAX)
		return;
	if (count <= UINT16_MAX && is_joined(profile, sample, &time))
		return;
	if (count > UINT16_MAX || reach_sample(profile, sample) < 0 ||
		make_time_room(profile) < 0) {
		profile->times_left_out++;
		return;
	}
	time.before = profile->last_times.items[sample];
	profile->times.items[profile->times.count++] = time;
	profile->last_times.items[sample] = (uint32_t)profile->times.count;
}

static void note_times(struct profile *profile, uint32_t id, const struct profile_sample *sample)
{
	if (profile->slices_ns == 0 || sample->count == 0)
		return;
	if (sample->first_ns == sample->last_ns || sample->count == 1) {
		note_time(profile, id, sample->last_ns, sample->count);
		return;
	}
	note_time(profile, id, sample->first_ns, 1);
	note_time(profile, id, sample->last_ns, 1);
}

static int add_sample(
	struct profile *profile, const struct profile_sample *sample, bool notes_times)
{
	uint64_t hash = hash_pair(sample->node, sample->thread);
	struct profile_sample *known;
	uint32_t id;
	int r;

	assert(sample->node < profile->nodes.count && sample->thread < profile->threads.count);
	id = hash_index_find(&profile->sample_index, hash, sample_equal, profile, sample);
	if (id == HASH_INDEX_NONE) {
		r = MAKE_ROOM(profile, &profile->samples, &profile->sample_index);
		if (r < 0)
			return r;
		id = (uint32_t)profile->samples.count++;
		profile->samples.items[id] = *sample;
		hash_index_insert(&profile->sample_index, hash, id);
		if (notes_times)
			note_times(profile, id, sample);
		return 0;
	}
	if (notes_times)
		note_times(profile, id, sample);
	known = &profile->samples.items[id];
	known->count += sample->count;
	if (sample->first_ns < known->first_ns)
		known->first_ns = sample->first_ns;
	if (sample->last_ns > known->last_ns)
		known->last_ns = sample->last_ns;
	return 0;
}

int profile_add_sample(struct profile *profile, const struct profile_sample *sample)
{
	return add_sample(profile, sample, true);
}

int profile_add_untimed(struct profile *profile, const struct profile_sample *sample)
{
	return add_sample(profile, sample, false);
}

void profile_note_span(struct profile *profile, const struct profile_sample *sample,
	const struct pilotlight_thread_context *ids)
{
	uint32_t id;

	/* Their arrays double when they grow. */
	if (!profile->keeps_spans || profile->is_frozen ||
		!has_room(profile, profile_spans_bytes(&profile->spans)))
		return;
	id = hash_index_find(&profile->sample_index, hash_pair(sample->node, sample->thread),
		sample_equal, profile, sample);
	(void)profile_spans_add(
		&profile->spans, id, ids, sample->count, profile_span_bytes(profile->limit_bytes));
}

/* --- stamps --- */

void profile_note_stamp(
	struct profile *profile, const struct profile_sample *sample, uint64_t time_ns)
{
	const size_t most = profile->limit_bytes / STAMPS_SHARE / sizeof(*profile->stamps.items);
	struct profile_stamp stamp = { .time_ns = time_ns, .count = sample->count };

	if (profile->stamps.count >= most ||
		make_room(profile, &profile->stamps.items, &profile->stamps.capacity,
			profile->stamps.count, sizeof(stamp), most, NULL) < 0) {
		profile->times_left_out++;
		return;
	}
	stamp.sample = hash_index_find(&profile->sample_index,
		hash_pair(sample->node, sample->thread), sample_equal, profile, sample);
	profile->stamps.items[profile->stamps.count++] = stamp;
}

static void divide_stamps(struct profile *profile)
{
	for (size_t i = 0; i < profile->stamps.count; i++)
		profile->stamps.items[i].count /= profile->period_ns;
}

static void divide_spans(struct profile *profile)
{
	for (size_t i = 0; i < profile->spans.counts_count; i++)
		profile->spans.counts[i].count /= profile->period_ns;
}

void profile_divide(struct profile *profile)
{
	uint64_t rest = 0;

	if (profile->period_ns == 0)
		return;
	for (size_t i = 0; i < profile->samples.count; i++) {
		struct profile_sample *sample = &profile->samples.items[i];
		uint64_t sum = sample->count;

		if (__builtin_add_overflow(sum, rest, &sum))
			sum = UINT64_MAX;
		sample->count = sum / profile->period_ns;
		rest = sum % profile->period_ns;
	}
	divide_spans(profile);
	divide_stamps(profile);
	accounts_divide(&profile->accounts, profile->period_ns);
}
