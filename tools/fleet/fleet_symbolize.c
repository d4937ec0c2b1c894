/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names of code that hosts stored without one. Symbols come from the symbol cache, which is filled
 * from a folder of debug files or from debuginfod by the worker and the fetcher that `pilotlight
 * symbols` uses, too. Samples stay as they are: names have a table of their own.
 */
#include "base/clock.h"
#include "pilotlight/clickhouse_schema.h"
#include "query/naming.h"
#include "symbolize/cached_symbol_source.h"
#include "tools/fleet/fleet_code.h"
#include "tools/fleet/fleet_commands.h"
#include "tools/fleet/fleet_server.h"
#include "tools/symbols/symbols_addition.h"
#include "tools/symbols/symbols_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROFILE_BYTES_MAX (1UL << 30)
#define NAMES_BYTES_MAX	  (1UL << 30)

enum { LOCATIONS_MAX = 1000000 /* at a time */, FETCH_TIMEOUT_S = 600, STEP_MS = 1000 };

struct symbolizing {
	struct fleet_server server;
	const char *cache_folder, *folder; /* NULL: the default cache, no folder */
	bool asks_debuginfod;
	struct fleet_code code;
	struct symbol_cache *cache;
	struct cached_symbol_source *source;
	struct broker *broker;
	struct symbols_progress progress;
	/* The last row that was asked for. */
	char last_build_id[FLEET_CODE_BUILD_ID_BYTES];
	uint64_t last_vaddr;
	size_t fetched;	   /* binaries whose symbols are new in the cache */
	size_t all, named; /* locations */
};

static void done(void *invocation)
{
	struct symbolizing *symbolizing = invocation;

	fleet_code_done(&symbolizing->code);
	cached_symbol_source_free(symbolizing->source);
	broker_free(symbolizing->broker);
	symbol_cache_free(symbolizing->cache);
}

/* --- symbols --- */

static bool has_symbols(struct symbolizing *symbolizing, const struct symbol_identity *identity)
{
	struct pilotlight_symbol_header header;

	return symbol_cache_peek(symbolizing->cache, identity, &header) == 0 &&
	       header.rank != PILOTLIGHT_SYMBOL_RANK_NONE;
}

/* A file of the folder, as debuggers and debuginfod lay them out. */
static bool find_file(const char *folder, const struct build_id *id, char path[PATH_MAX])
{
	static const char *const between[] = { "/.build-id", "" };
	char hex[BUILD_ID_HEX_BYTES];

	(void)build_id_format(id, hex);
	for (size_t i = 0; i < sizeof(between) / sizeof(between[0]); i++) {
		int size = snprintf(
			path, PATH_MAX, "%s%s/%.2s/%s.debug", folder, between[i], hex, hex + 2);

		if (size > 0 && size < PATH_MAX && access(path, R_OK) == 0)
			return true;
	}
	return false;
}

static int add_file(struct symbolizing *symbolizing, const char *path)
{
	const struct symbols_addition_settings settings = { .cache = symbolizing->cache,
		.broker = symbolizing->broker };
	enum pilotlight_symbol_failure failure;
	struct symbols_addition addition;
	struct symbols_added added;
	struct fault fault = { 0 };
	int r = symbols_addition_start(&addition, &settings, path, &fault);

	if (r < 0)
		return r;
	do {
		struct pollfd fd = { symbols_addition_poll_fd(&addition), POLLIN, 0 };

		(void)poll(&fd, 1, STEP_MS);
		r = symbols_addition_run(&addition, &settings, &fault);
	} while (r == 0);
	if (r > 0)
		r = symbols_addition_finish(&addition, &settings, &added, &failure, &fault);
	if (r == 0)
		symbols_added_done(&added);
	symbols_addition_done(&addition);
	return r;
}

static int fetch(struct symbolizing *symbolizing, const struct build_id *id)
{
	const struct symbolizer_options options = {
		.cache = symbolizing->cache,
		.broker = symbolizing->broker,
		.debuginfod_urls = getenv("DEBUGINFOD_URLS"),
	};
	_cleanup_(symbolizer_freep) struct symbolizer *symbolizer = NULL;
	int r = symbolizer_new(&options, &symbolizer);

	return r < 0 ? r
		     : symbolizer_fetch(symbolizer, id,
			       clock_monotonic_ns() + FETCH_TIMEOUT_S * (uint64_t)NSEC_PER_SEC);
}

