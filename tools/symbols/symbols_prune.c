/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/json.h"
#include "base/output.h"
#include "symbolize/fetch_folder.h"
#include "tools/shown_text.h"
#include "tools/symbols/symbols_argument.h"
#include "tools/symbols/symbols_command.h"
#include "tools/symbols/symbols_text.h"
#include "tools/symbols/symbols_unwind.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
	"usage: pilotlight symbols prune [--max-bytes SIZE] [--cache DIR] [--json]\n"
	"\n"
	"Makes the cache smaller: removes what was last used longest ago until SIZE is left,\n"
	"entries of binaries without symbols after a day, and what processes that were killed\n"
	"have left behind. Unwind tables may have an eighth of SIZE, symbol files what these\n"
	"leave of it.\n"
	"\n"
	"  --max-bytes SIZE  bytes, or with K, M, G or T (2G)\n"
	"  --cache DIR       the symbol cache\n"
	"  --json            the same as an object\n"
	"  -h, --help        this\n";

enum {
	OPTION_MAX_BYTES = 256,
	TABLES_SHARE = 8, /* unwind tables may have one part in so many */
};

struct pruning {
	struct symbols_options options;
	uint64_t bytes_max;
	struct symbol_cache_pruned pruned;
	bool has_tables;
	struct symbol_cache_pruned tables; /* unwind tables */
	uint64_t fetches;		   /* folders that went */
};

static enum command_parse parse(
	const struct command *command, int argc, char **argv, struct pruning *pruning)
{
	static const struct option long_options[] = {
		SYMBOLS_OPTIONS,
		{ "max-bytes", required_argument, NULL, OPTION_MAX_BYTES },
		{ 0 },
	};
	enum command_parse r = COMMAND_PARSE_RUN;
	int option;

	while ((option = getopt_long(argc, argv, "h", long_options, NULL)) >= 0) {
		if (option != OPTION_MAX_BYTES)
			r = symbols_take_option(command, option, &pruning->options);
		else if (symbols_argument_bytes(optarg, &pruning->bytes_max) < 0)
			r = command_wrong(command,
				"--max-bytes takes a number of bytes, or one with K, M, G or T, "
				"not",
				optarg);
		if (r != COMMAND_PARSE_RUN)
			return r;
	}
	return command_check_arguments(command, argc, argv, 0, 0, "");
}

static void write_json(struct output *output, const struct pruning *pruning)
{
	const struct symbol_cache_pruned *pruned = &pruning->pruned, *tables = &pruning->tables;
	const struct {
		const char *key;
		uint64_t value;
	} members[] = {
		{ "removed_entries", pruned->entries },
		{ "removed_bytes", pruned->bytes },
		{ "removed_drafts", pruned->drafts + tables->drafts },
		{ "removed_fetches", pruning->fetches },
		{ "left_entries", pruned->left_entries },
		{ "left_bytes", pruned->left_bytes },
		{ "removed_tables", tables->entries },
		{ "removed_table_bytes", tables->bytes },
		{ "left_tables", tables->left_entries },
		{ "left_table_bytes", tables->left_bytes },
	};
	struct json json;

	json_init(&json, output);
	json_begin_object(&json);
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		json_key(&json, members[i].key);
		json_u64(&json, members[i].value);
	}
	json_end_object(&json);
	json_end_line(&json);
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

/* Unwind tables go first, so that what they leave is the symbol files'. */
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

static int prune(struct pruning *pruning, struct fault *fault)
{
	_cleanup_(symbol_cache_freep) struct symbol_cache *cache = NULL;
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	int r;

	if (!output)
		return -ENOMEM;
	r = symbols_open_cache(&pruning->options, pruning->bytes_max, false, &cache, fault);
	if (r < 0 && r != -ENOENT)
		return r;
	r = cache ? prune_cache(pruning, cache, fault) : 0;
	if (r < 0)
		return r;
	output_init_fd(output, STDOUT_FILENO);
	if (pruning->options.is_json)
		write_json(output, pruning);
	else
		write_text(output, pruning);
	return command_finish_output(output, fault);
}

static int run(const struct command *command, int argc, char **argv)
{
	struct pruning pruning = { .bytes_max = SYMBOL_CACHE_BYTES_DEFAULT };
	struct fault fault = { 0 };
	enum command_parse parsed;
	int r;

	parsed = parse(command, argc, argv, &pruning);
	if (parsed != COMMAND_PARSE_RUN)
		return command_parse_status(parsed);
	r = prune(&pruning, &fault);
	return r < 0 ? command_fail(&fault, r) : EXIT_SUCCESS;
}

const struct command symbols_prune = {
	"symbols",
	"prune",
	"remove what was not used for long",
	help,
	run,
};
