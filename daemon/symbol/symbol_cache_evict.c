/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Scans of the cache's folder: its size, eviction, pruning, listing. A scan keeps the first entries
 * by some order in a list of bounded size (I4) and is repeated for the rest.
 */
#include "base/array.h"
#include "symbol/symbol_cache_folder.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	NEGATIVE_BYTES_MAX = SYMBOL_CACHE_BLOCK_BYTES, /* a header and an empty table of sections */
	LIST_MIN = 8192,			       /* entries that survive a cut */
	LIST_MAX = 2 * LIST_MIN,
	SHARE = 16, /* of the bound: what others may add unseen, and what an eviction frees */
	SLACK_UNIT = 1 << 20,
};

struct item_list {
	struct symbol_cache_item *items;
	size_t count, capacity;
	int (*compare)(const void *a, const void *b);
	bool is_cut;
};

static void item_list_done(struct item_list *list)
{
	free(list->items);
}

static void sort(struct item_list *list)
{
	if (list->count > 0)
		qsort(list->items, list->count, sizeof(list->items[0]), list->compare);
}

static int item_list_add(struct item_list *list, const struct symbol_cache_item *item)
{
	int r;

	if (list->count == LIST_MAX) {
		sort(list);
		list->count = LIST_MIN;
		list->is_cut = true;
	}
	r = ARRAY_RESERVE(list->items, &list->capacity, list->count + 1, LIST_MAX);
	if (r < 0)
		return r;
	list->items[list->count++] = *item;
	return 0;
}

static void item_list_finish(struct item_list *list)
{
	sort(list);
	/* Behind the first LIST_MIN, entries were lost by the cut. */
	if (list->is_cut && list->count > LIST_MIN)
		list->count = LIST_MIN;
}

static int compare_names(const void *a, const void *b)
{
	const struct symbol_cache_item *first = a, *second = b;
	struct symbol_cache_name x = symbol_cache_name_of(&first->identity);
	struct symbol_cache_name y = symbol_cache_name_of(&second->identity);
	int order = strcmp(x.folder, y.folder);

	return order != 0 ? order : strcmp(x.file, y.file);
}

static int compare_use(const void *a, const void *b)
{
	const struct timespec *x = &((const struct symbol_cache_item *)a)->modified;
	const struct timespec *y = &((const struct symbol_cache_item *)b)->modified;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? -1 : 1;
	if (x->tv_nsec != y->tv_nsec)
		return x->tv_nsec < y->tv_nsec ? -1 : 1;
	return compare_names(a, b);
}

/* --- size --- */

struct scan {
	struct symbol_cache *cache;
	struct item_list oldest;
	bool is_listed[SYMBOL_CACHE_SHARES]; /* in `oldest` */
};

static int scan_item(void *context, const struct symbol_cache_item *item)
{
	struct scan *scan = context;
	size_t share = symbol_cache_share_of(&item->identity);

	symbol_cache_add_size(scan->cache, &item->identity, item->bytes);
	return scan->is_listed[share] ? item_list_add(&scan->oldest, item) : 0;
}

/* The size is right as far as the folder can be read, unless -ENOMEM is returned. */
static int run_scan(struct scan *scan)
{
	struct symbol_cache *cache = scan->cache;
	int r;

	cache->entries = cache->bytes = cache->added_bytes = 0;
	memset(cache->shares, 0, sizeof(cache->shares));
	r = symbol_cache_item_each(cache, scan_item, scan);
	item_list_finish(&scan->oldest);
	cache->is_size_known = r != -ENOMEM;
	return r;
}

int symbol_cache_size(struct symbol_cache *cache, uint64_t *ret_entries, uint64_t *ret_bytes)
{
	struct scan scan = { .cache = cache };
	int r = cache->is_size_known ? 0 : run_scan(&scan);

	if (r < 0)
		return r;
	*ret_entries = cache->entries;
	*ret_bytes = cache->bytes;
	return 0;
}

/* --- eviction --- */

