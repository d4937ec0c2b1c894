/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "process/file_table.h"

#include "base/array.h"
#include "process/maps_line.h"

#include <assert.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* What the side-band calls memory without a file. */
#define ANONYMOUS "//anon"

struct file_entry {
	struct build_id build_id;
	bool has_build_id_key; /* is the build-id part of its identity, or learnt later? */
	uint32_t path;
	uint32_t path_size;
	uint32_t device_major, device_minor;
	uint64_t inode;
};

struct file_key {
	const char *path;
	size_t path_size;
	const struct process_mapping_event *event;
};

void file_table_init(struct file_table *table, size_t limit, size_t path_bytes)
{
	*table = (struct file_table){
		.limit = limit < UINT32_MAX ? limit : UINT32_MAX - 1,
		.paths_limit = path_bytes < UINT32_MAX ? path_bytes : UINT32_MAX,
	};
}

void file_table_done(struct file_table *table)
{
	free(table->entries);
	free(table->paths);
	hash_index_done(&table->by_identity);
	hash_index_done(&table->by_build_id);
}

static bool starts_with(const char *path, const char *prefix)
{
	return strncmp(path, prefix, strlen(prefix)) == 0;
}

/* The kernel makes up absolute paths for shared memory; a memfd may well hold an ELF file. */
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
	/* A name that a process gives its memory would make as many files as it likes. */
	if (size == 0 || starts_with(event->path, "[anon:")) {
		key.path = ANONYMOUS;
		key.path_size = strlen(ANONYMOUS);
	}
	(void)maps_line_strip_deleted(key.path, &key.path_size);
	*ret_key = key;
	return 0;
}

static uint64_t hash_build_id(const struct build_id *id)
{
	return hash_bytes(id->bytes, sizeof(id->bytes));
}

static uint64_t hash_key(const struct file_key *key)
{
	const struct process_mapping_event *event = key->event;
	uint64_t device = (uint64_t)event->device_major << 32 | event->device_minor;
	uint64_t identity = event->build_id.size ? hash_build_id(&event->build_id)
						 : hash_pair(event->inode, device);

	return hash_pair(hash_bytes(key->path, key->path_size), identity);
}

static bool has_identity(const void *owner, uint32_t id, const void *wanted)
{
	const struct file_table *table = owner;
	const struct file_entry *entry = &table->entries[id];
	const struct file_key *key = wanted;
	const struct process_mapping_event *event = key->event;

	if (entry->path_size != key->path_size ||
		memcmp(table->paths + entry->path, key->path, key->path_size) != 0 ||
		entry->has_build_id_key != (event->build_id.size > 0))
		return false;
	if (entry->has_build_id_key)
		return build_id_equal(&entry->build_id, &event->build_id);
	return entry->inode == event->inode && entry->device_major == event->device_major &&
	       entry->device_minor == event->device_minor;
}

static bool has_build_id(const void *owner, uint32_t id, const void *wanted)
{
	const struct file_table *table = owner;

	return build_id_equal(&table->entries[id].build_id, wanted);
}

/* Where several files share a build-id, the first stands for them all. */
static void index_build_id(struct file_table *table, uint32_t file)
{
	const struct build_id *id = &table->entries[file].build_id;
	uint64_t hash = hash_build_id(id);

	if (hash_index_find(&table->by_build_id, hash, has_build_id, table, id) != HASH_INDEX_NONE)
		return;
	/* Short of memory, the file is still itself; it is only not found by its build-id. */
	if (hash_index_reserve(&table->by_build_id) < 0)
		return;
	hash_index_insert(&table->by_build_id, hash, file);
}

static int reserve_entry(struct file_table *table, size_t path_size)
{
	int r = ARRAY_RESERVE(table->entries, &table->capacity, table->count + 1, table->limit);

	if (r < 0)
		return r;
	r = ARRAY_RESERVE(table->paths, &table->paths_capacity, table->paths_size + path_size + 1,
		table->paths_limit);
	if (r < 0)
		return r;
	r = hash_index_reserve(&table->by_identity);
	if (r < 0)
		return r;
	return hash_index_reserve(&table->by_build_id);
}

static uint32_t add_entry(struct file_table *table, const struct file_key *key)
{
	const struct process_mapping_event *event = key->event;
	uint32_t file = (uint32_t)table->count++;

	table->entries[file] = (struct file_entry){
		.has_build_id_key = event->build_id.size > 0,
		.path = (uint32_t)table->paths_size,
		.path_size = (uint32_t)key->path_size,
		.device_major = event->device_major,
		.device_minor = event->device_minor,
		.inode = event->inode,
	};
	memcpy(table->paths + table->paths_size, key->path, key->path_size);
	table->paths[table->paths_size + key->path_size] = '\0';
	table->paths_size += key->path_size + 1;
	return file;
}

int file_table_intern(
	struct file_table *table, const struct process_mapping_event *event, uint32_t *ret_file)
{
	struct file_key key;
	uint64_t hash;
	uint32_t file;
	int r = make_key(event, &key);

	if (r < 0)
		return r;
	hash = hash_key(&key);
	file = hash_index_find(&table->by_identity, hash, has_identity, table, &key);
	if (file == HASH_INDEX_NONE) {
		r = reserve_entry(table, key.path_size);
		if (r < 0)
			return r;
		file = add_entry(table, &key);
		hash_index_insert(&table->by_identity, hash, file);
		file_table_set_build_id(table, file, &event->build_id);
	}
	*ret_file = file;
	return 0;
}

void file_table_get(const struct file_table *table, uint32_t file, struct mapped_file *ret_file)
{
	const struct file_entry *entry;

	assert(file < table->count);
	entry = &table->entries[file];
	*ret_file = (struct mapped_file){
		.path = table->paths + entry->path,
		.build_id = entry->build_id,
		.inode = entry->inode,
		.device_major = entry->device_major,
		.device_minor = entry->device_minor,
		.is_regular = is_regular_path(table->paths + entry->path),
	};
}

void file_table_set_build_id(struct file_table *table, uint32_t file, const struct build_id *id)
{
	assert(file < table->count);
	if (id->size == 0 || table->entries[file].build_id.size > 0)
		return;
	table->entries[file].build_id = *id;
	index_build_id(table, file);
}

bool file_table_find_build_id(
	const struct file_table *table, const struct build_id *id, uint32_t *ret_file)
{
	uint32_t file;

	if (id->size == 0)
		return false;
	file = hash_index_find(&table->by_build_id, hash_build_id(id), has_build_id, table, id);
	if (file == HASH_INDEX_NONE)
		return false;
	*ret_file = file;
	return true;
}

bool file_table_is_anonymous(const struct file_table *table, uint32_t file)
{
	assert(file < table->count);
	return strcmp(table->paths + table->entries[file].path, ANONYMOUS) == 0;
}

size_t file_table_bytes(const struct file_table *table)
{
	return table->capacity * sizeof(*table->entries) + table->paths_capacity +
	       hash_index_bytes(&table->by_identity) + hash_index_bytes(&table->by_build_id);
}
