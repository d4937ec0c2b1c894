/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "render/frame_labels.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char unknown[] = "[unknown]";

const char *frame_kind_name(enum frame_kind kind)
{
	switch (kind) {
	case FRAME_KERNEL:
		return "kernel";
	case FRAME_EXECUTABLE:
		return "executable";
	case FRAME_LIBRARY:
		return "library";
	case FRAME_JIT:
		return "JIT";
	case FRAME_SYNTHETIC:
		return "synthetic";
	case FRAME_PYTHON:
		return "Python";
	case FRAME_JAVASCRIPT:
		return "JavaScript";
	case FRAME_RUBY:
		return "Ruby";
	case FRAME_JAVA:
		return "Java";
	case FRAME_PHP:
		return "PHP";
	case FRAME_PERL:
		return "Perl";
	case FRAME_INLINED:
		return "inlined";
	case FRAME_COMM:
		return "command";
	case FRAME_ROOT:
		return "all";
	case FRAME_KIND_COUNT:
		break;
	}
	assert(false);
	return "";
}

const char *frame_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* " (file.c:123)" */
static size_t format_line(const struct frame_label *label, char *text, size_t room)
{
	int n = label->line > 0
			? snprintf(text, room, " (%s:%" PRIu32 ")", label->file, label->line)
			: snprintf(text, room, " (%s)", label->file);

	assert(n >= 0 && (size_t)n < room);
	return (size_t)n;
}

size_t frame_label_format(const struct frame_label *label, char name[FRAME_NAME_BYTES])
{
	size_t size = label->text_bytes;
	int n;

	if (label->has_address) {
		n = snprintf(name, FRAME_NAME_BYTES, "[%.*s+0x%" PRIx64 "]", label->text_bytes,
			label->text, label->address);
		assert(n >= 0 && n < FRAME_NAME_BYTES);
		size = (size_t)n;
	} else {
		assert(size < FRAME_NAME_BYTES);
		memcpy(name, label->text, size);
		name[size] = '\0';
	}
	if (label->file)
		size += format_line(label, name + size, FRAME_NAME_BYTES - size);
	return size;
}

static uint32_t hash_text(uint32_t hash, const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)text[i]) * 0x01000193U;
	return hash;
}

uint32_t frame_label_hash(const struct frame_label *label)
{
	const char *kind = frame_kind_name(label->kind);
	char name[FRAME_NAME_BYTES];
	const size_t size = frame_label_format(label, name);

	return hash_text(
		hash_text(hash_text(0x811c9dc5U, name, size), "\t", 1), kind, strlen(kind));
}

uint64_t frame_loss(const struct profile *profile, enum pilotlight_drop reason)
{
	return accounts_drop_is_loss(reason) ? profile->accounts.dropped[reason] : 0;
}

uint64_t frame_samples(const struct profile *profile)
{
	uint64_t sum = accounts_lost(&profile->accounts);

	for (size_t i = 0; i < profile->samples.count; i++)
		sum += profile->samples.items[i].count;
	return sum;
}

int frame_label_compare(const struct frame_label *a, const struct frame_label *b)
{
	size_t shorter = a->text_bytes < b->text_bytes ? a->text_bytes : b->text_bytes;
	int order = memcmp(a->text, b->text, shorter);

	if (order)
		return order;
	if (a->text_bytes != b->text_bytes)
		return a->text_bytes < b->text_bytes ? -1 : 1;
	if (a->has_address != b->has_address)
		return a->has_address ? 1 : -1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	order = strcmp(a->file ? a->file : "", b->file ? b->file : "");
	if (order)
		return order;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (int)a->kind - (int)b->kind;
}

static bool label_equal(const void *owner, uint32_t id, const void *key)
{
	return frame_label_compare(&((const struct frame_labels *)owner)->items[id], key) == 0;
}

static int intern(struct frame_labels *labels, struct hash_index *index,
	const struct frame_label *label, uint32_t *ret_label)
{
	uint64_t hash = hash_pair(hash_bytes(label->text, label->text_bytes),
		label->address ^ (uint64_t)label->kind << 56);
	uint32_t id;
	int r;

	if (label->file)
		hash = hash_pair(
			hash, hash_pair(hash_bytes(label->file, strlen(label->file)), label->line));
	id = hash_index_find(index, hash, label_equal, labels, label);
	if (id == HASH_INDEX_NONE) {
		r = ARRAY_RESERVE(
			labels->items, &labels->capacity, labels->count + 1, FRAME_NONE - 1);
		if (r < 0)
			return r;
		r = hash_index_reserve(index);
		if (r < 0)
			return r;
		id = (uint32_t)labels->count++;
		labels->items[id] = *label;
		hash_index_insert(index, hash, id);
	}
	*ret_label = id;
	return 0;
}