static int evict_item(struct symbol_cache *cache, const struct symbol_cache_item *item,
	struct symbol_cache_pruned *pruned)
{
	uint64_t bytes = symbol_cache_block_bytes(item->bytes);
	int r = symbol_cache_item_remove(cache, item);

	if (r == -ENOENT) {
		symbol_cache_subtract_size(cache, &item->identity, item->bytes);
		return 0;
	}
	if (r < 0)
		return r;
	cache->counters.evicted++;
	cache->counters.evicted_bytes += bytes;
	pruned->entries++;
	pruned->bytes += bytes;
	return 0;
}

struct eviction {
	struct symbol_cache *cache;
	uint64_t bytes_max,
		target_bytes; /* above bytes_max it evicts until target_bytes are left */
	const struct symbol_identity *kept; /* or NULL */
	size_t entries_max;
	uint64_t user_bytes; /* left to each user, if there are as many */
	struct symbol_cache_pruned pruned;
};

static bool is_over(const struct eviction *eviction)
{
	return eviction->cache->bytes > eviction->target_bytes &&
	       eviction->pruned.entries < eviction->entries_max;
}

/*
 * The bytes that eviction leaves to a share. Trusted files may keep half of the cache, because
 * one person may have many user ids (subuid(5)).
 */
static uint64_t allowed_bytes(const struct eviction *eviction, size_t share, uint64_t user_bytes)
{
	uint64_t half = eviction->target_bytes / 2;

	return share == 0 && user_bytes < half ? half : user_bytes;
}

/* Finds the largest number of bytes for each user with which the cache has target_bytes. */
static uint64_t find_user_bytes(const struct eviction *eviction)
{
	const uint64_t *shares = eviction->cache->shares;
	uint64_t low = 0, high = eviction->target_bytes;

	while (low < high) {
		uint64_t middle = high - (high - low) / 2, sum = 0;

		for (size_t i = 0; i < SYMBOL_CACHE_SHARES; i++) {
			uint64_t allowed = allowed_bytes(eviction, i, middle);

			sum += shares[i] < allowed ? shares[i] : allowed;
		}
		if (sum > eviction->target_bytes)
			high = middle - 1;
		else
			low = middle;
	}
	return low;
}

static bool is_too_large(const struct eviction *eviction, size_t share)
{
	return eviction->cache->shares[share] >
	       allowed_bytes(eviction, share, eviction->user_bytes);
}

/* Evicts from the last scan's list. Returns 1 if a further scan may free more; 0; or -errno. */
static int evict_listed(struct eviction *eviction)
{
	struct symbol_cache *cache = eviction->cache;
	bool has_evicted = false;
	int r, first_error = 0;

	for (; cache->oldest_next < cache->oldest_count && is_over(eviction);
		cache->oldest_next++) {
		const struct symbol_cache_item *item = &cache->oldest[cache->oldest_next];

		if (!is_too_large(eviction, symbol_cache_share_of(&item->identity)) ||
			(eviction->kept && symbol_identity_equal(eviction->kept, &item->identity)))
			continue;
		r = evict_item(cache, item, &eviction->pruned);
		if (r == -EBUSY)
			return r;
		has_evicted = has_evicted || r == 0;
		if (r < 0 && r != -ESTALE && first_error == 0)
			first_error = r;
	}
	return first_error < 0 ? first_error : has_evicted && is_over(eviction);
}

static void forget_oldest(struct symbol_cache *cache)
{
	free(cache->oldest);
	cache->oldest = NULL;
	cache->oldest_count = 0;
	cache->oldest_next = 0;
}

static int list_oldest(struct eviction *eviction)
{
	struct symbol_cache *cache = eviction->cache;
	struct scan scan = { .cache = cache, .oldest.compare = compare_use };
	int r;

	/* If the cache is within its bound, the scan may find what other processes have added. */
	for (size_t i = 0; i < SYMBOL_CACHE_SHARES; i++)
		scan.is_listed[i] =
			cache->bytes <= eviction->bytes_max || is_too_large(eviction, i);
	r = run_scan(&scan);
	forget_oldest(cache);
	cache->oldest = scan.oldest.items;
	cache->oldest_count = scan.oldest.count;
	eviction->user_bytes = find_user_bytes(eviction);
	return r;
}

