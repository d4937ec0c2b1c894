/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/output.h"
#include "symbolize/fetch_folder.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_argument.h"
#include "tools/symbols/symbols_commands.h"
#include "tools/symbols/symbols_text.h"
#include "tools/symbols/symbols_unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
	TABLES_SHARE = 8, /* unwind tables may take one part in this many */
};

struct pruning {
	struct symbols_invocation symbols;
	uint64_t bytes_max;
	struct symbol_cache_pruned pruned;
	bool has_tables;
	struct symbol_cache_pruned tables; /* unwind tables */
	uint64_t fetches;		   /* removed folders */
};

static void write_json(struct json *json, const struct pruning *pruning)
{
	const struct symbol_cache_pruned *pruned = &pruning->pruned, *tables = &pruning->tables;

	json_begin_object(json);
	json_member_u64(json, "removed_entries", pruned->entries);
	json_member_u64(json, "removed_bytes", pruned->bytes);
	json_member_u64(json, "removed_drafts", pruned->drafts + tables->drafts);
	json_member_u64(json, "removed_fetches", pruning->fetches);
	json_member_u64(json, "left_entries", pruned->left_entries);
	json_member_u64(json, "left_bytes", pruned->left_bytes);
	json_member_u64(json, "removed_tables", tables->entries);
	json_member_u64(json, "removed_table_bytes", tables->bytes);
	json_member_u64(json, "left_tables", tables->left_entries);
	json_member_u64(json, "left_table_bytes", tables->left_bytes);
	json_end_object(json);
	json_end_line(json);
}

static void write_text(struct output *output, const struct pruning *pruning)
{
	const struct symbol_cache_pruned *pruned = &pruning->pruned, *tables = &pruning->tables;
	char removed[SHOWN_TEXT_BYTES_BYTES], left[SHOWN_TEXT_BYTES_BYTES];

	output_printf(output, "removed %" PRIu64 " symbol files of %s", pruned->entries,
		shown_text_bytes(pruned->bytes, removed));
	if (pruned->drafts + tables->drafts > 0)
		output_printf(output, " and %" PRIu64 " unfinished ones",
			pruned->drafts + tables->drafts);
	if (pruning->fetches > 0)
		output_printf(output, " and what %" PRIu64 " unfinished fetches have left",
			pruning->fetches);
	output_printf(output, "; %" PRIu64 " of %s are left\n", pruned->left_entries,
		shown_text_bytes(pruned->left_bytes, left));
	if (pruning->has_tables)
		output_printf(output,
			"removed %" PRIu64 " unwind tables of %s; %" PRIu64 " of %s are left\n",
			tables->entries, shown_text_bytes(tables->bytes, removed),
			tables->left_entries, shown_text_bytes(tables->left_bytes, left));
}

/* Prune unwind tables first: symbol files may use the space that they leave. */
static int prune_tables(
	struct pruning *pruning, const struct symbol_cache *symbols, struct fault *fault)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	int r = symbols_unwind_open(symbols, &cache, fault);

	if (r < 0)
		return r == -ENOENT ? 0 : r;
	r = symbol_cache_prune(cache, pruning->bytes_max / TABLES_SHARE, false, &pruning->tables);
	if (r < 0)
		return fault_set(fault, r, "cannot prune the unwind tables in '%s': %s",
			symbol_cache_directory(cache), strerror(-r));
	pruning->has_tables = true;
	return 0;
}

static int prune_cache(struct pruning *pruning, struct symbol_cache *cache, struct fault *fault)
{
	int r = prune_tables(pruning, cache, fault);

	if (r < 0)
		return r;
	r = symbol_cache_prune(cache,
		pruning->tables.left_bytes < pruning->bytes_max
			? pruning->bytes_max - pruning->tables.left_bytes
			: 0,
		false, &pruning->pruned);
	if (r < 0)
		return fault_set(fault, r, "cannot prune the symbol cache '%s': %s",
			symbol_cache_directory(cache), strerror(-r));
	pruning->fetches = fetch_folder_sweep(symbol_cache_directory(cache));
	return 0;
}

static int run(void *invocation)
{
	struct pruning *pruning = invocation;
	struct invocation *base = &pruning->symbols.base;
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	int r;

	r = symbols_open_cache(&pruning->symbols, pruning->bytes_max, false, &cache, &base->fault);
	if (r < 0 && r != -ENOENT)
		return r;
	r = cache ? prune_cache(pruning, cache, &base->fault) : 0;
	if (r < 0)
		return r;
	if (base->is_json)
		write_json(&base->json, pruning);
	else
		write_text(&base->output, pruning);
	return command_flush(base);
}

static void prepare(void *invocation)
{
	struct pruning *pruning = invocation;

	pruning->bytes_max = SYMBOL_CACHE_BYTES_DEFAULT;
}

static const struct option_row options[] = {
	{ 0, "max-bytes", "SIZE", "Leave SIZE bytes, or with K, M, G or T (2G).", OPTION_BYTES,
		.offset = offsetof(struct pruning, bytes_max) },
	{ 0 },
};

const struct command symbols_prune = {
	.name = "symbols prune",
	.summary = "remove what was not used for long",
	.synopsis = "[OPTION...]",
	.description =
		"Make the cache smaller: remove the least recently used files, first those of the "
		"users who have the most, until SIZE is left, records of binaries without symbols "
		"after a day, and the remains of killed processes. Unwind tables may take an "
		"eighth of SIZE, symbol files the rest.",
	.has_json = true,
	.options = { options, symbols_cache_option },
	.bytes = sizeof(struct pruning),
	.prepare = prepare,
	.run = run,
};
