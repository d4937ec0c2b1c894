/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Each slot holds a file. It is in the hash chain of its id, in the chain of its key unless the
 * file is gone, and in a queue by time if the file is gone. Ids are assigned in turn; an id is
 * reused after all others, and skipped if its file is still known.
 */
#include "unwind/walk_files.h"

#include "base/array.h"
#include "base/hash_index.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	NONE = UINT32_MAX,
	BUCKETS_MIN = 64,
	WINDOWS_RECENT = 2, /* before this one */
	WINDOWS_GONE = 2,   /* whole windows for which an id outlives its file */
};

struct slot {
	struct walk_file file;
	bool is_used;
	uint32_t gone_window;
	uint32_t next_by_key, next_by_id;
	uint32_t next; /* in the free list, or in the queue of those that are gone */
};

struct walk_files {
	struct slot *slots;
	size_t count, capacity, limit;
	size_t known; /* not gone */
	uint32_t free;
	uint32_t oldest_gone, newest_gone;
	uint32_t next_id;
	uint32_t window;
	uint32_t *by_key, *by_id; /* first slot of each chain */
	uint32_t bucket_count;	  /* a power of two */
	/* The ranking: used_window << 32 | slot; reserved for as many as there are slots. */
	uint64_t *stale;
	size_t stale_count, stale_capacity;
	size_t next_loaded, next_other; /* positions in it */
	bool is_ranked;
	struct walk_files_counters counters;
};

void walk_files_free(struct walk_files *files)
{
	if (!files)
		return;
	free(files->slots);
	free(files->by_key);
	free(files->by_id);
	free(files->stale);
	free(files);
}

static uint32_t *new_buckets(uint32_t count)
{
	uint32_t *buckets = malloc(count * sizeof(*buckets));

	if (buckets)
		memset(buckets, 0xff, count * sizeof(*buckets));
	return buckets;
}

int walk_files_new(size_t limit, uint32_t first_id, struct walk_files **ret_files)
{
	_cleanup_(walk_files_freep) struct walk_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->limit = limit < WALK_FILES_LIMIT_MAX ? limit : WALK_FILES_LIMIT_MAX;
	files->next_id = first_id % PILOTLIGHT_FRAME_FILE_IDS_MAX;
	files->free = files->oldest_gone = files->newest_gone = NONE;
	files->bucket_count = BUCKETS_MIN;
	while (files->bucket_count < files->limit)
		files->bucket_count *= 2;
	files->by_key = new_buckets(files->bucket_count);
	files->by_id = new_buckets(files->bucket_count);
	if (!files->by_key || !files->by_id)
		return -ENOMEM;
	*ret_files = TAKE_PTR(files);
	return 0;
}

/* --- the chains --- */

static uint32_t *key_bucket(const struct walk_files *files, const struct pilotlight_file_key *key)
{
	return &files->by_key[hash_bytes(key, sizeof(*key)) & (files->bucket_count - 1)];
}

static uint32_t *id_bucket(const struct walk_files *files, uint32_t id)
{
	return &files->by_id[id & (files->bucket_count - 1)];
}

static uint32_t slot_of(const struct walk_files *files, const struct walk_file *file)
{
	return (uint32_t)((const struct slot *)file - files->slots);
}

static void unchain_key(struct walk_files *files, uint32_t slot)
{
	uint32_t *place = key_bucket(files, &files->slots[slot].file.key);

	while (*place != slot)
		place = &files->slots[*place].next_by_key;
	*place = files->slots[slot].next_by_key;
}

static void unchain_id(struct walk_files *files, uint32_t slot)
{
	uint32_t *place = id_bucket(files, files->slots[slot].file.entry.id);

	while (*place != slot)
		place = &files->slots[*place].next_by_id;
	*place = files->slots[slot].next_by_id;
}

struct walk_file *walk_files_find_key(
	struct walk_files *files, const struct pilotlight_file_key *key)
{
	uint32_t slot = *key_bucket(files, key);

	while (slot != NONE && memcmp(&files->slots[slot].file.key, key, sizeof(*key)) != 0)
		slot = files->slots[slot].next_by_key;
	return slot == NONE ? NULL : &files->slots[slot].file;
}

struct walk_file *walk_files_find_id(struct walk_files *files, uint32_t id)
{
	uint32_t slot = *id_bucket(files, id);

	while (slot != NONE && files->slots[slot].file.entry.id != id)
		slot = files->slots[slot].next_by_id;
	return slot == NONE ? NULL : &files->slots[slot].file;
}

/* --- windows --- */

uint32_t walk_files_window(const struct walk_files *files)
{
	return files->window;
}

bool walk_files_is_recent(const struct walk_files *files, const struct walk_file *file)
{
	return (uint64_t)file->entry.used_window + WINDOWS_RECENT >= files->window;
}

void walk_files_use(struct walk_file *file, uint32_t window)
{
	if (window > file->entry.used_window)
		file->entry.used_window = window;
}

static void end_oldest_gone(struct walk_files *files)
{
	uint32_t slot = files->oldest_gone;
	uint32_t next = files->slots[slot].next;

	unchain_id(files, slot);
	files->slots[slot] = (struct slot){ .next = files->free };
	files->free = slot;
	files->oldest_gone = next;
	if (next == NONE)
		files->newest_gone = NONE;
}