/*
 * Evicts the least recently used of the largest shares. Goes on with the list of the call before,
 * if that has a rest. The size must be known.
 */
static int evict(struct eviction *eviction)
{
	struct symbol_cache *cache = eviction->cache;
	int r, scanned = 0;

	eviction->user_bytes = find_user_bytes(eviction);
	do {
		if (cache->oldest_next == cache->oldest_count) {
			scanned = list_oldest(eviction);
			if (scanned == -ENOMEM || cache->bytes <= eviction->bytes_max) {
				forget_oldest(cache);
				return scanned;
			}
		}
		r = evict_listed(eviction);
		if (scanned < 0 && r >= 0)
			r = scanned;
	} while (r > 0);
	if (r < 0 || cache->bytes <= eviction->target_bytes)
		forget_oldest(cache);
	return r;
}

void symbol_cache_evict(struct symbol_cache *cache, const struct symbol_identity *kept)
{
	uint64_t max = cache->bytes_max;
	struct eviction eviction = {
		.cache = cache,
		.bytes_max = max,
		.target_bytes = max - max / SHARE / SLACK_UNIT * SLACK_UNIT,
		.kept = kept,
		.entries_max = cache->patience_ms > 0 ? SIZE_MAX : SYMBOL_CACHE_EVICTIONS_MAX,
	};
	uint64_t entries, bytes;

	(void)symbol_cache_size(cache, &entries, &bytes);
	if (!cache->oldest && cache->is_size_known && cache->bytes <= max &&
		cache->added_bytes <= max / SHARE)
		return;
	/* The entry is stored in any case; after an error the next store tries again. */
	(void)evict(&eviction);
}

int symbol_cache_make_room(struct symbol_cache *cache)
{
	uint64_t limit = cache->bytes_max + cache->bytes_max / SHARE;

	if (!cache->oldest || cache->bytes <= limit)
		return 0;
	symbol_cache_evict(cache, NULL);
	return cache->oldest && cache->bytes > limit ? -EBUSY : 0;
}

/* --- pruning --- */

struct prune {
	struct symbol_cache *cache;
	bool is_checked;
	struct symbol_cache_pruned pruned;
	int first_error;
};

/* 0: it may stay; -EBADMSG damaged; -ENOENT expired; another -errno. */
static int judge(const struct prune *prune, const struct symbol_cache_item *item)
{
	struct pilotlight_symbol_header header;
	struct symbol_cache_item now;
	_cleanup_close_ int fd = -1;
	int r;

	r = symbol_cache_item_open(prune->cache, &item->identity, &fd, &now);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = symbol_cache_read(fd, &item->identity, prune->is_checked, &header, NULL);
	if (r == 0 && symbol_cache_is_expired(&header))
		return -ENOENT;
	return r == -EPROTONOSUPPORT || (r == -EBADMSG && !prune->is_checked) ? 0 : r;
}

static int prune_item(void *context, const struct symbol_cache_item *item)
{
	struct prune *prune = context;
	int r;

	if (!prune->is_checked && item->bytes > NEGATIVE_BYTES_MAX)
		return 0;
	r = judge(prune, item);
	prune->cache->counters.damaged += r == -EBADMSG;
	if (r == -EBADMSG || r == -ENOENT) {
		r = symbol_cache_item_remove(prune->cache, item);
		if (r == 0) {
			prune->pruned.entries++;
			prune->pruned.bytes += symbol_cache_block_bytes(item->bytes);
		}
	}
	if (r == -ENOMEM || r == -EBUSY)
		return r;
	if (r < 0 && r != -ENOENT && r != -ESTALE && prune->first_error == 0)
		prune->first_error = r;
	return 0;
}

