/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/code_history.h"

#include "base/array.h"
#include "jit/code_growth.h"

#include <assert.h>
#include <stdlib.h>

#define NODE_BIT 0x80000000U

static bool is_node(uint32_t list)
{
	return list & NODE_BIT;
}

static const struct code_node *node_of(const struct code_history *history, uint32_t list)
{
	return &history->nodes[list & ~NODE_BIT];
}

void code_history_done(struct code_history *history)
{
	free(history->entries);
	free(history->nodes);
	*history = (struct code_history){ 0 };
}

int code_history_reserve(struct code_history *history, size_t entries, size_t nodes)
{
	size_t entry_count = history->entry_count + entries;
	size_t node_count = history->node_count + nodes;
	int r;

	r = ARRAY_RESERVE(history->entries, &history->entry_capacity, entry_count,
		code_growth(history->entry_capacity, entry_count));
	if (r < 0)
		return r;
	return ARRAY_RESERVE(history->nodes, &history->node_capacity, node_count,
		code_growth(history->node_capacity, node_count));
}

size_t code_history_bytes_after(const struct code_history *history, size_t entries, size_t nodes)
{
	return code_growth(history->entry_capacity, history->entry_count + entries) *
		       sizeof(*history->entries) +
	       code_growth(history->node_capacity, history->node_count + nodes) *
		       sizeof(*history->nodes);
}

uint32_t code_history_add(struct code_history *history, const struct code_entry *entry)
{
	assert(history->entry_count < history->entry_capacity);
	history->entries[history->entry_count] = *entry;
	history->entries[history->entry_count].heads = 0;
	history->is_mixed |= entry->writer != history->entries[0].writer;
	return (uint32_t)history->entry_count++;
}

static uint32_t depth_of(const struct code_history *history, uint32_t list)
{
	return is_node(list) ? node_of(history, list)->depth : 0;
}

/* The last entry jumps to itself. */
static uint32_t jump_of(const struct code_history *history, uint32_t list)
{
	return is_node(list) ? node_of(history, list)->jump : list;
}

uint32_t code_history_push(struct code_history *history, uint32_t entry, uint32_t list)
{
	uint32_t jump, far;

	if (list == CODE_LIST_NONE)
		return entry;
	assert(history->node_count < history->node_capacity);
	jump = jump_of(history, list);
	far = jump_of(history, jump);
	/* Two jumps of one length become one of twice that and one step. */
	if (depth_of(history, list) - depth_of(history, jump) !=
		depth_of(history, jump) - depth_of(history, far))
		far = list;
	history->nodes[history->node_count] = (struct code_node){
		.entry = entry,
		.next = list,
		.jump = far,
		.depth = depth_of(history, list) + 1,
	};
	return (uint32_t)history->node_count++ | NODE_BIT;
}

void code_history_hold(struct code_history *history, uint32_t list)
{
	struct code_entry *entry;

	if (list == CODE_LIST_NONE)
		return;
	entry = &history->entries[code_history_newest(history, list)];
	if (entry->heads++ == 0 && entry->name != CODE_NAME_NONE)
		history->live++;
}

void code_history_drop(struct code_history *history, uint32_t list)
{
	struct code_entry *entry;

	if (list == CODE_LIST_NONE)
		return;
	entry = &history->entries[code_history_newest(history, list)];
	assert(entry->heads > 0);
	if (--entry->heads == 0 && entry->name != CODE_NAME_NONE)
		history->live--;
}

uint32_t code_history_newest(const struct code_history *history, uint32_t list)
{
	return is_node(list) ? node_of(history, list)->entry : list;
}

uint32_t code_history_node(uint32_t list)
{
	return list != CODE_LIST_NONE && is_node(list) ? list & ~NODE_BIT : CODE_NODE_NONE;
}

uint32_t code_history_list(uint32_t node)
{
	return node | NODE_BIT;
}

uint64_t code_history_time(const struct code_history *history, uint32_t list)
{
	return history->entries[code_history_newest(history, list)].time_ns;
}

uint32_t code_history_older(const struct code_history *history, uint32_t list)
{
	return is_node(list) ? node_of(history, list)->next : CODE_LIST_NONE;
}

uint32_t code_history_seek(
	const struct code_history *history, uint32_t list, uint64_t time_ns, uint32_t *ret_newer)
{
	*ret_newer = CODE_LIST_NONE;
	while (list != CODE_LIST_NONE && code_history_time(history, list) > time_ns) {
		uint32_t jump = jump_of(history, list);

		*ret_newer = list;
		if (jump != list && code_history_time(history, jump) > time_ns)
			list = jump;
		else
			list = code_history_older(history, list);
	}
	return list;
}

size_t code_history_cost(const struct code_history *history, uint32_t list, uint64_t time_ns)
{
	size_t cost = 1;

	while (list != CODE_LIST_NONE && code_history_time(history, list) > time_ns &&
		cost <= CODE_REORDER_MAX) {
		list = code_history_older(history, list);
		cost++;
	}
	return cost;
}

enum code_placing code_history_place(
	struct code_history *history, uint32_t entry, uint32_t only_over, uint32_t *list)
{
	const struct code_entry *placed = &history->entries[entry];
	uint32_t newer[CODE_REORDER_MAX], rest = *list;
	size_t depth = 0;

	while (rest != CODE_LIST_NONE && code_history_time(history, rest) > placed->time_ns) {
		if (depth == CODE_REORDER_MAX)
			return CODE_DISPLACED;
		newer[depth++] = code_history_newest(history, rest);
		rest = code_history_older(history, rest);
	}
	if (only_over != CODE_ENTRY_NONE &&
		(rest == CODE_LIST_NONE || code_history_newest(history, rest) != only_over))
		return CODE_NOT_OVER;
	if (rest != CODE_LIST_NONE) {
		const struct code_entry *below =
			&history->entries[code_history_newest(history, rest)];

		if (below->time_ns == placed->time_ns && below->writer == placed->writer)
			rest = code_history_older(history, rest);
	}
	rest = code_history_push(history, entry, rest);
	while (depth > 0)
		rest = code_history_push(history, newer[--depth], rest);
	*list = rest;
	return CODE_PLACED;
}
