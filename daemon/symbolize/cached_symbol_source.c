/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/cached_symbol_source.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>

enum {
	KEPT_MAX = 1024,
	CHAIN_MAX = 64,
	FRAMES_MAX = 1 << 22,
};

struct cached_symbol_source {
	struct symbol_source interface; /* first, so that it is the same pointer */
	struct symbol_cache *cache;
	struct symbol_file **kept; /* owned */
	size_t kept_count, kept_capacity;
	struct symbol_file *open; /* the cache's last file; NULL: none */
};

static bool is_of(const struct symbol_file *file, const struct symbol_identity *identity)
{
	struct symbol_identity other = symbol_file_identity(file);

	return symbol_identity_equal(&other, identity);
}

static struct symbol_file **find_kept(
	const struct cached_symbol_source *source, const struct symbol_identity *identity)
{
	for (size_t i = 0; i < source->kept_count; i++)
		if (is_of(source->kept[i], identity))
			return &source->kept[i];
	return NULL;
}

void cached_symbol_source_forget(
	struct cached_symbol_source *source, const struct symbol_identity *identity)
{
	struct symbol_file **kept = find_kept(source, identity);

	if (kept) {
		symbol_file_free(*kept);
		*kept = source->kept[--source->kept_count];
	}
	if (source->open && is_of(source->open, identity))
		symbol_file_free(TAKE_PTR(source->open));
}

int cached_symbol_source_keep(struct cached_symbol_source *source, struct symbol_file *file)
{
	struct symbol_identity identity = symbol_file_identity(file);
	int r;

	r = ARRAY_RESERVE(source->kept, &source->kept_capacity, source->kept_count + 1, KEPT_MAX);
	if (r < 0)
		return r;
	cached_symbol_source_forget(source, &identity);
	source->kept[source->kept_count++] = file;
	return 0;
}

int cached_symbol_source_find(struct cached_symbol_source *source,
	const struct symbol_identity *identity, const struct symbol_file **ret_file)
{
	struct symbol_file **kept = find_kept(source, identity);
	int r;

	if (kept) {
		*ret_file = *kept;
		return 0;
	}
	if (!source->open || !is_of(source->open, identity)) {
		symbol_file_free(TAKE_PTR(source->open));
		if (!source->cache)
			return -ENODATA;
		r = symbol_cache_find(source->cache, identity, &source->open);
		if (r < 0)
			return r == -ENOENT ? -ENODATA : r;
	}
	*ret_file = source->open;
	return 0;
}

static int intern(struct symbol_batch *batch, const char *text, uint32_t *ret_id)
{
	return string_pool_intern(batch->strings, text, strlen(text), ret_id);
}

static int add_frame(struct symbol_batch *batch, const struct symbol_line *line)
{
	struct symbol_frame frame = { .line = line->place.line, .column = line->place.column };
	int r;

	r = intern(batch, line->function, &frame.function);
	if (r == 0)
		r = intern(batch, line->place.file, &frame.file);
	if (r == 0)
		r = ARRAY_RESERVE(
			batch->frames, &batch->frame_capacity, batch->frame_count + 1, FRAMES_MAX);
	if (r == 0)
		batch->frames[batch->frame_count++] = frame;
	return r;
}

/* `counts`: the frames of each request, for the caller to set on success. */
static int find_frames(const struct symbol_file *file, struct symbol_batch *batch, uint32_t *counts)
{
	struct symbol_line lines[CHAIN_MAX];
	int r = 0;

	for (size_t i = 0; i < batch->request_count; i++) {
		counts[i] = (uint32_t)symbol_file_find_chain(
			file, batch->requests[i].vaddr, lines, CHAIN_MAX);
		/* A frame cannot be shown without a function. */
		if (counts[i] > 0 && !lines[counts[i] - 1].function[0])
			counts[i] = 0;
		for (uint32_t j = 0; j < counts[i] && r == 0; j++)
			r = add_frame(batch, &lines[j]);
		if (r < 0)
			return r;
	}
	return 0;
}