int symbol_cache_prune(struct symbol_cache *cache, uint64_t bytes_max, bool is_checked,
	struct symbol_cache_pruned *ret_pruned)
{
	struct prune prune = { .cache = cache, .is_checked = is_checked };
	struct eviction eviction = {
		.cache = cache,
		.bytes_max = bytes_max,
		.target_bytes = bytes_max,
		.entries_max = SIZE_MAX,
	};
	int r;

	r = symbol_cache_item_each(cache, prune_item, &prune);
	if (r == 0)
		r = prune.first_error;
	if (r == 0)
		r = symbol_cache_clear_drafts(cache, &prune.pruned.drafts);
	forget_oldest(cache);
	if (r == 0)
		r = symbol_cache_size(cache, &prune.pruned.left_entries, &prune.pruned.left_bytes);
	if (r == 0)
		r = evict(&eviction);
	if (r < 0)
		return r;
	prune.pruned.entries += eviction.pruned.entries;
	prune.pruned.bytes += eviction.pruned.bytes;
	prune.pruned.left_entries = cache->entries;
	prune.pruned.left_bytes = cache->bytes;
	*ret_pruned = prune.pruned;
	return 0;
}

/* --- listing --- */

struct each {
	struct symbol_cache *cache;
	bool is_checked;
	int (*visit)(void *context, const struct symbol_cache_entry *entry);
	void *context;

	struct item_list list;
	struct symbol_cache_item last; /* of this folder's entries before `list` */
	bool has_last;
	char *path;
	size_t path_bytes;
};

static int select_item(void *context, const struct symbol_cache_item *item)
{
	struct each *each = context;

	if (each->has_last && compare_names(item, &each->last) <= 0)
		return 0;
	return item_list_add(&each->list, item);
}

static int visit_item(struct each *each, const struct symbol_cache_item *item)
{
	struct symbol_cache_name name = symbol_cache_name_of(&item->identity);
	struct pilotlight_symbol_header header = { .version = 0 };
	struct symbol_cache_item now = *item;
	struct symbol_cache_entry entry;
	_cleanup_close_ int fd = -1;
	int r;

	r = symbol_cache_item_open(each->cache, &item->identity, &fd, &now);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = symbol_cache_read(fd, &item->identity, each->is_checked, &header, NULL);
	if (r == -ENOMEM)
		return r;
	(void)snprintf(each->path, each->path_bytes, "%s/%s/%s", each->cache->directory,
		name.folder, name.file);
	entry = (struct symbol_cache_entry){
		.identity = r == 0 ? symbol_header_identity(&header) : item->identity,
		.path = each->path,
		.bytes = now.bytes,
		.used_s = now.modified.tv_sec > 0 ? (uint64_t)now.modified.tv_sec : 0,
		.error = r,
		.header = header,
	};
	return each->visit(each->context, &entry);
}

static int visit_folder(struct each *each, unsigned int folder)
{
	struct item_list *list = &each->list;
	int r;

	each->has_last = false;
	do {
		list->count = 0;
		list->is_cut = false;
		r = symbol_cache_folder_each(each->cache, folder, select_item, each);
		item_list_finish(list);
		for (size_t i = 0; i < list->count && r == 0; i++)
			r = visit_item(each, &list->items[i]);
		if (list->count > 0) {
			each->last = list->items[list->count - 1];
			each->has_last = true;
		}
	} while (r == 0 && list->is_cut);
	return r;
}

int symbol_cache_each(struct symbol_cache *cache, bool is_checked,
	int (*visit)(void *context, const struct symbol_cache_entry *entry), void *context)
{
	struct each each = {
		.cache = cache,
		.is_checked = is_checked,
		.visit = visit,
		.context = context,
		.list.compare = compare_names,
		.path_bytes =
			strlen(cache->directory) + sizeof("//") + sizeof(struct symbol_cache_name),
	};
	int r = 0;

	each.path = malloc(each.path_bytes);
	if (!each.path)
		return -ENOMEM;
	for (unsigned int folder = 0; folder < SYMBOL_CACHE_FOLDERS && r == 0; folder++)
		r = visit_folder(&each, folder);
	item_list_done(&each.list);
	free(each.path);
	return r;
}
