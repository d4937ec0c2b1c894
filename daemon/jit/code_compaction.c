/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A new store out of an old one, with what is still needed. The old one stands until the new one is
 * whole. Lists are copied node by node in the order in which they were made, so that tails which
 * were shared are shared again, and the work is linear in what there is.
 *
 * What is needed of a list: all that is not before the horizon, and of what is before it the newest
 * of each writer, since others may not count for the one who asks.
 */
#include "jit/code_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	CHURN_MIN = 4096,
	/* Below the horizon: how deep it is looked for other writers. */
	KEPT_MAX = 16,
	/* Writers from this one on are taken for one. */
	WRITERS_MAX = 256,
	/* One part of so many of the limit is free after making room, or it would be made soon
	   again. */
	FREE_SHARE = 4,
};

#define UNUSED UINT32_MAX
#define MARKED 0U

enum level {
	LEVEL_RETIRED, /* what had ended before the horizon goes, and what no list has */
	LEVEL_ENDED,   /* all that has ended */
	LEVEL_LINES,   /* source lines */
	LEVEL_CODE,    /* the oldest half of the code; at the next ones three quarters, and so on */
};

struct compaction {
	const struct code_store *old;
	struct code_store store;
	struct string_pool files;  /* if lines are dropped */
	uint32_t *entries, *nodes; /* by old id: UNUSED, MARKED, then the new id or list */
	uint32_t *order;	   /* of entries, by time */
	uint64_t horizon_ns;
	bool is_asked_of;  /* what is before the horizon: nothing older may show where it was cut */
	uint64_t floor_ns; /* what is older has to go, and of its time what comes before */
	uint32_t floor_entry;
	bool drops_lines;
	size_t cut; /* what lists lose, in entries */
	struct code_index_counters dropped;
};

static void compaction_done(struct compaction *compaction)
{
	code_store_done(&compaction->store);
	string_pool_done(&compaction->files);
	free(compaction->entries);
	free(compaction->nodes);
	free(compaction->order);
}

static int compaction_init(struct compaction *compaction, const struct code_store *old)
{
	*compaction = (struct compaction){ .old = old };
	/* One more: no size of 0. */
	compaction->entries = calloc(old->history.entry_count + 1, sizeof(*compaction->entries));
	compaction->nodes = calloc(old->history.node_count + 1, sizeof(*compaction->nodes));
	return compaction->entries && compaction->nodes ? 0 : -ENOMEM;
}

static bool is_code(const struct compaction *compaction, uint32_t entry)
{
	return compaction->old->history.entries[entry].name != CODE_NAME_NONE;
}

static bool is_retired(const struct compaction *compaction, uint32_t entry)
{
	return compaction->old->history.entries[entry].time_ns < compaction->horizon_ns;
}

/* Then so is all that follows it in a list. */
static bool is_below_floor(const struct compaction *compaction, uint32_t entry)
{
	uint64_t time_ns = compaction->old->history.entries[entry].time_ns;

	return time_ns < compaction->floor_ns ||
	       (time_ns == compaction->floor_ns && entry < compaction->floor_entry);
}

/* Of a list that begins before the horizon, what is kept of it, newest first. */
static size_t keep_retired(
	const struct compaction *compaction, uint32_t list, uint32_t kept[KEPT_MAX])
{
	const struct code_history *history = &compaction->old->history;
	uint64_t seen[WRITERS_MAX / 64] = { 0 };
	size_t count = 0;

	for (size_t steps = 0; list != CODE_LIST_NONE && steps < KEPT_MAX; steps++) {
		uint32_t entry = code_history_newest(history, list);
		uint32_t writer = history->entries[entry].writer;

		if (is_below_floor(compaction, entry))
			break;
		writer = writer < WRITERS_MAX ? writer : WRITERS_MAX - 1;
		if (!(seen[writer / 64] >> writer % 64 & 1))
			kept[count++] = entry;
		else if (compaction->is_asked_of)
			break;
		seen[writer / 64] |= 1ULL << writer % 64;
		if (!history->is_mixed)
			break;
		list = code_history_older(history, list);
	}
	/* Nothing over nothing. */
	while (count > 0 && !is_code(compaction, kept[count - 1]))
		count--;
	return count;
}

static void mark_list(struct compaction *compaction, uint32_t list)
{
	uint32_t node = code_history_node(list);

	if (list == CODE_LIST_NONE)
		return;
	if (node != CODE_NODE_NONE)
		compaction->nodes[node] = MARKED;
	else if (!is_below_floor(compaction, list) &&
		 (is_code(compaction, list) || !is_retired(compaction, list)))
		compaction->entries[list] = MARKED;
	else
		compaction->cut++;
}

/* Returns how many nodes there will be at most. */
static size_t mark_node(struct compaction *compaction, uint32_t node)
{
	const struct code_node *old = &compaction->old->history.nodes[node];
	uint32_t kept[KEPT_MAX];
	size_t count;

	if (is_below_floor(compaction, old->entry))
		return 0;
	if (!is_retired(compaction, old->entry)) {
		compaction->entries[old->entry] = MARKED;
		mark_list(compaction, old->next);
		return 1;
	}
	count = keep_retired(compaction, code_history_list(node), kept);
	for (size_t i = 0; i < count; i++)
		compaction->entries[kept[i]] = MARKED;
	compaction->cut += old->depth + 1 - count;
	return count > 0 ? count - 1 : 0;
}