static struct frame_label named(const char *name, enum frame_kind kind)
{
	return (struct frame_label){
		.text = name,
		.text_bytes = (uint16_t)strlen(name),
		.kind = (uint8_t)kind,
	};
}

static int intern_text(struct frame_labels *labels, struct hash_index *index, const char *text,
	enum frame_kind kind, uint32_t *ret_label)
{
	struct frame_label label = named(*text ? text : unknown, kind);

	return intern(labels, index, &label, ret_label);
}

/* The base name of a path. "[vdso]" becomes "vdso", since the label adds brackets. */
static struct frame_label nameless(const char *path, uint64_t address, enum frame_kind kind)
{
	struct frame_label label = { .kind = (uint8_t)kind };
	const char *slash = strrchr(path, '/');
	size_t size = strlen(path);

	if (path[0] == '[' && size > 2 && path[size - 1] == ']') {
		path++;
		size -= 2;
	} else if (slash) {
		size -= (size_t)(slash + 1 - path);
		path = slash + 1;
	}
	if (size == 0) {
		label.text = unknown;
		label.text_bytes = sizeof(unknown) - 1;
		return label;
	}
	label.text = path;
	label.text_bytes = (uint16_t)size;
	label.address = address;
	label.has_address = true;
	return label;
}

/* Returns the frame of a location that is `inner` frames outside of the innermost. */
static struct frame_label label_of(const struct profile *profile,
	const struct profile_location *location, uint32_t inner, enum frame_detail detail)
{
	const struct profile_binary *binary = &profile->binaries.items[location->binary];
	enum frame_kind kind = (enum frame_kind)binary->kind;
	struct profile_frame frame = { 0 };
	struct frame_label label;

	if (location->frame_count > 0)
		frame = profile->frames.items[location->first_frame + inner];
	if (inner + 1 < location->frame_count)
		kind = FRAME_INLINED;
	if (frame.function == 0)
		label = nameless(
			string_pool_get(&profile->strings, binary->path), location->address, kind);
	else
		label = named(string_pool_get(&profile->strings, frame.function), kind);
	if (detail == FRAME_BY_LINE && frame.file > 0) {
		label.file = frame_base_name(string_pool_get(&profile->strings, frame.file));
		label.line = frame.line;
	}
	return label;
}

static int compare_binaries(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	const struct profile_binary *first = &profile->binaries.items[*(const uint32_t *)a];
	const struct profile_binary *second = &profile->binaries.items[*(const uint32_t *)b];
	int order = strcmp(string_pool_get(&profile->strings, first->path),
		string_pool_get(&profile->strings, second->path));

	if (order)
		return order;
	return memcmp(first->build_id.bytes, second->build_id.bytes, BUILD_ID_BYTES);
}

/* Equal binaries share a rank, since their order in the profile depends on how it was filled. */
static int rank_binaries(
	struct frame_labels *labels, const struct profile *profile, uint32_t **ret_ranks)
{
	size_t count = profile->binaries.count;
	_cleanup_free_ uint32_t *ranks = calloc(count + 1, sizeof(*ranks));
	uint32_t *ranked = calloc(count + 1, sizeof(*ranked));

	labels->ranked_binaries = ranked;
	if (!ranks || !ranked)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		ranked[i] = i;
	qsort_r(ranked, count, sizeof(*ranked), compare_binaries, (void *)profile);
	for (uint32_t i = 0, rank = 0; i < count; i++) {
		if (i > 0 && compare_binaries(&ranked[i - 1], &ranked[i], (void *)profile) != 0)
			rank = i;
		ranks[ranked[i]] = rank;
	}
	*ret_ranks = TAKE_PTR(ranks);
	return 0;
}