void walk_files_begin_window(struct walk_files *files, uint32_t window)
{
	assert(window >= files->window);
	files->window = window;
	files->is_ranked = false;
	files->stale_count = 0;
	while (files->oldest_gone != NONE &&
		window - files->slots[files->oldest_gone].gone_window > WINDOWS_GONE)
		end_oldest_gone(files);
}

/* --- adding and forgetting --- */

static int reserve_slot(struct walk_files *files)
{
	const size_t limit = 2 * files->limit; /* including files that are gone */
	int r;

	if (files->known >= files->limit)
		return -ENOSPC;
	if (files->free != NONE)
		return 0;
	r = ARRAY_RESERVE(files->slots, &files->capacity, files->count + 1, limit);
	if (r == 0)
		r = ARRAY_RESERVE(files->stale, &files->stale_capacity, files->count + 1, limit);
	if (r < 0)
		return r == -E2BIG ? -ENOSPC : r;
	files->slots[files->count] = (struct slot){ .next = NONE };
	files->free = (uint32_t)files->count++;
	return 0;
}

static uint32_t next_id(struct walk_files *files)
{
	uint32_t id;

	do {
		id = files->next_id;
		files->next_id = (id + 1) % PILOTLIGHT_FRAME_FILE_IDS_MAX;
	} while (walk_files_find_id(files, id));
	return id;
}

int walk_files_add(struct walk_files *files, const struct pilotlight_file_key *key, uint32_t binary,
	struct walk_file **ret_file)
{
	struct slot *slot;
	uint32_t id;
	int r;

	assert(!walk_files_find_key(files, key));
	r = reserve_slot(files);
	if (r < 0) {
		files->counters.refused += r == -ENOSPC;
		return r;
	}
	id = next_id(files);
	slot = &files->slots[files->free];
	files->free = slot->next;
	*slot = (struct slot){
		.file = { .key = *key,
			.entry = { .id = id, .used_window = files->window },
			.binary = binary,
			.user = USER_UNKNOWN,
			.state = WALK_FILE_PENDING },
		.is_used = true,
		.next_by_key = *key_bucket(files, key),
		.next_by_id = *id_bucket(files, id),
		.next = NONE,
	};
	*key_bucket(files, key) = slot_of(files, &slot->file);
	*id_bucket(files, id) = slot_of(files, &slot->file);
	files->known++;
	*ret_file = &slot->file;
	return 0;
}

void walk_files_forget(struct walk_files *files, struct walk_file *file)
{
	uint32_t slot = slot_of(files, file);

	assert(file->state != WALK_FILE_GONE);
	unchain_key(files, slot);
	file->state = WALK_FILE_GONE;
	files->slots[slot].gone_window = files->window;
	files->slots[slot].next = NONE;
	if (files->newest_gone == NONE)
		files->oldest_gone = slot;
	else
		files->slots[files->newest_gone].next = slot;
	files->newest_gone = slot;
	files->known--;
	files->counters.forgotten++;
}

/* --- all files --- */

bool walk_files_is_full(const struct walk_files *files)
{
	return files->known >= files->limit;
}

size_t walk_files_count(const struct walk_files *files)
{
	return files->known;
}

size_t walk_files_positions(const struct walk_files *files)
{
	return files->count;
}

struct walk_file *walk_files_at_or_gone(struct walk_files *files, size_t position)
{
	struct slot *slot = &files->slots[position];

	assert(position < files->count);
	return slot->is_used ? &slot->file : NULL;
}

struct walk_file *walk_files_at(struct walk_files *files, size_t position)
{
	struct walk_file *file = walk_files_at_or_gone(files, position);

	return file && file->state != WALK_FILE_GONE ? file : NULL;
}

/* --- the ranking --- */

static int compare(const void *a, const void *b)
{
	uint64_t first = *(const uint64_t *)a, second = *(const uint64_t *)b;

	return (first > second) - (first < second);
}

void walk_files_rank(struct walk_files *files)
{
	files->stale_count = 0;
	for (size_t i = 0; i < files->count; i++) {
		const struct walk_file *file = walk_files_at(files, i);

		if (file && !walk_files_is_recent(files, file))
			files->stale[files->stale_count++] =
				(uint64_t)file->entry.used_window << 32 | i;
	}
	if (files->stale_count > 0)
		qsort(files->stale, files->stale_count, sizeof(*files->stale), compare);
	files->next_loaded = files->next_other = 0;
	files->is_ranked = true;
}

bool walk_files_is_ranked(const struct walk_files *files)
{
	return files->is_ranked;
}

/* Since the ranking a file may have been used, or have gone and left its slot to another. */
struct walk_file *walk_files_next_stale(struct walk_files *files, bool is_loaded)
{
	size_t *next = is_loaded ? &files->next_loaded : &files->next_other;

	while (*next < files->stale_count) {
		struct walk_file *file = walk_files_at(files, (uint32_t)files->stale[(*next)++]);

		if (file && !walk_files_is_recent(files, file) &&
			(file->state == WALK_FILE_LOADED) == is_loaded)
			return file;
	}
	return NULL;
}

struct walk_files_counters walk_files_counters(const struct walk_files *files)
{
	return files->counters;
}