static size_t lines_bytes_of(const struct compaction *compaction, const struct code_entry *entry)
{
	size_t size;

	if (compaction->drops_lines || entry->lines == CODE_LINES_NONE)
		return 0;
	(void)code_store_lines(compaction->old, entry, &size);
	return sizeof(uint32_t) + size;
}

/* Marks what is needed, and tells how much that is. */
static void mark(struct compaction *compaction, struct code_need *ret_need)
{
	const struct code_store *old = compaction->old;
	struct code_position position = { 0 };
	struct code_need need = { 0 };

	compaction->cut = 0;
	memset(compaction->entries, 0xff, old->history.entry_count * sizeof(*compaction->entries));
	memset(compaction->nodes, 0xff, old->history.node_count * sizeof(*compaction->nodes));
	do
		mark_list(compaction, segment_list_list(&old->segments, position));
	while (segment_list_next(&old->segments, &position));

	/* A node stands behind all that it leads to. */
	for (size_t i = old->history.node_count; i-- > 0;)
		if (compaction->nodes[i] == MARKED)
			need.nodes += mark_node(compaction, (uint32_t)i);
	for (size_t i = 0; i < old->history.entry_count; i++) {
		if (compaction->entries[i] != MARKED)
			continue;
		need.entries++;
		need.lines_bytes += lines_bytes_of(compaction, &old->history.entries[i]);
	}
	*ret_need = need;
}

static size_t count_code(const struct compaction *compaction)
{
	size_t count = 0;

	for (uint32_t i = 0; i < compaction->old->history.entry_count; i++)
		count += compaction->entries[i] == MARKED && is_code(compaction, i);
	return count;
}

static int copy_entry(struct compaction *compaction, struct code_entry entry, uint32_t *ret_entry)
{
	const struct code_store *old = compaction->old;
	struct code_store *store = &compaction->store;
	const uint8_t *lines = NULL;
	size_t size = 0;

	if (entry.name != CODE_NAME_NONE) {
		const char *name = string_pool_get(&old->names, entry.name);
		int r = code_pool_intern(
			&store->names, name, strlen(name), UINT32_MAX, &entry.name);

		if (r < 0)
			return r;
	}
	if (entry.lines != CODE_LINES_NONE) {
		if (compaction->drops_lines)
			compaction->dropped.lines_dropped++;
		else
			lines = code_store_lines(old, &entry, &size);
	}
	entry.lines = code_store_add_lines(store, lines, size);
	*ret_entry = code_history_add(&store->history, &entry);
	return 0;
}

/* What a list of the old store has become, its nodes having been copied. */
static uint32_t new_list(const struct compaction *compaction, uint32_t list)
{
	uint32_t node = code_history_node(list);

	if (list == CODE_LIST_NONE)
		return CODE_LIST_NONE;
	/* UNUSED is CODE_LIST_NONE. */
	return node == CODE_NODE_NONE ? compaction->entries[list] : compaction->nodes[node];
}

static uint32_t copy_node(struct compaction *compaction, uint32_t node)
{
	const struct code_node *old = &compaction->old->history.nodes[node];
	struct code_history *history = &compaction->store.history;
	uint32_t kept[KEPT_MAX], list = CODE_LIST_NONE;
	size_t count;

	if (is_below_floor(compaction, old->entry))
		return CODE_LIST_NONE;
	if (!is_retired(compaction, old->entry))
		return code_history_push(
			history, compaction->entries[old->entry], new_list(compaction, old->next));
	count = keep_retired(compaction, code_history_list(node), kept);
	while (count-- > 0)
		list = code_history_push(history, compaction->entries[kept[count]], list);
	return list;
}

static int copy_segments(struct compaction *compaction)
{
	const struct segment_list *old = &compaction->old->segments;
	struct code_store *store = &compaction->store;
	struct code_position position = { 0 };
	uint32_t last = CODE_LIST_NONE;

	do {
		uint64_t start = segment_list_start(old, position);
		uint32_t list = new_list(compaction, segment_list_list(old, position));
		int r;

		if (start > 0 && list == last)
			continue;
		r = segment_list_append(&store->segments, start, list);
		if (r < 0)
			return r;
		code_history_hold(&store->history, list);
		last = list;
	} while (segment_list_next(old, &position));
	return 0;
}

static int build(struct compaction *compaction, const struct code_need *need)
{
	const struct code_history *old = &compaction->old->history;
	struct code_store *store = &compaction->store;
	int r;

	r = string_pool_init(&store->names, UINT32_MAX);
	if (r == 0)
		r = code_store_reserve(store, need);
	if (r == 0 && compaction->drops_lines)
		r = string_pool_init(&compaction->files, UINT32_MAX);
	for (uint32_t i = 0; r == 0 && i < old->entry_count; i++)
		if (compaction->entries[i] == MARKED)
			r = copy_entry(compaction, old->entries[i], &compaction->entries[i]);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < old->node_count; i++)
		if (compaction->nodes[i] == MARKED)
			compaction->nodes[i] = copy_node(compaction, i);
	return copy_segments(compaction);
}