/* A binary whose symbols cannot be had stays unnamed, and is counted. */
static int obtain(struct symbolizing *symbolizing, const struct symbol_identity *identity)
{
	char path[PATH_MAX];
	int r = -ENOENT;

	/* Symbols of a build-id would be a guess for a file that may be forged. */
	if (identity->id.size == 0 || identity->kind != PILOTLIGHT_SYMBOL_BUILD_ID ||
		has_symbols(symbolizing, identity))
		return 0;
	if (symbolizing->folder && find_file(symbolizing->folder, &identity->id, path))
		r = add_file(symbolizing, path);
	if (r < 0 && symbolizing->asks_debuginfod)
		r = fetch(symbolizing, &identity->id);
	symbolizing->fetched += r == 0;
	return r == -ENOMEM ? r : 0;
}

static int obtain_all(struct symbolizing *symbolizing)
{
	const struct profile *profile = symbolizing->code.profile;
	int r = 0;

	for (size_t i = 0; r == 0 && i < profile->binaries.count; i++) {
		r = obtain(symbolizing, &profile->binaries.items[i].symbols);
		if (symbols_progress_is_due(&symbolizing->progress))
			symbols_progress_show(&symbolizing->progress, "%zu of %zu binaries", i + 1,
				profile->binaries.count);
	}
	symbols_progress_clear(&symbolizing->progress);
	return r;
}

static int open_binary(void *context, uint32_t profile_binary, struct symbol_binary *ret_binary)
{
	const struct profile *profile = context;
	const struct profile_binary *binary = &profile->binaries.items[profile_binary];

	if (binary->symbols.id.size == 0)
		return -ENOENT;
	*ret_binary = (struct symbol_binary){
		.identity = binary->symbols, .path = "", .fd = -1, .debug_fd = -1
	};
	return 0;
}

/* --- the command --- */

/* The next rows. What has a name of a function is left alone, and what is no identity, which no
 * file has, and which the next question would have to quote. */
static int ask_nameless(
	struct symbolizing *symbolizing, struct clickhouse_client *client, struct fault *fault)
{
	const char *build_id = symbolizing->last_build_id;
	char sql[1024];

	(void)snprintf(sql, sizeof(sql),
		"SELECT build_id, vaddr, max(day) FROM %s.locations "
		"WHERE kind IN ('executable', 'library') AND match(build_id, '^[0-9a-z:]{1,63}$') "
		"AND (build_id > '%s' OR build_id = '%s' AND vaddr > %" PRIu64 ") "
		"AND (build_id, vaddr) GLOBAL NOT IN "
		"(SELECT build_id, vaddr FROM %s.names WHERE rank >= %d) "
		"GROUP BY build_id, vaddr ORDER BY build_id, vaddr LIMIT %d FORMAT RowBinary",
		PILOTLIGHT_CLICKHOUSE_DATABASE, build_id, build_id, symbolizing->last_vaddr,
		PILOTLIGHT_CLICKHOUSE_DATABASE, PILOTLIGHT_NAME_FUNCTION, LOCATIONS_MAX);
	return clickhouse_client_query(client, sql, NULL, &symbolizing->code.rows, fault);
}

static int send_names(
	struct symbolizing *symbolizing, struct clickhouse_client *client, struct fault *fault)
{
	struct output_memory names = { .limit_bytes = NAMES_BYTES_MAX };
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	char host[HOST_NAME_MAX + 1] = "";
	size_t count;
	int r;

	if (!output)
		return -ENOMEM;
	(void)gethostname(host, sizeof(host) - 1);
	output_init(output, output_to_memory, &names);
	count = fleet_code_write_names(&symbolizing->code, host, output);
	r = output_finish(output);
	if (r == 0 && count > 0)
		r = clickhouse_client_insert(client,
			"INSERT INTO " PILOTLIGHT_CLICKHOUSE_DATABASE
			".names (" PILOTLIGHT_CLICKHOUSE_NAMES ") FORMAT RowBinary",
			names.bytes, names.size, fault);
	free(names.bytes);
	symbolizing->named += count;
	return r;
}

