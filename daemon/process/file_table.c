/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/file_table.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/hash_index.h"
#include "process/maps_line.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* The side-band's name for memory without a file. */
#define ANONYMOUS "//anon"

enum { NONE = UINT32_MAX, BUCKETS_MIN = 64, FILES_MAX = 1 << 30 };

struct file_entry {
	char *path; /* owned; NULL: the id is free */
	uint64_t identity;
	uint64_t inode;
	uint32_t device_major, device_minor;
	uint32_t path_size;
	uint32_t references;
	uint64_t user; /* while it is in use */
	struct build_id build_id;
	bool has_build_id_key; /* the build-id is part of the key, not learnt later */
	uint32_t bucket, next; /* the next file in its bucket */
	uint32_t unused_before, unused_after; /* in the unused list; after: or in the free list */
};

struct file_key {
	const char *path;
	size_t path_size;
	const struct process_mapping_event *event;
};

int file_table_init(struct file_table *table, size_t limit, size_t path_bytes)
{
	*table = (struct file_table){
		.limit = limit < FILES_MAX ? limit : FILES_MAX,
		.free_file = NONE,
		.oldest_unused = NONE,
		.newest_unused = NONE,
		.path_bytes_limit = path_bytes,
		.share.capacity = limit,
		.path_share.capacity = path_bytes,
		.bucket_count = BUCKETS_MIN,
	};
	while (table->bucket_count < table->limit)
		table->bucket_count *= 2;
	table->buckets = malloc(table->bucket_count * sizeof(*table->buckets));
	if (!table->buckets)
		return -ENOMEM;
	memset(table->buckets, 0xff, table->bucket_count * sizeof(*table->buckets));
	return 0;
}

void file_table_done(struct file_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		free(table->entries[i].path);
	free(table->entries);
	free(table->buckets);
}

/* --- keys --- */

static bool starts_with(const char *path, const char *prefix)
{
	return strncmp(path, prefix, strlen(prefix)) == 0;
}

/*
 * The kernel invents absolute paths for shared memory. A memfd counts as regular, since it may hold
 * an ELF file.
 */
static bool is_regular_path(const char *path)
{
	return path[0] == '/' && path[1] != '/' && strcmp(path, "/dev/zero") != 0 &&
	       !starts_with(path, "/SYSV") && !starts_with(path, "/anon_hugepage");
}

static int make_key(const struct process_mapping_event *event, struct file_key *ret_key)
{
	size_t size = strnlen(event->path, PATH_MAX);
	struct file_key key = { .path = event->path, .event = event };

	if (size == PATH_MAX)
		return -E2BIG;
	key.path_size = size;
	/* Otherwise a process could create any number of files by naming its memory. */
	if (size == 0 || starts_with(event->path, "[anon:")) {
		key.path = ANONYMOUS;
		key.path_size = strlen(ANONYMOUS);
	}
	(void)maps_line_strip_deleted(key.path, &key.path_size);
	*ret_key = key;
	return 0;
}

static uint64_t hash_key(const struct file_key *key)
{
	const struct process_mapping_event *event = key->event;
	uint64_t device = (uint64_t)event->device_major << 32 | event->device_minor;
	uint64_t identity = event->build_id.size ? hash_bytes(event->build_id.bytes,
							   sizeof(event->build_id.bytes))
						 : hash_pair(event->inode, device);

	return hash_pair(hash_bytes(key->path, key->path_size), identity);
}

static bool has_key(const struct file_entry *entry, const struct file_key *key)
{
	const struct process_mapping_event *event = key->event;

	if (entry->path_size != key->path_size ||
		memcmp(entry->path, key->path, key->path_size) != 0 ||
		entry->has_build_id_key != (event->build_id.size > 0))
		return false;
	if (entry->has_build_id_key)
		return build_id_equal(&entry->build_id, &event->build_id);
	return entry->inode == event->inode && entry->device_major == event->device_major &&
	       entry->device_minor == event->device_minor;
}

/* Returns the file with that key, or NONE. */
static uint32_t find_key(
	const struct file_table *table, const struct file_key *key, uint32_t bucket)
{
	uint32_t file = table->buckets[bucket];

	while (file != NONE && !has_key(&table->entries[file], key))
		file = table->entries[file].next;
	return file;
}

static void unchain(struct file_table *table, uint32_t file)
{
	uint32_t *place = &table->buckets[table->entries[file].bucket];

	while (*place != file)
		place = &table->entries[*place].next;
	*place = table->entries[file].next;
}

/* --- who answers for files in use --- */

static void charge(struct file_table *table, struct file_entry *entry, uint64_t user)
{
	entry->user = user;
	user_share_add(&table->share, user, 1);
	user_share_add(&table->path_share, user, entry->path_size + 1);
}

static void discharge(struct file_table *table, const struct file_entry *entry)
{
	user_share_remove(&table->share, entry->user, 1);
	user_share_remove(&table->path_share, entry->user, entry->path_size + 1);
}

void file_table_charge(struct file_table *table, uint32_t file, uint64_t from, uint64_t user)
{
	struct file_entry *entry = &table->entries[file];

	assert(file < table->count && entry->references > 0);
	if (entry->user != from)
		return;
	discharge(table, entry);
	charge(table, entry, user);
}

/* --- the list of unused files --- */

static void list_unused(struct file_table *table, uint32_t file)
{
	struct file_entry *entry = &table->entries[file];

	entry->unused_before = table->newest_unused;
	entry->unused_after = NONE;
	if (table->newest_unused == NONE)
		table->oldest_unused = file;
	else
		table->entries[table->newest_unused].unused_after = file;
	table->newest_unused = file;
}