static int compare_age(const void *a, const void *b, void *store)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct code_entry *entries = ((const struct code_store *)store)->history.entries;

	if (entries[left].time_ns != entries[right].time_ns)
		return entries[left].time_ns < entries[right].time_ns ? -1 : 1;
	return (left > right) - (left < right);
}

/* Of the code that is marked only the newest part, of 1 << `halvings` ones, is to stay. */
static int set_floor(struct compaction *compaction, size_t code, unsigned halvings)
{
	size_t dropped = code - (halvings < 32 ? code >> halvings : 0), count = 0;

	compaction->order = reallocarray(NULL, code + 1, sizeof(*compaction->order));
	if (!compaction->order)
		return -ENOMEM;
	for (uint32_t i = 0; i < compaction->old->history.entry_count; i++)
		if (compaction->entries[i] == MARKED && is_code(compaction, i))
			compaction->order[count++] = i;
	qsort_r(compaction->order, count, sizeof(*compaction->order), compare_age,
		(void *)compaction->old);
	compaction->floor_ns = UINT64_MAX;
	compaction->floor_entry = UINT32_MAX;
	if (dropped < count) {
		compaction->floor_entry = compaction->order[dropped];
		compaction->floor_ns =
			compaction->old->history.entries[compaction->floor_entry].time_ns;
	}
	return 0;
}

/* Fills `compaction`, which the caller owns even if it fails, with what that level keeps. */
static int run(const struct code_index *index, unsigned level, struct compaction *compaction)
{
	struct code_need need;
	int r = compaction_init(compaction, &index->store);

	if (r < 0)
		return r;
	compaction->horizon_ns = index->horizon_ns;
	compaction->drops_lines = level >= LEVEL_LINES;
	mark(compaction, &need);
	if (level >= LEVEL_ENDED) {
		size_t retired = compaction->cut;

		compaction->horizon_ns = UINT64_MAX;
		compaction->is_asked_of = true;
		mark(compaction, &need);
		compaction->dropped.history_dropped = compaction->cut - retired;
	}
	if (level >= LEVEL_CODE) {
		size_t kept = count_code(compaction);

		r = set_floor(compaction, kept, level - LEVEL_CODE + 1);
		if (r < 0)
			return r;
		mark(compaction, &need);
		compaction->dropped.code_dropped = kept - count_code(compaction);
	}
	return build(compaction, &need);
}

/* The index as it would be. Nothing is owned by it. */
static struct code_index preview(
	const struct code_index *index, const struct compaction *compaction)
{
	struct code_index candidate = *index;
	const struct code_history *history = &compaction->store.history;

	candidate.store = compaction->store;
	if (compaction->drops_lines) {
		candidate.files = compaction->files;
		candidate.files_base += index->files.count - 1;
	}
	candidate.churn = 0;
	candidate.churn_max = CHURN_MIN + history->entry_count + history->node_count;
	candidate.counters.history_dropped += compaction->dropped.history_dropped;
	candidate.counters.lines_dropped += compaction->dropped.lines_dropped;
	candidate.counters.code_dropped += compaction->dropped.code_dropped;
	return candidate;
}

/* Takes the new store, and leaves the old one to be freed with the compaction. */
static void commit(struct code_index *index, struct compaction *compaction)
{
	struct code_index after = preview(index, compaction);

	compaction->store = index->store;
	if (compaction->drops_lines)
		compaction->files = index->files;
	*index = after;
	index->compactions++;
}

static bool is_of_use(const struct code_index *index, unsigned level)
{
	switch (level) {
	case LEVEL_ENDED:
		return index->store.history.node_count > 0;
	case LEVEL_LINES:
		return index->store.lines_size > 0 || index->files.count > 1;
	default:
		return true;
	}
}

int code_compaction_make_room(struct code_index *index, const struct code_need *need)
{
	size_t limit = index->limit_bytes;

	if (code_index_bytes_after(index, need) <= limit)
		return 0;
	for (unsigned level = LEVEL_RETIRED;; level++) {
		_cleanup_(compaction_done) struct compaction compaction = { 0 };
		struct code_index after;
		bool is_empty;
		size_t bytes;
		int r;

		if (!is_of_use(index, level))
			continue;
		r = run(index, level, &compaction);
		if (r < 0)
			return r;
		after = preview(index, &compaction);
		bytes = code_index_bytes_after(&after, need);
		is_empty = level >= LEVEL_CODE && compaction.store.history.live == 0;
		if (bytes <= limit - limit / FREE_SHARE || is_empty) {
			commit(index, &compaction);
			return bytes <= limit ? 0 : -E2BIG;
		}
	}
}

int code_compaction_tidy(struct code_index *index)
{
	_cleanup_(compaction_done) struct compaction compaction = { 0 };
	int r = run(index, LEVEL_RETIRED, &compaction);

	if (r == 0)
		commit(index, &compaction);
	return r;
}
