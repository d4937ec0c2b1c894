/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/code_index.h"

#include "base/utf8.h"
#include "jit/code_store.h"

#include <errno.h>
#include <stdlib.h>

enum {
	/* Code that is put over more segments than this takes them for itself, history and all. */
	COVER_MAX = 64,
	/* What one fact may put into lists: it is not taken where that is not enough. */
	NODES_MAX = 128,
	CHURN_MIN = 4096,
	/* Of the limit: what one fact may take, the names of files, and how many those are. */
	FACT_SHARE = 2,
	FILES_SHARE = 16,
	FILE_BYTES_OF_LIMIT = 512,
};

/* Keeps all ids and offsets within 31 bits. */
#define LIMIT_BYTES_MAX ((size_t)INT32_MAX)

int code_index_new(size_t limit_bytes, struct code_index **ret_index)
{
	_cleanup_(code_index_freep) struct code_index *index = calloc(1, sizeof(*index));
	int r;

	if (!index)
		return -ENOMEM;
	index->churn_max = CHURN_MIN;
	code_index_set_limit(index, limit_bytes);
	r = code_store_init(&index->store);
	if (r == 0)
		r = string_pool_init(&index->files, UINT32_MAX);
	if (r < 0)
		return r;
	*ret_index = TAKE_PTR(index);
	return 0;
}

void code_index_free(struct code_index *index)
{
	if (!index)
		return;
	code_store_done(&index->store);
	string_pool_done(&index->files);
	free(index);
}

void code_index_set_limit(struct code_index *index, size_t limit_bytes)
{
	index->limit_bytes = limit_bytes < LIMIT_BYTES_MAX ? limit_bytes : LIMIT_BYTES_MAX;
}

int code_index_clear(struct code_index *index)
{
	struct code_store store;
	int r = code_store_init(&store);

	if (r < 0)
		return r;
	code_store_done(&index->store);
	index->store = store;
	index->churn = 0;
	index->newest_ns = 0;
	index->compactions++;
	return 0;
}

int code_index_trim(struct code_index *index)
{
	static const struct code_need nothing;

	return code_compaction_make_room(index, &nothing);
}

size_t code_index_bytes(const struct code_index *index)
{
	const struct code_need nothing = { 0 };

	return code_index_bytes_after(index, &nothing);
}

size_t code_index_count(const struct code_index *index)
{
	return index->store.history.live;
}

void code_index_counters(const struct code_index *index, struct code_index_counters *ret_counters)
{
	*ret_counters = index->counters;
}

int code_index_file(struct code_index *index, const char *name, size_t size, uint32_t *ret_file)
{
	const struct code_need need = { .file_bytes = size };
	struct string_pool *files = &index->files;
	size_t limit = index->limit_bytes / FILES_SHARE;
	uint32_t id;
	int r;

	r = code_compaction_make_room(index, &need);
	if (r < 0)
		return r;
	/* A pool that is full still knows what it has. */
	if (files->count >= index->limit_bytes / FILE_BYTES_OF_LIMIT)
		limit = 0;
	r = code_pool_intern(files, name, size, limit, &id);
	if (r < 0)
		return r;
	*ret_file = id > 0 ? index->files_base + id : 0;
	return 0;
}

/* Facts */

struct placing {
	struct code_index *index;
	uint32_t entry, only_over;
	bool is_large; /* it covers more than COVER_MAX segments */
	bool is_run;   /* the segment before this one was taken whole */
	size_t nodes;  /* that it may still take */
	bool is_displaced;
};

static bool takes_whole(const struct placing *placing, uint32_t list)
{
	const struct code_history *history = &placing->index->store.history;

	if (!placing->is_large)
		return false;
	if (list == CODE_LIST_NONE)
		return placing->only_over == CODE_ENTRY_NONE;
	if (code_history_time(history, list) > history->entries[placing->entry].time_ns)
		return false;
	return placing->only_over == CODE_ENTRY_NONE ||
	       placing->only_over == code_history_newest(history, list);
}

static enum code_verdict take_whole(struct placing *placing, uint32_t *list)
{
	struct code_index *index = placing->index;

	if (*list != CODE_LIST_NONE) {
		index->churn++;
		index->counters.history_dropped++;
		code_history_drop(&index->store.history, *list);
	}
	if (placing->is_run)
		return CODE_MERGE;
	placing->is_run = true;
	*list = placing->entry;
	code_history_hold(&index->store.history, *list);
	return CODE_KEEP;
}