int cached_symbol_source_peek(struct cached_symbol_source *source,
	const struct symbol_identity *identity, struct pilotlight_symbol_header *ret_header)
{
	struct symbol_file **kept = find_kept(source, identity);

	if (kept) {
		*ret_header = *symbol_file_header(*kept);
		return 0;
	}
	return source->cache ? symbol_cache_peek(source->cache, identity, ret_header) : -ENODATA;
}

/* NONE also if there is no file. */
static enum pilotlight_symbol_rank rank_of(
	struct cached_symbol_source *source, const struct symbol_identity *identity)
{
	struct pilotlight_symbol_header header;

	return cached_symbol_source_peek(source, identity, &header) < 0
		       ? PILOTLIGHT_SYMBOL_RANK_NONE
		       : header.rank;
}

bool cached_symbol_source_has_vouched(struct cached_symbol_source *source,
	const struct build_id *id, const struct symbol_identity *own,
	enum pilotlight_symbol_rank *ret_rank)
{
	struct symbol_identity vouched = symbol_identity_of_build_id(id);
	enum pilotlight_symbol_rank rank;

	if (own->kind != PILOTLIGHT_SYMBOL_OWNED || id->size == 0)
		return false;
	rank = rank_of(source, &vouched);
	if (rank < PILOTLIGHT_SYMBOL_RANK_DEBUGINFOD || rank <= rank_of(source, own))
		return false;
	*ret_rank = rank;
	return true;
}

static int identify(struct cached_symbol_source *source, const struct symbol_binary *binary,
	struct symbol_identity *ret_identity)
{
	enum pilotlight_symbol_rank rank;
	struct symbol_identity identity = binary->identity;
	int r = 0;

	if (identity.id.size == 0)
		r = symbol_identity_of_binary(binary->fd, &binary->build_id, &identity);
	if (r < 0)
		return r == -ENOENT ? -ENODATA : r;
	if (cached_symbol_source_has_vouched(source, &binary->build_id, &identity, &rank))
		identity = symbol_identity_of_build_id(&binary->build_id);
	*ret_identity = identity;
	return 0;
}

static int lookup(struct symbol_source *interface, const struct symbol_binary *binary,
	struct symbol_batch *batch)
{
	struct cached_symbol_source *source = (struct cached_symbol_source *)interface;
	size_t first = batch->frame_count;
	_cleanup_free_ uint32_t *counts = NULL;
	const struct symbol_file *file = NULL;
	struct symbol_identity identity;
	int r;

	r = identify(source, binary, &identity);
	if (r == 0)
		r = cached_symbol_source_find(source, &identity, &file);
	if (r < 0)
		return r;
	if (symbol_file_header(file)->rank == PILOTLIGHT_SYMBOL_RANK_NONE)
		return -ENODATA;
	counts = calloc(batch->request_count + 1, sizeof(*counts));
	if (!counts)
		return -ENOMEM;
	r = find_frames(file, batch, counts);
	if (r < 0) {
		batch->frame_count = first;
		return r;
	}
	for (size_t i = 0; i < batch->request_count; i++) {
		batch->requests[i].first_frame = (uint32_t)first;
		batch->requests[i].frame_count = counts[i];
		first += counts[i];
	}
	return 0;
}

int cached_symbol_source_new(struct symbol_cache *cache, struct cached_symbol_source **ret_source)
{
	struct cached_symbol_source *source = calloc(1, sizeof(*source));

	if (!source)
		return -ENOMEM;
	source->interface = (struct symbol_source){ .lookup = lookup };
	source->cache = cache;
	*ret_source = source;
	return 0;
}

void cached_symbol_source_free(struct cached_symbol_source *source)
{
	if (!source)
		return;
	for (size_t i = 0; i < source->kept_count; i++)
		symbol_file_free(source->kept[i]);
	free(source->kept);
	symbol_file_free(source->open);
	free(source);
}

struct symbol_source *cached_symbol_source_interface(struct cached_symbol_source *source)
{
	return &source->interface;
}
