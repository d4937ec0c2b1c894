/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The questions that a code index answers. */
#include "jit/code_store.h"

/* Facts that do not count for the one who asks are passed over, but not for ever. */
enum { HIDDEN_MAX = 1024 };

static bool is_visible(
	const struct code_history *history, uint32_t list, const struct code_view *view)
{
	const struct code_entry *entry = &history->entries[code_history_newest(history, list)];

	if (entry->time_ns < view->since_ns)
		return false;
	return entry->writer >= view->count || entry->time_ns < view->until_ns[entry->writer];
}

/*
 * The time of the first fact after a time that counts, where `newer` begins with the first of all;
 * its time where that lies too deep, so that the answer is never said to last longer than it does.
 */
static uint64_t time_of_next(const struct code_history *history, uint32_t list, uint32_t newer,
	const struct code_view *view)
{
	uint64_t until_ns = UINT64_MAX;

	if (newer == CODE_LIST_NONE)
		return UINT64_MAX;
	if (!view || is_visible(history, newer, view))
		return code_history_time(history, newer);
	for (size_t steps = 0; list != newer; list = code_history_older(history, list)) {
		if (++steps > HIDDEN_MAX)
			return code_history_time(history, newer);
		if (is_visible(history, list, view))
			until_ns = code_history_time(history, list);
	}
	return until_ns;
}

/* What counts of a list at a time: an entry of code, or CODE_ENTRY_NONE. */
static uint32_t resolve(const struct code_history *history, uint32_t list, uint64_t time_ns,
	const struct code_view *view, uint64_t *ret_until_ns)
{
	uint32_t newer, at = code_history_seek(history, list, time_ns, &newer);
	uint32_t entry;

	for (size_t steps = 0; view && at != CODE_LIST_NONE && !is_visible(history, at, view);
		at = code_history_older(history, at))
		if (code_history_time(history, at) < view->since_ns || ++steps > HIDDEN_MAX)
			return CODE_ENTRY_NONE;
	if (at == CODE_LIST_NONE)
		return CODE_ENTRY_NONE;
	entry = code_history_newest(history, at);
	if (history->entries[entry].name == CODE_NAME_NONE)
		return CODE_ENTRY_NONE;
	*ret_until_ns = time_of_next(history, list, newer, view);
	return entry;
}

static void find_line(const struct code_index *index, const struct code_entry *entry,
	uint64_t address, struct code_found *found)
{
	uint64_t offset = address - entry->address;
	struct line_entry line;
	const uint8_t *lines;
	size_t size;

	if (entry->lines == CODE_LINES_NONE || offset > UINT32_MAX)
		return;
	lines = code_store_lines(&index->store, entry, &size);
	if (!line_list_find(lines, size, (uint32_t)offset, &line))
		return;
	found->line = line.line;
	found->column = line.column;
	if (line.file > index->files_base && line.file - index->files_base < index->files.count)
		found->file = string_pool_get(&index->files, line.file - index->files_base);
}

static struct code_found found_of(
	const struct code_index *index, const struct code_entry *entry, uint64_t until_ns)
{
	return (struct code_found){
		.name = string_pool_get(&index->store.names, entry->name),
		.address = entry->address,
		.size = entry->size,
		.time_ns = entry->time_ns,
		.until_ns = until_ns,
	};
}

bool code_index_find(const struct code_index *index, uint64_t address, uint64_t time_ns,
	const struct code_view *view, struct code_found *ret_found)
{
	const struct code_store *store = &index->store;
	struct code_position position = segment_list_find(&store->segments, address);
	uint32_t list = segment_list_list(&store->segments, position), found;
	uint64_t until_ns;

	found = resolve(&store->history, list, time_ns, view, &until_ns);
	if (found == CODE_ENTRY_NONE)
		return false;
	*ret_found = found_of(index, &store->history.entries[found], until_ns);
	find_line(index, &store->history.entries[found], address, ret_found);
	return true;
}

/* A stretch of one code, which may be of several segments. */
struct stretch {
	uint32_t entry;
	uint64_t start, until_ns;
};

/* `end`: where it does, 0 for that of the address space. */
static int tell(const struct code_index *index, const struct stretch *stretch, uint64_t end,
	code_index_function function, void *context)
{
	struct code_found found;

	if (stretch->entry == CODE_ENTRY_NONE)
		return 0;
	found = found_of(index, &index->store.history.entries[stretch->entry], stretch->until_ns);
	found.address = stretch->start;
	found.size = end - stretch->start;
	return function(context, &found);
}

int code_index_each(const struct code_index *index, uint64_t time_ns, const struct code_view *view,
	code_index_function function, void *context)
{
	const struct segment_list *segments = &index->store.segments;
	struct stretch stretch = { .entry = CODE_ENTRY_NONE };
	struct code_position position = { 0 };
	int r;

	do {
		uint64_t start = segment_list_start(segments, position), until_ns = UINT64_MAX;
		uint32_t entry = resolve(&index->store.history,
			segment_list_list(segments, position), time_ns, view, &until_ns);

		if (entry == stretch.entry) {
			if (until_ns < stretch.until_ns)
				stretch.until_ns = until_ns;
			continue;
		}
		r = tell(index, &stretch, start, function, context);
		if (r != 0)
			return r;
		stretch = (struct stretch){ entry, start, until_ns };
	} while (segment_list_next(segments, &position));
	/* Code that ends where addresses do: only that which begins at 0 has no size then. */
	return tell(index, &stretch, 0, function, context);
}
