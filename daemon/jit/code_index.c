/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/code_index.h"

#include "base/array.h"
#include "base/string_pool.h"
#include "base/utf8.h"
#include "jit/code_compaction.h"
#include "jit/code_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	/* Facts that replace others, before the index is compacted. */
	REPLACED_MIN = 4096,
	/* Parts of the limit: one fact's text, the names of files, what a compaction leaves free.
	 */
	FACT_SHARE = 2,
	FILES_SHARE = 16,
	FREE_SHARE = 4,
	FILE_BYTES_OF_LIMIT = 512, /* one file for so many */
};

/* Keeps all ids and offsets within 31 bits. */
#define LIMIT_BYTES_MAX ((size_t)INT32_MAX)

struct code_index {
	struct code_store store;
	struct string_pool files;
	uint32_t files_base; /* added to the pool's ids; lower ids have been dropped */
	size_t limit_bytes;
	uint64_t horizon_ns;
	uint64_t newest_ns; /* of all facts */
	size_t replaced_max;
	struct code_index_counters counters;
};

int code_index_new(size_t limit_bytes, struct code_index **ret_index)
{
	_cleanup_(code_index_freep) struct code_index *index = calloc(1, sizeof(*index));
	int r;

	if (!index)
		return -ENOMEM;
	index->replaced_max = REPLACED_MIN;
	/* A perf map tells no times: all is of time 0, and the last fact counts. */
	index->horizon_ns = 1;
	code_index_set_limit(index, limit_bytes);
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

void code_index_clear(struct code_index *index)
{
	code_store_done(&index->store);
	index->newest_ns = 0;
}

void code_index_counters(const struct code_index *index, struct code_index_counters *ret_counters)
{
	*ret_counters = index->counters;
}

/* --- the bound --- */

/* Room for facts with their text, and for a file's name. */
struct need {
	size_t entries, text_bytes, file_bytes;
};

/* With a name more of `size` bytes, each of which may become three. */
static size_t files_bytes_after(const struct string_pool *files, size_t size)
{
	size_t name = size < UTF8_CLEAN_BYTES / 3 ? 3 * size + 1 : UTF8_CLEAN_BYTES;
	size_t bytes = string_pool_bytes(files);

	if (size == 0)
		return bytes;
	if (files->size + name > files->capacity)
		bytes += files->capacity + name;
	if (files->count == files->offsets_capacity)
		bytes += files->offsets_capacity * sizeof(*files->offsets);
	if (hash_index_is_full(&files->index))
		bytes += hash_index_bytes(&files->index);
	return bytes;
}

static size_t bytes_after(const struct code_index *index, const struct need *need)
{
	return sizeof(*index) +
	       code_store_bytes_after(&index->store, need->entries, need->text_bytes) +
	       files_bytes_after(&index->files, need->file_bytes);
}

size_t code_index_bytes(const struct code_index *index)
{
	return bytes_after(index, &(struct need){ 0 });
}

/* What the index would take after the plan. */
static size_t planned_bytes(
	const struct code_index *index, const struct code_plan *plan, const struct need *need)
{
	static const struct code_store empty;

	return sizeof(*index) +
	       code_store_bytes_after(
		       &empty, plan->entries + need->entries, plan->text_bytes + need->text_bytes) +
	       (plan->drops_lines ? 0 : files_bytes_after(&index->files, need->file_bytes));
}

/* Returns 0, or -ENOMEM with the index as it was. */
static int compact(struct code_index *index, struct code_plan *plan)
{
	struct string_pool files = { 0 };
	struct code_store store;
	int r = 0;

	if (plan->drops_lines)
		r = string_pool_init(&files, UINT32_MAX);
	if (r == 0)
		r = code_plan_build(plan, &store);
	if (r < 0) {
		string_pool_done(&files);
		return r;
	}
	if (plan->drops_lines) {
		index->files_base += index->files.count - 1;
		string_pool_done(&index->files);
		index->files = files;
	}
	code_store_done(&index->store);
	index->store = store;
	index->replaced_max = REPLACED_MIN + store.count;
	index->counters.history_dropped += plan->history_dropped;
	index->counters.lines_dropped += plan->lines_dropped;
	index->counters.code_dropped += plan->code_dropped;
	return 0;
}

/* Compacts by the first level that leaves some room free, or else by the last. */
static int make_room(struct code_index *index, const struct need *need)
{
	_cleanup_(code_plan_done) struct code_plan plan = { 0 };
	size_t limit = index->limit_bytes;
	int r;

	if (bytes_after(index, need) <= limit)
		return 0;
	r = code_plan_new(&index->store, index->horizon_ns, &plan);
	while (r == 0 &&
		(plan.entries > 0 ? planned_bytes(index, &plan, need) > limit - limit / FREE_SHARE
				  : plan.level < CODE_LEVEL_LINES))
		r = code_plan_drop_more(&plan);
	if (r == 0)
		r = compact(index, &plan);
	if (r < 0)
		return r;
	return bytes_after(index, need) <= limit ? 0 : -E2BIG;
}

int code_index_trim(struct code_index *index)
{
	return make_room(index, &(struct need){ 0 });
}

/* A failure costs memory that is there. */
static void tidy(struct code_index *index)
{
	_cleanup_(code_plan_done) struct code_plan plan = { 0 };

	if (index->store.replaced < index->replaced_max)
		return;
	if (code_plan_new(&index->store, index->horizon_ns, &plan) == 0)
		(void)compact(index, &plan);
}

void code_index_retire(struct code_index *index, uint64_t time_ns)
{
	if (time_ns > index->horizon_ns)
		index->horizon_ns = time_ns;
	tidy(index);
}

/* --- facts --- */

int code_index_file(struct code_index *index, const char *name, size_t size, uint32_t *ret_file)
{
	const struct need need = { .file_bytes = size };
	struct string_pool *files = &index->files;
	uint32_t id;
	int r = make_room(index, &need);

	if (r < 0)
		return r;
	files->limit_bytes = index->limit_bytes / FILES_SHARE;
	/* A pool that is full still knows what it has. */
	if (files->count >= index->limit_bytes / FILE_BYTES_OF_LIMIT)
		files->limit_bytes = 0;
	r = string_pool_intern(files, name, size, &id);
	if (r < 0)
		return r;
	*ret_file = id > 0 ? index->files_base + id : 0;
	return 0;
}

static bool is_range(uint64_t address, uint64_t size)
{
	return size > 0 && address + (size - 1) >= address;
}

/* Room within the limit. Code that is known never goes for a fact that is too large alone. */
static int reserve(struct code_index *index, const struct need *need)
{
	int r;

	if (need->text_bytes > index->limit_bytes / FACT_SHARE)
		return -E2BIG;
	r = make_room(index, need);
	return r < 0 ? r : code_store_reserve(&index->store, need->entries, need->text_bytes);
}

static void finish_fact(struct code_index *index, uint64_t time_ns, bool is_added)
{
	if (time_ns < index->newest_ns)
		index->counters.reordered++;
	else
		index->newest_ns = time_ns;
	index->counters.displaced += !is_added;
	tidy(index);
}

static int add_load(struct code_index *index, const struct code_load *load)
{
	struct need need = { .entries = 1 };
	struct code_entry entry = {
		.address = load->address,
		.size = load->size,
		.time_ns = load->time_ns,
		.writer = load->writer,
	};
	size_t name_size, lines_size = load->lines ? load->lines_size : 0;
	char name[UTF8_CLEAN_BYTES];
	int r;

	if (!is_range(load->address, load->size))
		return -EINVAL;
	name_size = utf8_clean(name, load->name, load->name_size);
	need.text_bytes = code_store_text_bytes(name_size, lines_size);
	if (lines_size > 0 && need.text_bytes > index->limit_bytes / FACT_SHARE) {
		lines_size = 0;
		need.text_bytes = code_store_text_bytes(name_size, 0);
		index->counters.lines_dropped++;
	}
	r = reserve(index, &need);
	if (r < 0)
		return r;
	finish_fact(index, load->time_ns,
		code_store_add(
			&index->store, &entry, name, load->lines, lines_size, CODE_LATE_MAX));
	return 0;
}

int code_index_load(struct code_index *index, const struct code_load *load)
{
	int r = add_load(index, load);

	if (r == 0)
		index->counters.loads++;
	else if (r != -ENOMEM)
		index->counters.refused++;
	return r;
}

/* The code that begins at `from`. Returns 0 or -ENOENT. */
static int find_moved(const struct code_index *index, const struct code_move *move,
	uint32_t *ret_moved, struct need *ret_need)
{
	const struct code_store *store = &index->store;
	uint64_t until_ns;
	uint32_t moved = code_store_find(store, move->from, move->time_ns, NULL, &until_ns);
	size_t lines_size;

	if (moved == CODE_NONE || store->entries[moved].address != move->from)
		return -ENOENT;
	(void)code_store_lines(store, &store->entries[moved], &lines_size);
	*ret_need = (struct need){
		.entries = 2,
		.text_bytes = code_store_text_bytes(
			strlen(store->text + store->entries[moved].name), lines_size),
	};
	*ret_moved = moved;
	return 0;
}

static int add_move(struct code_index *index, const struct code_move *move)
{
	struct code_store *store = &index->store;
	struct code_entry old, entry;
	const uint8_t *lines;
	struct need need;
	size_t lines_size;
	uint32_t moved;
	bool is_added;
	int r;

	if (!is_range(move->from, move->size) || !is_range(move->to, move->size))
		return -EINVAL;
	r = find_moved(index, move, &moved, &need);
	if (r == 0)
		r = reserve(index, &need);
	/* It may have gone to make room. */
	if (r == 0)
		r = find_moved(index, move, &moved, &need);
	if (r < 0)
		return r;

	old = entry = store->entries[moved];
	lines = code_store_lines(store, &old, &lines_size);
	entry.time_ns = move->time_ns;
	entry.writer = move->writer & INT32_MAX;
	entry.ended = moved;
	is_added = code_store_add(store, &entry, NULL, NULL, 0, CODE_LATE_MAX);
	entry.address = move->to;
	entry.size = move->size;
	is_added &= code_store_add(
		store, &entry, store->text + old.name, lines, lines_size, CODE_LATE_MAX);
	finish_fact(index, move->time_ns, is_added);
	return 0;
}

int code_index_move(struct code_index *index, const struct code_move *move)
{
	int r = add_move(index, move);

	if (r == 0)
		index->counters.moves++;
	else if (r == -ENOENT)
		index->counters.moves_unknown++;
	else if (r != -ENOMEM)
		index->counters.refused++;
	return r;
}

/* --- questions --- */

static void find_line(const struct code_index *index, const struct code_entry *entry,
	uint64_t address, struct code_found *found)
{
	uint64_t offset = address - entry->address;
	struct line_entry line;
	size_t size;
	const uint8_t *lines = code_store_lines(&index->store, entry, &size);

	if (!lines || offset > UINT32_MAX || !line_list_find(lines, size, (uint32_t)offset, &line))
		return;
	found->line = line.line;
	found->column = line.column;
	if (line.file > index->files_base && line.file - index->files_base < index->files.count)
		found->file = string_pool_get(&index->files, line.file - index->files_base);
}

static struct code_found found_of(const struct code_index *index, uint32_t id, uint64_t until_ns)
{
	const struct code_entry *entry = &index->store.entries[id];

	return (struct code_found){
		.name = index->store.text + entry->name,
		.address = entry->address,
		.size = entry->size,
		.time_ns = entry->time_ns,
		.until_ns = until_ns,
	};
}

bool code_index_find(const struct code_index *index, uint64_t address, uint64_t time_ns,
	const struct code_view *view, struct code_found *ret_found)
{
	uint64_t until_ns;
	uint32_t id = code_store_find(&index->store, address, time_ns, view, &until_ns);

	if (id == CODE_NONE)
		return false;
	*ret_found = found_of(index, id, until_ns);
	find_line(index, &index->store.entries[id], address, ret_found);
	return true;
}

static int compare_address(const void *a, const void *b)
{
	uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

	return (left > right) - (left < right);
}

/* Where the answer may change, in order. */
static int find_borders(const struct code_store *store, uint64_t **ret_borders, size_t *ret_count)
{
	uint64_t *borders = malloc((2 * store->count + 1) * sizeof(*borders));
	size_t count = 0;

	if (!borders)
		return -ENOMEM;
	for (size_t i = 0; i < store->count; i++) {
		borders[count++] = store->entries[i].address;
		borders[count++] = store->entries[i].address + store->entries[i].size;
	}
	qsort(borders, count, sizeof(*borders), compare_address);
	*ret_borders = borders;
	*ret_count = count;
	return 0;
}

int code_index_each(const struct code_index *index, uint64_t time_ns, const struct code_view *view,
	code_index_function function, void *context)
{
	_cleanup_free_ uint64_t *borders = NULL;
	size_t count;
	int r = find_borders(&index->store, &borders, &count);

	for (size_t i = 0, next; i < count && r == 0; i = next) {
		uint64_t until_ns, other_ns;
		uint32_t id = code_store_find(&index->store, borders[i], time_ns, view, &until_ns);
		struct code_found found;

		next = i + 1;
		if (id == CODE_NONE)
			continue;
		while (next < count && (borders[next] == borders[i] ||
					       code_store_find(&index->store, borders[next],
						       time_ns, view, &other_ns) == id))
			next++;
		found = found_of(index, id, until_ns);
		found.address = borders[i];
		/* Code that ends with the address space has its border at 0. */
		found.size = (next < count ? borders[next] : 0) - borders[i];
		r = function(context, &found);
	}
	return r;
}

size_t code_index_count(const struct code_index *index)
{
	_cleanup_(code_plan_done) struct code_plan plan = { 0 };
	size_t count = 0;

	if (code_plan_new(&index->store, UINT64_MAX, &plan) < 0)
		return 0;
	for (size_t id = 0; id < index->store.count; id++)
		count += plan.kept[id] && !code_entry_is_end(&index->store.entries[id]) &&
			 !index->store.entries[id].is_moved;
	return count;
}
