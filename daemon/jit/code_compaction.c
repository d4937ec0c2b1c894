/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "jit/code_compaction.h"

#include "jit/code_sweep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void code_plan_done(struct code_plan *plan)
{
	free(plan->kept);
	free(plan->ids);
	plan->kept = plan->ids = NULL;
}

static int compare_writer(const void *a, const void *b, void *store)
{
	const struct code_entry *entries = ((const struct code_store *)store)->entries;
	uint32_t left = entries[*(const uint32_t *)a].writer;
	uint32_t right = entries[*(const uint32_t *)b].writer;

	return (left > right) - (left < right);
}

static void keep(void *context, uint32_t id)
{
	struct code_plan *plan = context;

	plan->kept[id] = 1;
}

/* Of each writer's code from before the horizon, keeps what is the newest somewhere. */
static int keep_newest(struct code_plan *plan, size_t count)
{
	const struct code_entry *entries = plan->store->entries;
	uint32_t *ids = plan->ids;
	int r = 0;

	qsort_r(ids, count, sizeof(*ids), compare_writer, (void *)plan->store);
	for (size_t start = 0, end; start < count && r == 0; start = end) {
		for (end = start + 1; end < count; end++)
			if (entries[ids[end]].writer != entries[ids[start]].writer)
				break;
		r = code_sweep(plan->store, ids + start, end - start, keep, plan);
	}
	return r;
}

/* Counts the code that is kept. An end is kept with its code. */
static void keep_ends(struct code_plan *plan)
{
	plan->code = 0;
	for (size_t id = 0; id < plan->store->count; id++) {
		const struct code_entry *entry = &plan->store->entries[id];

		if (code_entry_is_end(entry))
			plan->kept[id] = plan->kept[entry->ended];
		else
			plan->code += plan->kept[id];
	}
}

static int keep_since(struct code_plan *plan, uint64_t horizon_ns)
{
	size_t count = 0;
	int r;

	for (uint32_t id = 0; id < plan->store->count; id++) {
		const struct code_entry *entry = &plan->store->entries[id];

		plan->kept[id] = entry->time_ns >= horizon_ns;
		if (!code_entry_is_end(entry) && entry->time_ns < horizon_ns)
			plan->ids[count++] = id;
	}
	r = keep_newest(plan, count);
	keep_ends(plan);
	return r;
}

static int compare_age(const void *a, const void *b, void *store)
{
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;

	return left == right ? 0 : code_store_is_newer(store, left, right) ? 1 : -1;
}

/* Drops the older half. What is older than that is gone, so nothing shows instead. */
static void drop_oldest(struct code_plan *plan)
{
	size_t count = 0, dropped = plan->code - plan->code / 2;

	for (uint32_t id = 0; id < plan->store->count; id++)
		if (plan->kept[id] && !code_entry_is_end(&plan->store->entries[id]))
			plan->ids[count++] = id;
	qsort_r(plan->ids, count, sizeof(*plan->ids), compare_age, (void *)plan->store);
	for (size_t i = 0; i < dropped; i++)
		plan->kept[plan->ids[i]] = 0;
	plan->code_dropped += dropped;
	keep_ends(plan);
}

static uint64_t newest_ns(const struct code_store *store)
{
	uint64_t time_ns = 0;

	for (size_t id = 0; id < store->count; id++)
		if (store->entries[id].time_ns > time_ns)
			time_ns = store->entries[id].time_ns;
	return time_ns;
}

/* What an entry's text takes; `ret_lines_size` as it is kept. */
static size_t text_bytes_of(
	const struct code_plan *plan, const struct code_entry *entry, size_t *ret_lines_size)
{
	(void)code_store_lines(plan->store, entry, ret_lines_size);
	if (plan->drops_lines)
		*ret_lines_size = 0;
	return code_entry_is_end(entry)
		       ? 0
		       : code_store_text_bytes(
				 strlen(plan->store->text + entry->name), *ret_lines_size);
}

static void measure(struct code_plan *plan)
{
	plan->entries = plan->text_bytes = plan->lines_dropped = 0;
	for (size_t id = 0; id < plan->store->count; id++) {
		const struct code_entry *entry = &plan->store->entries[id];
		size_t lines_size;

		if (!plan->kept[id])
			continue;
		plan->entries++;
		plan->text_bytes += text_bytes_of(plan, entry, &lines_size);
		if (plan->drops_lines && !code_entry_is_end(entry))
			plan->lines_dropped += entry->lines != CODE_NONE;
	}
}

int code_plan_new(const struct code_store *store, uint64_t horizon_ns, struct code_plan *ret_plan)
{
	_cleanup_(code_plan_done) struct code_plan plan = {
		.store = store,
		.history_ns = horizon_ns > store->history_ns ? horizon_ns : store->history_ns,
	};
	int r;

	plan.ids = malloc((store->count + 1) * sizeof(*plan.ids));
	plan.kept = calloc(store->count + 1, sizeof(*plan.kept));
	if (!plan.ids || !plan.kept)
		return -ENOMEM;
	r = keep_since(&plan, horizon_ns);
	if (r < 0)
		return r;
	measure(&plan);
	*ret_plan = plan;
	plan.kept = plan.ids = NULL;
	return 0;
}

static int drop_history(struct code_plan *plan)
{
	size_t before = plan->code;
	uint64_t newest = newest_ns(plan->store);
	int r = keep_since(plan, UINT64_MAX);

	if (r < 0)
		return r;
	plan->history_dropped = before - plan->code;
	/* Else every fact is still there, and a late one is not taken for the rest of its history.
	 * Facts before this are incomplete, and the newest one is among them. */
	if (plan->history_dropped > 0 && plan->history_ns <= newest)
		plan->history_ns = newest < UINT64_MAX ? newest + 1 : newest;
	return 0;
}

int code_plan_drop_more(struct code_plan *plan)
{
	int r = 0;

	switch (plan->level) {
	case CODE_LEVEL_RETIRED:
		r = drop_history(plan);
		break;
	case CODE_LEVEL_HISTORY:
		plan->drops_lines = true;
		break;
	default:
		drop_oldest(plan);
	}
	if (r < 0)
		return r;
	if (plan->level < CODE_LEVEL_OLDEST)
		plan->level++;
	measure(plan);
	return 0;
}

int code_plan_build(struct code_plan *plan, struct code_store *ret_store)
{
	const struct code_store *old = plan->store;
	struct code_store store = { .history_ns = plan->history_ns };
	int r = code_store_reserve(&store, plan->entries, plan->text_bytes);

	if (r < 0) {
		code_store_done(&store);
		return r;
	}
	for (size_t id = 0; id < old->count; id++) {
		struct code_entry entry = old->entries[id];
		const uint8_t *lines = code_store_lines(old, &entry, &(size_t){ 0 });
		size_t lines_size = 0;

		if (!plan->kept[id])
			continue;
		(void)text_bytes_of(plan, &entry, &lines_size);
		/* From here on `kept` says which entry it has become. */
		plan->kept[id] = (uint32_t)store.count;
		if (code_entry_is_end(&entry))
			entry.ended = plan->kept[entry.ended];
		(void)code_store_add(&store, &entry,
			code_entry_is_end(&old->entries[id]) ? NULL : old->text + entry.name, lines,
			lines_size, SIZE_MAX);
	}
	store.replaced = 0;
	*ret_store = store;
	return 0;
}