static int add_chains(struct frame_labels *labels, struct hash_index *index,
	const struct profile *profile, const uint32_t *binary_ranks, enum frame_detail detail)
{
	struct frame_label label;
	int r;

	labels->chains = calloc(profile->locations.count + 1, sizeof(*labels->chains));
	if (!labels->chains)
		return -ENOMEM;
	for (size_t i = 0; i < profile->locations.count; i++) {
		const struct profile_location *location = &profile->locations.items[i];
		uint32_t count = location->frame_count ? location->frame_count : 1;

		r = ARRAY_RESERVE(labels->chain, &labels->chain_capacity,
			labels->chain_count + count, FRAME_NONE - 1);
		if (r < 0)
			return r;
		labels->chains[i] = (struct frame_chain){
			.first = (uint32_t)labels->chain_count,
			.count = count,
			.binary_rank = binary_ranks[location->binary],
		};
		for (uint32_t inner = count; inner-- > 0; labels->chain_count++) {
			label = label_of(profile, location, inner, detail);
			r = intern(labels, index, &label, &labels->chain[labels->chain_count]);
			if (r < 0)
				return r;
		}
	}
	return 0;
}

static int add_tops(
	struct frame_labels *labels, struct hash_index *index, const struct profile *profile)
{
	int r;

	labels->comms = calloc(profile->threads.count + 1, sizeof(*labels->comms));
	if (!labels->comms)
		return -ENOMEM;
	for (size_t i = 0; i < profile->threads.count; i++) {
		r = intern_text(labels, index,
			string_pool_get(&profile->strings, profile->threads.items[i].comm),
			FRAME_COMM, &labels->comms[i]);
		if (r < 0)
			return r;
	}
	for (enum pilotlight_drop i = 0; i < PILOTLIGHT_DROP_COUNT; i++) {
		labels->losses[i] = FRAME_NONE;
		if (frame_loss(profile, i) == 0)
			continue;
		(void)snprintf(labels->loss_texts[i], FRAME_LOSS_BYTES, "[lost: %s]",
			accounts_drop_name(i));
		r = intern_text(
			labels, index, labels->loss_texts[i], FRAME_SYNTHETIC, &labels->losses[i]);
		if (r < 0)
			return r;
	}
	return intern_text(labels, index, "all", FRAME_ROOT, &labels->root);
}

static int compare_ids(const void *a, const void *b, void *context)
{
	const struct frame_label *items = context;

	return frame_label_compare(&items[*(const uint32_t *)a], &items[*(const uint32_t *)b]);
}

/* Renumbers the labels by their order. */
static int sort_labels(struct frame_labels *labels, size_t thread_count)
{
	_cleanup_free_ uint32_t *order = calloc(labels->count, sizeof(*order));
	_cleanup_free_ uint32_t *rank = calloc(labels->count, sizeof(*rank));
	struct frame_label *sorted = calloc(labels->count, sizeof(*sorted));

	if (!order || !rank || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < labels->count; i++)
		order[i] = i;
	qsort_r(order, labels->count, sizeof(*order), compare_ids, labels->items);
	for (uint32_t i = 0; i < labels->count; i++) {
		sorted[i] = labels->items[order[i]];
		rank[order[i]] = i;
	}
	free(labels->items);
	labels->items = sorted;
	labels->capacity = labels->count;

	for (size_t i = 0; i < labels->chain_count; i++)
		labels->chain[i] = rank[labels->chain[i]];
	for (size_t i = 0; i < thread_count; i++)
		labels->comms[i] = rank[labels->comms[i]];
	for (size_t i = 0; i < PILOTLIGHT_DROP_COUNT; i++)
		if (labels->losses[i] != FRAME_NONE)
			labels->losses[i] = rank[labels->losses[i]];
	labels->root = rank[labels->root];
	return 0;
}

int frame_labels_new(
	const struct profile *profile, enum frame_detail detail, struct frame_labels **ret_labels)
{
	_cleanup_(frame_labels_freep) struct frame_labels *labels = calloc(1, sizeof(*labels));
	_cleanup_(hash_index_done) struct hash_index index = { 0 };
	_cleanup_free_ uint32_t *binary_ranks = NULL;
	int r;

	if (!labels)
		return -ENOMEM;
	r = rank_binaries(labels, profile, &binary_ranks);
	if (r < 0)
		return r;
	r = add_tops(labels, &index, profile);
	if (r < 0)
		return r;
	r = add_chains(labels, &index, profile, binary_ranks, detail);
	if (r < 0)
		return r;
	r = sort_labels(labels, profile->threads.count);
	if (r < 0)
		return r;
	*ret_labels = TAKE_PTR(labels);
	return 0;
}

void frame_labels_free(struct frame_labels *labels)
{
	if (!labels)
		return;
	free(labels->items);
	free(labels->chains);
	free(labels->chain);
	free(labels->comms);
	free(labels->ranked_binaries);
	free(labels);
}
