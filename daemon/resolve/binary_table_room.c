/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "resolve/binary_table_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	CROWDED_PART = 2, /* a collection leaves entries in half of the table */
	SHORT_PATH_BYTES =
		48, /* half of path_bytes_max has room for as many as there are entries */
};

/* Code of the kernel is not a user's. */
static bool is_of_kernel(const struct binary_identity *identity)
{
	return identity->kind == IDENTITY_KERNEL || identity->kind == IDENTITY_VDSO;
}

bool binary_table_has_room(
	struct binary_table *table, const struct binary_identity *identity, uint64_t user)
{
	if (is_of_kernel(identity))
		return table->share.used < table->share.capacity;
	if (user_share_has_room(&table->share, user, 1))
		return true;
	user_excess_add(&table->excess, user, USER_BINARIES, 1);
	return false;
}

void binary_table_charge(struct binary_table *table, struct binary_entry *entry, uint64_t user)
{
	entry->user = user;
	user_share_add(&table->share, user, 1);
	user_share_add(&table->path_share, user, strlen(entry->path) + 1);
}

void binary_table_discharge(struct binary_table *table, const struct binary_entry *entry)
{
	user_share_remove(&table->share, entry->user, 1);
	user_share_remove(&table->path_share, entry->user, strlen(entry->path) + 1);
}

void binary_table_use(struct binary_table *table, uint32_t binary)
{
	struct binary_entry *entry = &table->entries[binary];

	assert(binary < table->count && entry->identity.kind != IDENTITY_NONE);
	entry->used_window = table->window;
	entry->is_sampled = true;
	if (entry->has_user || table->user == USER_UNKNOWN || is_of_kernel(&entry->identity))
		return;
	entry->has_user = true;
	binary_table_discharge(table, entry);
	binary_table_charge(table, entry, table->user);
}

const char *binary_table_shorten(const struct binary_table *table, uint64_t user, const char *path)
{
	size_t length = strlen(path);

	if (length < SHORT_PATH_BYTES || user_share_has_room(&table->path_share, user, length + 1))
		return path;
	path += length - (SHORT_PATH_BYTES - 1);
	return path + strspn(path, "/");
}

void binary_table_close(struct binary_table *table, struct binary_entry *entry)
{
	if (entry->fd < 0)
		return;
	(void)close(entry->fd);
	entry->fd = -1;
	table->descriptors--;
}

/* --- collection --- */

static void doom(struct binary_table *table, struct binary_entry *entry)
{
	entry->is_doomed = true;
	binary_table_discharge(table, entry);
}

static void doom_idle(
	struct binary_table *table, uint32_t oldest_window, uint32_t age, uint64_t level)
{
	for (size_t i = 0; i < table->count; i++) {
		struct binary_entry *entry = &table->entries[i];

		if (entry->identity.kind != IDENTITY_NONE && !entry->is_doomed &&
			(uint64_t)entry->used_window + age <= oldest_window &&
			user_share_held(&table->share, entry->user) > level)
			doom(table, entry);
	}
}

bool binary_table_begin_collection(struct binary_table *table, uint32_t oldest_window)
{
	static const uint32_t ages[] = { 4096, 512, 64, 8, 1 };
	uint64_t level = user_share_level(&table->share, table->limits.binaries_max / CROWDED_PART);

	if (level == UINT64_MAX)
		return false;
	for (size_t i = 0; i < sizeof(ages) / sizeof(ages[0]); i++)
		doom_idle(table, oldest_window, ages[i], level);
	return true;
}

bool binary_table_is_doomed(const struct binary_table *table, uint32_t binary)
{
	assert(binary < table->count);
	return table->entries[binary].is_doomed;
}

void binary_table_spare(struct binary_table *table, uint32_t binary)
{
	struct binary_entry *entry = &table->entries[binary];

	assert(binary < table->count);
	if (!entry->is_doomed)
		return;
	entry->is_doomed = false;
	binary_table_charge(table, entry, entry->user);
}

static bool stands_for_another(const struct binary_identity *identity)
{
	return identity->kind == IDENTITY_UNREAD || identity->kind == IDENTITY_INTERPRETED;
}

/* A placeholder goes with its binary, whose number may stand for another one next. */
static void doom_placeholders(struct binary_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		struct binary_entry *entry = &table->entries[i];

		if (stands_for_another(&entry->identity) && !entry->is_doomed &&
			table->entries[entry->identity.first].is_doomed)
			doom(table, entry);
	}
}

static void clear(struct binary_table *table, struct binary_entry *entry)
{
	binary_table_close(table, entry);
	table->path_bytes -= strlen(entry->path) + 1;
	free(entry->image);
	free(entry->path);
	*entry = (struct binary_entry){ .fd = -1 };
}

void binary_table_end_collection(struct binary_table *table)
{
	doom_placeholders(table);
	hash_index_clear(&table->index);
	for (uint32_t i = 0; i < table->count; i++) {
		struct binary_entry *entry = &table->entries[i];

		if (entry->is_doomed)
			clear(table, entry);
		if (entry->identity.kind != IDENTITY_NONE)
			hash_index_insert(&table->index,
				hash_bytes(&entry->identity, sizeof(entry->identity)), i);
	}
	/* It is only a cache. */
	owned_binaries_done(&table->owned);
	table->first_free = 0;
	table->oldest_unsampled = 0;
}

void binary_table_begin_window(struct binary_table *table, uint32_t window)
{
	table->window = window;
}
