/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/binary_table_state.h"

#include "base/array.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

const struct binary_table_limits binary_table_default_limits = {
	.binaries_max = 16384,
	.descriptors_max = 512,
	.path_bytes_max = 4 << 20,
};

void binary_table_free(struct binary_table *table)
{
	if (!table)
		return;
	for (size_t i = 0; i < table->count; i++) {
		binary_table_close(table, &table->entries[i]);
		free(table->entries[i].image);
		free(table->entries[i].path);
	}
	owned_binaries_done(&table->owned);
	hash_index_done(&table->index);
	free(table->entries);
	free(table);
}

int binary_table_new(const struct binary_table_limits *limits, struct broker *broker,
	struct process_table *processes, struct binary_table **ret_table)
{
	_cleanup_(binary_table_freep) struct binary_table *table = calloc(1, sizeof(*table));

	if (!table)
		return -ENOMEM;
	table->limits = *limits;
	table->broker = broker;
	table->processes = processes;
	table->user = USER_UNKNOWN;
	table->share.capacity = limits->binaries_max;
	table->path_share.capacity = limits->path_bytes_max / 2;
	*ret_table = TAKE_PTR(table);
	return 0;
}

void binary_table_set_user(struct binary_table *table, uint64_t user)
{
	table->user = user;
}

static bool identity_equal(const void *owner, uint32_t id, const void *key)
{
	const struct binary_table *table = owner;

	return memcmp(&table->entries[id].identity, key, sizeof(struct binary_identity)) == 0;
}

uint32_t binary_table_lookup(
	const struct binary_table *table, const struct binary_identity *identity)
{
	return hash_index_find(&table->index, hash_bytes(identity, sizeof(*identity)),
		identity_equal, table, identity);
}

static int reserve(struct binary_table *table)
{
	int r;

	while (table->first_free < table->count &&
		table->entries[table->first_free].identity.kind != IDENTITY_NONE)
		table->first_free++;
	r = ARRAY_RESERVE(table->entries, &table->capacity, table->first_free + 1,
		table->limits.binaries_max);
	return r < 0 ? r : hash_index_reserve(&table->index);
}

int binary_table_add(struct binary_table *table, const struct binary_identity *identity,
	enum binary_kind kind, const char *path, uint64_t user, uint32_t *ret_binary)
{
	struct binary_entry entry = {
		.identity = *identity,
		.kind = kind,
		.fd = -1,
		.used_window = table->window,
	};
	size_t path_bytes;
	int r;

	path = binary_table_shorten(table, user, path);
	path_bytes = strlen(path) + 1;
	if (!binary_table_has_room(table, identity, user) ||
		table->path_bytes + path_bytes > table->limits.path_bytes_max)
		return -E2BIG;
	r = reserve(table);
	if (r < 0)
		return r;
	entry.path = strdup(path);
	if (!entry.path)
		return -ENOMEM;
	entry.serial = ++table->last_serial;
	entry.has_user = table->user != USER_UNKNOWN;
	table->path_bytes += path_bytes;
	binary_table_charge(table, &entry, user);
	*ret_binary = (uint32_t)table->first_free;
	table->count += table->first_free == table->count;
	table->entries[*ret_binary] = entry;
	hash_index_insert(&table->index, hash_bytes(identity, sizeof(*identity)), *ret_binary);
	return 0;
}

void binary_table_keep_descriptor(struct binary_table *table, struct binary_entry *entry, int *fd)
{
	size_t i = table->oldest_unsampled;

	if (table->descriptors >= table->limits.descriptors_max) {
		while (i < table->count &&
			(table->entries[i].fd < 0 || table->entries[i].is_sampled))
			i++;
		table->oldest_unsampled = i;
		if (i == table->count)
			return;
		binary_table_close(table, &table->entries[i]);
	}
	entry->fd = TAKE_FD(*fd);
	table->descriptors++;
}

void binary_table_set_path(struct binary_table *table, struct binary_entry *entry, const char *path)
{
	size_t bytes, old_bytes = strlen(entry->path) + 1;
	const uint64_t user = entry->user;
	char *copy;

	path = binary_table_shorten(table, user, path);
	bytes = strlen(path) + 1;
	if (strcmp(entry->path, path) == 0 ||
		table->path_bytes - old_bytes + bytes > table->limits.path_bytes_max)
		return;
	copy = strdup(path);
	if (!copy)
		return;
	binary_table_discharge(table, entry);
	free(entry->path);
	entry->path = copy;
	binary_table_charge(table, entry, user);
	table->path_bytes += bytes - old_bytes;
}

void binary_table_set_jit_runtime(struct binary_table *table, uint32_t binary, const char *runtime)
{
	struct binary_entry *entry = &table->entries[binary];
	char path[32];

	assert(binary < table->count && entry->kind == BINARY_JIT);
	if (!runtime[0])
		return;
	(void)snprintf(path, sizeof(path), "[JIT] %s", runtime);
	binary_table_set_path(table, entry, path);
}

void binary_table_get(const struct binary_table *table, uint32_t binary, struct binary *ret_binary)
{
	const struct binary_entry *entry;

	assert(binary < table->count);
	entry = &table->entries[binary];
	*ret_binary = (struct binary){
		.kind = entry->kind,
		.build_id = entry->build_id,
		.path = entry->path,
		.image = entry->image,
		.fd = entry->fd,
		.user = entry->user,
		.serial = entry->serial,
	};
}

size_t binary_table_count(const struct binary_table *table)
{
	return table->count;
}

const struct user_share *binary_table_share(const struct binary_table *table)
{
	return &table->share;
}

const struct user_excess *binary_table_excess(const struct binary_table *table)
{
	return &table->excess;
}
