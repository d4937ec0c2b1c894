/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache_folder.h"
#include "symbol/symbol_cache_header.h"

#include <errno.h>

/* A negative entry is a header, and sections that are empty. */
enum { NEGATIVE_BYTES_MAX = 4096 };

struct prune {
	struct symbol_cache *cache;
	bool is_checked;
	uint64_t now_s;
	struct symbol_cache_pruned pruned;
	int first_error;
};

/* 0: it may stay; -EBADMSG: damaged; -ENOENT: expired; another -errno. */
static int judge(struct prune *prune, const struct symbol_cache_found *found)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	struct pilotlight_symbol_header header;
	struct symbol_cache_found now;
	_cleanup_close_ int fd = -1;
	int r;

	r = symbol_cache_folder_open_entry(prune->cache, &found->identity, &fd, &now);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	if (prune->is_checked) {
		r = symbol_cache_load(fd, &found->identity, &file);
		if (r == 0)
			header = *symbol_file_header(file);
	} else {
		r = symbol_cache_header_read(fd, &header);
		if (r == -EBADMSG)
			return 0;
	}
	if (r == 0 && symbol_cache_header_is_expired(&header, prune->now_s))
		r = -ENOENT;
	return r == -EPROTONOSUPPORT ? 0 : r;
}

static int prune_found(void *context, const struct symbol_cache_found *found)
{
	struct prune *prune = context;
	int r;

	if (!prune->is_checked && found->bytes > NEGATIVE_BYTES_MAX)
		return 0;
	r = judge(prune, found);
	if (r == -EBADMSG)
		prune->cache->counters.damaged++;
	if (r == -EBADMSG || r == -ENOENT) {
		r = symbol_cache_folder_remove(prune->cache, found);
		if (r == 0) {
			prune->pruned.entries++;
			prune->pruned.bytes += symbol_cache_usage_bytes(found->bytes);
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
	struct prune prune = {
		.cache = cache,
		.is_checked = is_checked,
		.now_s = symbol_cache_now_s(),
	};
	int r;

	r = symbol_cache_each_found(cache, prune_found, &prune);
	if (r == 0)
		r = prune.first_error;
	if (r == 0)
		r = symbol_cache_clear_drafts(cache, &prune.pruned.drafts);
	if (r == 0)
		r = symbol_cache_usage_refresh(cache);
	if (r == 0)
		r = symbol_cache_evict(cache, bytes_max, NULL, &prune.pruned);
	if (r < 0)
		return r;
	prune.pruned.left_entries = cache->usage.entries;
	prune.pruned.left_bytes = cache->usage.bytes;
	*ret_pruned = prune.pruned;
	return 0;
}
