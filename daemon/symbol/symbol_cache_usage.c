/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Keeps the folder within its bound. It is looked through when its size is not known, and again
 * when we have added a sixteenth of the bound since, as others may have added to it too; between
 * that, the sizes of what comes and goes are added up, and what was least recently used then goes
 * in order. Whether it was used since shows when its turn comes. What is in use has its turn only
 * after the folder was looked through anew.
 */
#include "symbol/symbol_cache_folder.h"

#include <errno.h>

enum { BLOCK_BYTES = 4096, REFRESH_FRACTION = 16 };

uint64_t symbol_cache_usage_bytes(uint64_t file_bytes)
{
	return (file_bytes / BLOCK_BYTES + (file_bytes % BLOCK_BYTES != 0)) * BLOCK_BYTES;
}

int symbol_cache_each_found(
	const struct symbol_cache *cache, symbol_cache_visit visit, void *context)
{
	int first_error = 0;

	for (unsigned int folder = 0; folder < SYMBOL_CACHE_FOLDERS; folder++) {
		int r = symbol_cache_folder_each(cache, folder, visit, context);

		if (r == -ENOMEM || r == -EBUSY)
			return r;
		if (r < 0 && first_error == 0)
			first_error = r;
	}
	return first_error;
}

int symbol_cache_size(struct symbol_cache *cache, uint64_t *ret_entries, uint64_t *ret_bytes)
{
	int r = cache->usage.is_known ? 0 : symbol_cache_usage_refresh(cache);

	if (r < 0)
		return r;
	*ret_entries = cache->usage.entries;
	*ret_bytes = cache->usage.bytes;
	return 0;
}

static int count_found(void *context, const struct symbol_cache_found *found)
{
	struct symbol_cache_usage *usage = context;

	usage->entries++;
	usage->bytes += symbol_cache_usage_bytes(found->bytes);
	return symbol_cache_selection_add(&usage->oldest, found);
}

int symbol_cache_usage_refresh(struct symbol_cache *cache)
{
	struct symbol_cache_usage *usage = &cache->usage;
	int r;

	usage->entries = 0;
	usage->bytes = 0;
	usage->added_bytes = 0;
	usage->next = 0;
	symbol_cache_selection_clear(&usage->oldest);
	r = symbol_cache_each_found(cache, count_found, usage);
	symbol_cache_selection_sort(&usage->oldest);
	usage->is_known = r != -ENOMEM;
	return r;
}

static void subtract(struct symbol_cache_usage *usage, uint64_t entries, uint64_t bytes)
{
	usage->entries -= entries < usage->entries ? entries : usage->entries;
	usage->bytes -= bytes < usage->bytes ? bytes : usage->bytes;
}

void symbol_cache_usage_add(struct symbol_cache *cache, uint64_t bytes, uint64_t old_bytes)
{
	struct symbol_cache_usage *usage = &cache->usage;

	if (!usage->is_known)
		return;
	subtract(usage, old_bytes > 0, symbol_cache_usage_bytes(old_bytes));
	usage->entries++;
	usage->bytes += symbol_cache_usage_bytes(bytes);
	usage->added_bytes += symbol_cache_usage_bytes(bytes);
}

/* 0: it has gone; -ESTALE: it stays. */
static int evict(struct symbol_cache *cache, const struct symbol_cache_found *found,
	const struct symbol_identity *keep, struct symbol_cache_pruned *pruned)
{
	uint64_t bytes = symbol_cache_usage_bytes(found->bytes);
	int r;

	if (keep && symbol_identity_equal(keep, &found->identity))
		return -ESTALE;
	r = symbol_cache_folder_remove(cache, found);
	if (r < 0 && r != -ENOENT)
		return r;
	subtract(&cache->usage, 1, bytes);
	if (r == 0) {
		cache->counters.evicted++;
		cache->counters.evicted_bytes += bytes;
		if (pruned) {
			pruned->entries++;
			pruned->bytes += bytes;
		}
	}
	return 0;
}

/* From the future too, as nothing is known of its true age. */
static bool is_in_use(const struct symbol_cache_found *found)
{
	return found->modified.tv_sec > (time_t)symbol_cache_now_s() - SYMBOL_CACHE_USE_S;
}

/*
 * Has the folder to be looked through before more can go? At the end of what was oldest, and where
 * that is in use: others may have put something older there since.
 */
static bool has_to_look(const struct symbol_cache_usage *usage, bool is_fresh)
{
	return usage->next == usage->oldest.count ||
	       (!is_fresh && is_in_use(&usage->oldest.items[usage->next]));
}

int symbol_cache_evict(struct symbol_cache *cache, uint64_t bytes_max,
	const struct symbol_identity *keep, struct symbol_cache_pruned *pruned)
{
	struct symbol_cache_usage *usage = &cache->usage;
	bool has_evicted = true, is_fresh = false;
	int first_error = 0, r = 0;

	if (!usage->is_known || usage->added_bytes > bytes_max / REFRESH_FRACTION) {
		first_error = symbol_cache_usage_refresh(cache);
		is_fresh = true;
	}
	while (first_error != -ENOMEM && usage->bytes > bytes_max) {
		if (usage->next == usage->oldest.count && !has_evicted)
			break;
		if (has_to_look(usage, is_fresh)) {
			has_evicted = false;
			is_fresh = true;
			r = symbol_cache_usage_refresh(cache);
		} else {
			r = evict(cache, &usage->oldest.items[usage->next++], keep, pruned);
			has_evicted = has_evicted || r == 0;
		}
		if (r == -ENOMEM || r == -EBUSY)
			return r;
		if (r < 0 && r != -ESTALE && first_error == 0)
			first_error = r;
	}
	return first_error;
}