static enum code_verdict place_on_segment(void *context, uint32_t *list)
{
	struct placing *placing = context;
	struct code_history *history = &placing->index->store.history;
	uint32_t before = *list;
	size_t cost;

	if (takes_whole(placing, *list))
		return take_whole(placing, list);
	placing->is_run = false;
	cost = code_history_cost(history, *list, history->entries[placing->entry].time_ns);
	if (cost > placing->nodes) {
		placing->is_displaced = true;
		return CODE_STOP;
	}
	placing->nodes -= cost;
	switch (code_history_place(history, placing->entry, placing->only_over, list)) {
	case CODE_PLACED:
		code_history_hold(history, *list);
		code_history_drop(history, before);
		placing->index->churn += before != CODE_LIST_NONE;
		break;
	case CODE_DISPLACED:
		placing->is_displaced = true;
		break;
	case CODE_NOT_OVER:
		break;
	}
	return CODE_KEEP;
}

/* The segments that [first, last] touches, up to one more than COVER_MAX, and nodes for them. */
static size_t survey(const struct code_index *index, uint64_t time_ns, uint64_t first,
	uint64_t last, size_t *ret_nodes)
{
	const struct code_store *store = &index->store;
	struct code_position position = segment_list_find(&store->segments, first);
	size_t count = 0, nodes = 0;

	do {
		nodes += code_history_cost(
			&store->history, segment_list_list(&store->segments, position), time_ns);
		count++;
	} while (count <= COVER_MAX && segment_list_next(&store->segments, &position) &&
		 segment_list_start(&store->segments, position) <= last);
	if (count > COVER_MAX || nodes > NODES_MAX)
		nodes = NODES_MAX;
	*ret_nodes = nodes;
	return count;
}

static void split(struct code_store *store, uint64_t address)
{
	uint32_t list;

	if (segment_list_split(&store->segments, address, &list))
		code_history_hold(&store->history, list);
}

/* Puts an entry where it says, for which everything has been reserved. False: not all of it. */
static bool place(struct code_index *index, const struct code_entry *entry, uint32_t only_over)
{
	struct code_store *store = &index->store;
	uint64_t last = entry->address + entry->size - 1;
	struct placing placing = {
		.index = index,
		.only_over = only_over,
		.nodes = NODES_MAX,
	};
	size_t nodes;

	split(store, entry->address);
	if (last < UINT64_MAX)
		split(store, last + 1);
	placing.is_large = survey(index, entry->time_ns, entry->address, last, &nodes) > COVER_MAX;
	placing.entry = code_history_add(&store->history, entry);
	segment_list_rewrite(&store->segments, entry->address, last, place_on_segment, &placing);
	return !placing.is_displaced;
}

static void finish_fact(struct code_index *index, uint64_t time_ns, bool is_displaced)
{
	if (time_ns < index->newest_ns)
		index->counters.reordered++;
	else
		index->newest_ns = time_ns;
	if (is_displaced)
		index->counters.displaced++;
	/* A failure costs memory that is there. */
	if (index->churn >= index->churn_max)
		(void)code_compaction_tidy(index);
}

static bool is_range(uint64_t address, uint64_t size)
{
	return size > 0 && address + (size - 1) >= address;
}

/*
 * Room for a fact whose places have been surveyed. Nothing that is known goes for one that could
 * not stay for long itself.
 */
static int make_room(struct code_index *index, const struct code_need *need)
{
	if (need->name_bytes + need->lines_bytes > index->limit_bytes / FACT_SHARE)
		return -E2BIG;
	return code_compaction_make_room(index, need);
}