static int open_cache(struct symbolizing *symbolizing, struct fault *fault)
{
	const struct symbols_invocation symbols = { .directory = symbolizing->cache_folder };
	int r = symbols_open_cache(
		&symbols, SYMBOL_CACHE_BYTES_DEFAULT, true, &symbolizing->cache, fault);

	if (r == 0)
		r = cached_symbol_source_new(symbolizing->cache, &symbolizing->source);
	return r == 0 ? broker_new(NULL, &symbolizing->broker) : r;
}

/* Returns how many locations there were, or -errno. */
static int name_next(
	struct symbolizing *symbolizing, struct clickhouse_client *client, struct fault *fault)
{
	struct naming_counters counters;
	int r;

	fleet_code_done(&symbolizing->code);
	r = ask_nameless(symbolizing, client, fault);
	if (r == 0)
		r = fleet_code_fill(&symbolizing->code, PROFILE_BYTES_MAX);
	if (r == 0)
		r = obtain_all(symbolizing);
	if (r == 0)
		r = naming_run(symbolizing->code.profile,
			cached_symbol_source_interface(symbolizing->source), open_binary,
			symbolizing->code.profile, &counters);
	if (r == 0)
		r = send_names(symbolizing, client, fault);
	if (r < 0)
		return r;
	fleet_code_last(&symbolizing->code, symbolizing->last_build_id, &symbolizing->last_vaddr);
	return (int)symbolizing->code.profile->locations.count;
}

static int name_all(
	struct symbolizing *symbolizing, struct clickhouse_client *client, struct fault *fault)
{
	int r;

	do {
		r = name_next(symbolizing, client, fault);
		symbolizing->all += r > 0 ? (size_t)r : 0;
	} while (r == LOCATIONS_MAX);
	return r < 0 ? fault_set(fault, r, "cannot name code of the fleet: %s", strerror(-r)) : 0;
}

static int run(void *invocation)
{
	_cleanup_(clickhouse_client_freep) struct clickhouse_client *client = NULL;
	struct symbolizing *symbolizing = invocation;
	struct invocation *base = &symbolizing->server.base;
	int r;

	if (symbolizing->asks_debuginfod && !getenv("DEBUGINFOD_URLS"))
		return command_misuse(base->command, "--debuginfod needs $DEBUGINFOD_URLS, such as "
						     "https://debuginfod.elfutils.org");
	symbols_progress_init(&symbolizing->progress);
	r = fleet_server_connect(&symbolizing->server, &client);
	if (r == 0)
		r = open_cache(symbolizing, &base->fault);
	if (r == 0)
		r = name_all(symbolizing, client, &base->fault);
	if (r != 0)
		return r;
	output_printf(&base->output,
		"%zu of %zu locations without a name got one; %zu binaries got symbols\n",
		symbolizing->named, symbolizing->all, symbolizing->fetched);
	return command_flush(base);
}

static const struct option_row options[] = {
	{ 0, "debuginfod", NULL, "Ask the servers in $DEBUGINFOD_URLS for debug files.", OPTION_SET,
		.offset = offsetof(struct symbolizing, asks_debuginfod) },
	{ 0, "symbols", "DIR",
		"Take debug files of this folder: DIR/.build-id/xx/REST.debug or "
		"DIR/xx/REST.debug.",
		OPTION_STRING, .offset = offsetof(struct symbolizing, folder) },
	{ 0, "cache", "DIR",
		"The symbol cache ($PILOTLIGHT_SYMBOL_CACHE, or pilotlight in the user's cache "
		"folder), whose symbols are used, too.",
		OPTION_STRING, .offset = offsetof(struct symbolizing, cache_folder) },
	{ 0 },
};

const struct command fleet_symbolize = {
	.name = "fleet symbolize",
	.summary = "name code of a fleet that was stored without a name",
	.synopsis = "--clickhouse URL [OPTION...]",
	.description = "Name code that the hosts of a fleet stored without a name, such as that of "
		       "stripped binaries, in the table of names. Samples are not touched.",
	.options = { options, fleet_server_options },
	.bytes = sizeof(struct symbolizing),
	.run = run,
	.done = done,
};
