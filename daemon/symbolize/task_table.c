/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbolize/task_table.h"

#include "base/array.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

void task_close_files(struct task *task)
{
	if (task->binary.fd >= 0)
		(void)close(TAKE_FD(task->binary.fd));
	if (task->binary.debug_fd >= 0)
		(void)close(TAKE_FD(task->binary.debug_fd));
}

static void task_done(struct task *task)
{
	task_close_files(task);
	free((char *)task->binary.path);
	free((char *)task->binary.debug_path);
}

void task_table_done(struct task_table *table)
{
	for (size_t i = 0; i < table->count; i++)
		task_done(&table->items[i]);
	free(table->items);
	hash_index_done(&table->index);
	*table = (struct task_table){ 0 };
}

static bool is_of(const void *owner, uint32_t id, const void *key)
{
	const struct task_table *table = owner;

	return symbol_identity_equal(&table->items[id].binary.identity, key);
}

/* Includes the padding, because two sizes may be one identity. */
static uint64_t hash(const struct symbol_identity *identity)
{
	return hash_bytes(identity->id.bytes, sizeof(identity->id.bytes));
}

struct task *task_table_find(const struct task_table *table, const struct symbol_identity *identity)
{
	uint32_t id = hash_index_find(&table->index, hash(identity), is_of, table, identity);

	return id == HASH_INDEX_NONE ? NULL : &table->items[id];
}

/* Removes the tasks that are done. Their symbols are in the cache, or in the source. */
static void sweep(struct task_table *table)
{
	hash_index_clear(&table->index);
	for (uint32_t id = 0; id < table->count; id++) {
		struct task *task = &table->items[id];

		if (task->stage == TASK_DONE) {
			task_done(task);
			*task = (struct task){ .stage = TASK_FREE,
				.binary = { .fd = -1, .debug_fd = -1 },
				.draft.fd = -1 };
		}
		if (task->stage != TASK_FREE)
			hash_index_insert(&table->index, hash(&task->binary.identity), id);
	}
	table->first_free = 0;
}

static void find_free(struct task_table *table)
{
	while (table->first_free < table->count &&
		table->items[table->first_free].stage != TASK_FREE)
		table->first_free++;
}

static int reserve(struct task_table *table)
{
	int r;

	find_free(table);
	if (table->first_free == TASKS_MAX) {
		sweep(table);
		find_free(table);
	}
	r = ARRAY_RESERVE(table->items, &table->capacity, table->first_free + 1, TASKS_MAX);
	return r < 0 ? r : hash_index_reserve(&table->index);
}

static int copy(const char **ret_copy, const char *text)
{
	*ret_copy = text ? strdup(text) : NULL;
	return text && !*ret_copy ? -ENOMEM : 0;
}

static int duplicate(int *ret_fd, int fd)
{
	*ret_fd = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
	return fd >= 0 && *ret_fd < 0 ? -errno : 0;
}

static int fill(struct symbol_binary *copied, const struct symbol_binary *binary)
{
	int r;

	r = copy(&copied->path, binary->path ? binary->path : "");
	if (r == 0)
		r = copy(&copied->debug_path, binary->debug_path);
	if (r == 0)
		r = duplicate(&copied->fd, binary->fd);
	if (r == 0)
		r = duplicate(&copied->debug_fd, binary->debug_fd);
	return r;
}

int task_table_add(struct task_table *table, const struct symbol_binary *binary, uint32_t *ret_id)
{
	struct task task = {
		.binary = {
			.build_id = binary->build_id,
			.identity = binary->identity,
			.user = binary->user,
			.fd = -1,
			.debug_fd = -1,
		},
		.stage = TASK_WAITING,
		.draft = { .fd = -1 },
	};
	int r;

	r = reserve(table);
	if (r == 0)
		r = fill(&task.binary, binary);
	if (r < 0) {
		task_done(&task);
		return r;
	}
	task.number = ++table->last_number;
	*ret_id = (uint32_t)table->first_free;
	hash_index_insert(&table->index, hash(&binary->identity), *ret_id);
	table->count += table->first_free == table->count;
	table->items[*ret_id] = task;
	return 0;
}