static int take_load(struct code_index *index, const struct code_load *load)
{
	uint64_t last = load->address + (load->size - 1);
	struct code_need need = {
		.entries = 1,
		.splits = 2,
		.name_bytes =
			load->name_size < UTF8_CLEAN_BYTES ? load->name_size : UTF8_CLEAN_BYTES,
		.lines_bytes = load->lines ? load->lines_size : 0,
	};
	struct code_entry entry = {
		.address = load->address,
		.size = load->size,
		.time_ns = load->time_ns,
		.writer = load->writer,
	};
	uint64_t compactions;
	int r;

	if (!is_range(load->address, load->size))
		return -EINVAL;
	if (need.lines_bytes > index->limit_bytes / FACT_SHARE) {
		need.lines_bytes = 0;
		index->counters.lines_dropped++;
	}
	(void)survey(index, load->time_ns, load->address, last, &need.nodes);
	compactions = index->compactions;
	r = make_room(index, &need);
	if (r < 0)
		return r;
	if (index->compactions != compactions)
		(void)survey(index, load->time_ns, load->address, last, &need.nodes);
	r = code_store_reserve(&index->store, &need);
	if (r < 0)
		return r;
	r = code_pool_intern(
		&index->store.names, load->name, load->name_size, UINT32_MAX, &entry.name);
	if (r < 0)
		return r;
	entry.lines = code_store_add_lines(&index->store, load->lines, need.lines_bytes);
	finish_fact(index, load->time_ns, !place(index, &entry, CODE_ENTRY_NONE));
	return 0;
}

int code_index_load(struct code_index *index, const struct code_load *load)
{
	int r = take_load(index, load);

	if (r == 0)
		index->counters.loads++;
	else if (r != -ENOMEM)
		index->counters.refused++;
	return r;
}

/* The code that begins at an address, or CODE_ENTRY_NONE. */
static uint32_t code_at(const struct code_index *index, uint64_t address, uint64_t time_ns)
{
	const struct code_store *store = &index->store;
	uint32_t newer, entry;
	uint32_t list = code_history_seek(&store->history,
		segment_list_list(&store->segments, segment_list_find(&store->segments, address)),
		time_ns, &newer);

	if (list == CODE_LIST_NONE)
		return CODE_ENTRY_NONE;
	entry = code_history_newest(&store->history, list);
	if (store->history.entries[entry].name == CODE_NAME_NONE ||
		store->history.entries[entry].address != address)
		return CODE_ENTRY_NONE;
	return entry;
}

static int plan_move(const struct code_index *index, const struct code_move *move,
	uint32_t *ret_moved, struct code_need *ret_need)
{
	uint32_t moved = code_at(index, move->from, move->time_ns);
	const struct code_entry *old;
	size_t nodes;

	if (moved == CODE_ENTRY_NONE)
		return -ENOENT;
	old = &index->store.history.entries[moved];
	*ret_need = (struct code_need){ .entries = 2, .splits = 4 };
	(void)survey(index, move->time_ns, old->address, old->address + (old->size - 1), &nodes);
	(void)survey(index, move->time_ns, move->to, move->to + (move->size - 1), &ret_need->nodes);
	/* The ends of the old place may cut two segments of the new one. */
	ret_need->nodes += nodes + 2 * (size_t)(CODE_REORDER_MAX + 1);
	*ret_moved = moved;
	return 0;
}

static int take_move(struct code_index *index, const struct code_move *move)
{
	struct code_history *history = &index->store.history;
	struct code_entry entry;
	struct code_need need;
	bool is_displaced;
	uint32_t moved;
	int r;

	if (!is_range(move->from, move->size) || !is_range(move->to, move->size))
		return -EINVAL;
	r = plan_move(index, move, &moved, &need);
	if (r < 0)
		return r;
	r = make_room(index, &need);
	if (r < 0)
		return r;
	/* It may have gone to make room. */
	r = plan_move(index, move, &moved, &need);
	if (r < 0)
		return r;
	r = code_store_reserve(&index->store, &need);
	if (r < 0)
		return r;

	entry = history->entries[moved];
	entry.time_ns = move->time_ns;
	entry.writer = move->writer;
	entry.name = CODE_NAME_NONE;
	entry.lines = CODE_LINES_NONE;
	is_displaced = !place(index, &entry, moved);
	entry.name = history->entries[moved].name;
	entry.lines = history->entries[moved].lines;
	entry.address = move->to;
	entry.size = move->size;
	is_displaced |= !place(index, &entry, CODE_ENTRY_NONE);
	finish_fact(index, move->time_ns, is_displaced);
	return 0;
}

int code_index_move(struct code_index *index, const struct code_move *move)
{
	int r = take_move(index, move);

	if (r == 0)
		index->counters.moves++;
	else if (r == -ENOENT)
		index->counters.moves_unknown++;
	else if (r != -ENOMEM)
		index->counters.refused++;
	return r;
}

void code_index_retire(struct code_index *index, uint64_t time_ns)
{
	if (time_ns > index->horizon_ns)
		index->horizon_ns = time_ns;
	if (index->churn >= index->churn_max)
		(void)code_compaction_tidy(index);
}