static void unlist_unused(struct file_table *table, uint32_t file)
{
	const struct file_entry *entry = &table->entries[file];

	if (entry->unused_before == NONE)
		table->oldest_unused = entry->unused_after;
	else
		table->entries[entry->unused_before].unused_after = entry->unused_after;
	if (entry->unused_after == NONE)
		table->newest_unused = entry->unused_before;
	else
		table->entries[entry->unused_after].unused_before = entry->unused_before;
}

static bool forget_oldest_unused(struct file_table *table)
{
	uint32_t file = table->oldest_unused;
	struct file_entry *entry;

	if (file == NONE)
		return false;
	entry = &table->entries[file];
	unlist_unused(table, file);
	unchain(table, file);
	table->path_bytes -= entry->path_size + 1;
	free(entry->path);
	*entry = (struct file_entry){ .unused_after = table->free_file };
	table->free_file = file;
	return true;
}

void file_table_take(struct file_table *table, uint32_t file)
{
	assert(file < table->count && table->entries[file].path);
	if (table->entries[file].references++ == 0) {
		unlist_unused(table, file);
		charge(table, &table->entries[file], table->user);
	}
}

void file_table_drop(struct file_table *table, uint32_t file)
{
	assert(file < table->count && table->entries[file].references > 0);
	if (--table->entries[file].references == 0) {
		list_unused(table, file);
		discharge(table, &table->entries[file]);
	}
}

/* --- new files --- */

/* Finds a free id, without removing it from the free list, and room for a path with its NUL. */
static int make_room(struct file_table *table, size_t path_bytes, uint32_t *ret_file)
{
	int r;

	if (path_bytes > table->path_bytes_limit)
		return -E2BIG;
	table->lacking = &table->path_share;
	while (path_bytes > table->path_bytes_limit - table->path_bytes)
		if (!forget_oldest_unused(table))
			return -E2BIG;
	table->lacking = &table->share;
	if (table->free_file == NONE && table->count == table->limit &&
		!forget_oldest_unused(table))
		return -E2BIG;
	if (table->free_file == NONE) {
		r = ARRAY_RESERVE(table->entries, &table->capacity, table->count + 1, table->limit);
		if (r < 0)
			return r;
		table->entries[table->count] = (struct file_entry){ .unused_after = NONE };
		table->free_file = (uint32_t)table->count++;
	}
	*ret_file = table->free_file;
	return 0;
}

static int add_entry(
	struct file_table *table, const struct file_key *key, uint32_t bucket, uint32_t *ret_file)
{
	const struct process_mapping_event *event = key->event;
	_cleanup_free_ char *path = malloc(key->path_size + 1);
	uint32_t file;
	int r;

	if (!path)
		return -ENOMEM;
	r = make_room(table, key->path_size + 1, &file);
	if (r < 0)
		return r;
	memcpy(path, key->path, key->path_size);
	path[key->path_size] = '\0';
	table->path_bytes += key->path_size + 1;
	table->free_file = table->entries[file].unused_after;
	table->entries[file] = (struct file_entry){
		.path = TAKE_PTR(path),
		.identity = ++table->last_identity,
		.inode = event->inode,
		.device_major = event->device_major,
		.device_minor = event->device_minor,
		.path_size = (uint32_t)key->path_size,
		.references = 1,
		.build_id = event->build_id,
		.has_build_id_key = event->build_id.size > 0,
		.bucket = bucket,
		.next = table->buckets[bucket],
	};
	table->buckets[bucket] = file;
	charge(table, &table->entries[file], table->user);
	*ret_file = file;
	return 0;
}

int file_table_intern(
	struct file_table *table, const struct process_mapping_event *event, uint32_t *ret_file)
{
	struct file_key key;
	uint32_t bucket, file;
	int r = make_key(event, &key);

	table->lacking = NULL;
	if (r < 0)
		return r;
	bucket = (uint32_t)(hash_key(&key) & (table->bucket_count - 1));
	file = find_key(table, &key, bucket);
	if (file == NONE)
		return add_entry(table, &key, bucket, ret_file);
	file_table_take(table, file);
	*ret_file = file;
	return 0;
}

/* --- facts about a file --- */

void file_table_get(const struct file_table *table, uint32_t file, struct mapped_file *ret_file)
{
	const struct file_entry *entry;

	assert(file < table->count && table->entries[file].path);
	entry = &table->entries[file];
	*ret_file = (struct mapped_file){
		.identity = entry->identity,
		.path = entry->path,
		.build_id = entry->build_id,
		.inode = entry->inode,
		.device_major = entry->device_major,
		.device_minor = entry->device_minor,
		.is_regular = is_regular_path(entry->path),
	};
}

void file_table_set_build_id(struct file_table *table, uint32_t file, const struct build_id *id)
{
	assert(file < table->count && table->entries[file].path);
	if (table->entries[file].build_id.size == 0)
		table->entries[file].build_id = *id;
}

bool file_table_find_build_id(
	const struct file_table *table, const struct build_id *id, uint32_t *ret_file)
{
	if (id->size == 0)
		return false;
	for (uint32_t file = 0; file < table->count; file++)
		if (build_id_equal(&table->entries[file].build_id, id)) {
			*ret_file = file;
			return true;
		}
	return false;
}

bool file_table_is_anonymous(const struct file_table *table, uint32_t file)
{
	assert(file < table->count && table->entries[file].path);
	return strcmp(table->entries[file].path, ANONYMOUS) == 0;
}

size_t file_table_path_bytes(const struct file_table *table, uint32_t file)
{
	assert(file < table->count && table->entries[file].path);
	return (size_t)table->entries[file].path_size + 1;
}

size_t file_table_bytes(const struct file_table *table)
{
	return table->capacity * sizeof(*table->entries) + table->path_bytes +
	       table->bucket_count * sizeof(*table->buckets);
}
