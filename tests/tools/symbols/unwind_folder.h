/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unwind tables in the folder below the cache of symbols_run.h. */
#pragma once

#include "tests/tools/symbols/symbols_run.h"
#include "tests/unwind/unwind_table_fixture.h"

/* The folder for functions that take a path; its cache is not open. */
static inline struct cache_fixture unwind_folder_closed(void)
{
	struct cache_fixture folder = { .cache = NULL };

	(void)snprintf(folder.folder, sizeof(folder.folder), "%.48s/" PILOTLIGHT_UNWIND_FOLDER,
		symbols_run_cache.folder);
	return folder;
}

/* Creates the folder if it is missing. Returns 0 or -errno. */
static inline int unwind_folder_open(struct cache_fixture *ret_folder)
{
	*ret_folder = unwind_folder_closed();
	return symbol_cache_open(ret_folder->folder, 1 << 30, &ret_folder->cache, NULL);
}

/* Stores a table of `pages` pages. Without `is_sound` its checksums are right, its content is not.
 */
static inline int unwind_folder_store(
	const struct symbol_identity *identity, uint32_t pages, bool is_sound)
{
	static struct unwind_table_fixture table;
	struct cache_fixture folder;
	struct pilotlight_symbol_header *header;
	int r;

	unwind_table_fixture_make(&table, pages, 1);
	if (!is_sound)
		table.summary.row_count++;
	unwind_table_fixture_build(&table);
	header = symbol_file_fixture_header(&table.container);
	memcpy(header->identity, identity->id.bytes, sizeof(header->identity));
	header->identity_bytes = identity->id.size;
	header->identity_kind = (uint8_t)identity->kind;
	header->created_s = (uint64_t)time(NULL);
	symbol_file_fixture_seal(table.container.bytes, table.container.size);
	r = unwind_folder_open(&folder);
	if (r == 0)
		r = cache_fixture_commit_bytes(
			folder.cache, identity, table.container.bytes, table.container.size);
	if (r == 0)
		symbol_cache_free(folder.cache);
	return r;
}

static inline bool unwind_folder_has(const struct symbol_identity *identity)
{
	struct cache_fixture folder = unwind_folder_closed();

	return cache_fixture_has(&folder, identity);
}
