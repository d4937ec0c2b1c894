/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "symbol/symbol_cache_folder.h"
#include "symbol/symbol_cache_header.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct each {
	struct symbol_cache *cache;
	bool is_checked;
	int (*visit)(void *context, const struct symbol_cache_entry *entry);
	void *context;

	struct symbol_cache_selection selection;
	struct symbol_cache_found after; /* the last that was visited, of this folder */
	bool has_visited;
	char *path;
	size_t path_bytes;
};

static int select_found(void *context, const struct symbol_cache_found *found)
{
	struct each *each = context;

	if (each->has_visited && symbol_cache_by_name(found, &each->after) <= 0)
		return 0;
	return symbol_cache_selection_add(&each->selection, found);
}

static int read_header(struct each *each, const struct symbol_cache_found *found, int fd,
	struct pilotlight_symbol_header *ret_header)
{
	_cleanup_(symbol_file_freep) struct symbol_file *file = NULL;
	int r;

	if (each->is_checked) {
		r = symbol_cache_load(fd, &found->identity, &file);
		if (r == 0)
			*ret_header = *symbol_file_header(file);
		return r;
	}
	return symbol_cache_header_read_of(fd, &found->identity, ret_header);
}

static int visit_found(struct each *each, const struct symbol_cache_found *found)
{
	struct pilotlight_symbol_header header = { .version = 0 };
	struct symbol_cache_found now = *found;
	struct symbol_cache_entry entry;
	struct symbol_cache_name name;
	_cleanup_close_ int fd = -1;
	int r;

	r = symbol_cache_folder_open_entry(each->cache, &found->identity, &fd, &now);
	if (r == -ENOENT)
		return 0;
	if (r == 0)
		r = read_header(each, found, fd, &header);
	if (r == -ENOMEM)
		return r;
	symbol_cache_name_set(&name, &found->identity);
	(void)snprintf(each->path, each->path_bytes, "%s/%s/%s", each->cache->directory,
		name.folder, name.file);
	entry = (struct symbol_cache_entry){
		.identity = found->identity,
		.path = each->path,
		.bytes = now.bytes,
		.used_s = now.modified.tv_sec > 0 ? (uint64_t)now.modified.tv_sec : 0,
		.error = r,
	};
	if (r == 0) {
		entry.header = header;
		entry.identity = symbol_cache_header_identity(&header);
	}
	return each->visit(each->context, &entry);
}

/* As many at a time as a selection holds. */
static int visit_folder(struct each *each, unsigned int folder)
{
	struct symbol_cache_selection *selection = &each->selection;
	int r;

	each->has_visited = false;
	do {
		symbol_cache_selection_clear(selection);
		r = symbol_cache_folder_each(each->cache, folder, select_found, each);
		symbol_cache_selection_sort(selection);
		for (size_t i = 0; i < selection->count && r == 0; i++)
			r = visit_found(each, &selection->items[i]);
		if (selection->count > 0) {
			each->after = selection->items[selection->count - 1];
			each->has_visited = true;
		}
	} while (r == 0 && selection->has_more);
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
		.path_bytes =
			strlen(cache->directory) + sizeof("//") + sizeof(struct symbol_cache_name),
	};
	int r = 0;

	each.path = malloc(each.path_bytes);
	if (!each.path)
		return -ENOMEM;
	symbol_cache_selection_init(&each.selection, symbol_cache_by_name);
	for (unsigned int folder = 0; folder < SYMBOL_CACHE_FOLDERS && r == 0; folder++)
		r = visit_folder(&each, folder);
	symbol_cache_selection_done(&each.selection);
	free(each.path);
	return r;
}
