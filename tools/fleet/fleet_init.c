/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/cleanup.h"
#include "pilotlight/clickhouse_schema.h"
#include "tools/fleet/fleet_commands.h"
#include "tools/fleet/fleet_schema.h"
#include "tools/fleet/fleet_server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DATABASE PILOTLIGHT_CLICKHOUSE_DATABASE

enum {
	KEEP_DAYS_DEFAULT = 30,
	KEEP_DAYS_MAX = 3650,
	OLDEST_VERSION = 2, /* which is that of PILOTLIGHT_CLICKHOUSE_VERSION without a table */
	SQL_BYTES_MAX = 64 << 10,
	WORD_BYTES = 64,
};

struct init {
	struct fleet_server server;
	const char *cluster;
	uint32_t keep_days;
	struct clickhouse_client *client;
	struct fleet_schema schema;
	char *objects;	      /* lines "name engine" of what was there */
	unsigned old_version; /* of the tables, if it is not that of this program; 0: it is */
};

static struct fault *fault_of(struct init *init)
{
	return &init->server.base.fault;
}

/* The answer is lines of columns that are separated by tabs. */
static int ask(struct init *init, const char *sql, char **ret_text)
{
	struct clickhouse_answer answer = { 0 };
	int r = clickhouse_client_query(init->client, sql, NULL, &answer, fault_of(init));

	if (r < 0)
		return r;
	*ret_text = strndup(answer.bytes ? (const char *)answer.bytes : "", answer.size);
	clickhouse_answer_done(&answer);
	return *ret_text ? 0 : -ENOMEM;
}

static int read_version(struct init *init)
{
	_cleanup_free_ char *text = NULL;
	int r = ask(init, "SELECT version()", &text);

	if (r == 0 && sscanf(text, "%u.", &init->schema.server_major) != 1)
		return fault_set(fault_of(init), -EPROTO,
			"%s does not tell its version: is it ClickHouse?", init->server.url);
	return r;
}

/* Finds the engine of an object that was there. */
static bool find_engine(const struct init *init, const char *name, char engine[WORD_BYTES])
{
	char known[WORD_BYTES];

	for (const char *line = init->objects; line && *line; line += strcspn(line, "\n") + 1) {
		if (sscanf(line, "%63s %63s", known, engine) == 2 && strcmp(known, name) == 0)
			return true;
		if (!strchr(line, '\n'))
			break;
	}
	return false;
}

static int check_version(struct init *init)
{
	_cleanup_free_ char *text = NULL;
	char engine[WORD_BYTES];
	unsigned version = 0;
	int r;

	if (!find_engine(init, "schema", engine))
		return 0;
	r = ask(init, "SELECT version FROM " DATABASE ".schema", &text);
	if (r < 0)
		return r;
	if (sscanf(text, "%u", &version) != 1 || version < OLDEST_VERSION ||
		version > PILOTLIGHT_CLICKHOUSE_VERSION)
		return fault_set(fault_of(init), -EEXIST,
			"the tables in the database " DATABASE
			" at %s are of version %.*s, and this pilotlight makes version %d: use a "
			"pilotlight of that version, or drop the database with all its profiles",
			init->server.url, (int)strcspn(text, "\n"), text,
			PILOTLIGHT_CLICKHOUSE_VERSION);
	if (version < PILOTLIGHT_CLICKHOUSE_VERSION)
		init->old_version = version;
	return 0;
}

/* IF NOT EXISTS would take tables of the other form for its own. */
static int check_form(struct init *init)
{
	char engine[WORD_BYTES];
	const bool is_distributed =
		find_engine(init, "samples", engine) && strcmp(engine, "Distributed") == 0;

	if (is_distributed && !init->cluster)
		return fault_set(fault_of(init), -EEXIST,
			"the tables at %s are those of a cluster; name it by --cluster",
			init->server.url);
	if (!is_distributed && init->cluster && find_engine(init, "samples", engine))
		return fault_set(fault_of(init), -EEXIST,
			"the tables at %s are those of a single server: drop the database " DATABASE
			" with all its profiles, or leave out --cluster",
			init->server.url);
	return 0;
}

static int check_cluster(struct init *init)
{
	_cleanup_free_ char *text = NULL;
	char sql[256];
	unsigned shards = 0, replicas = 0;
	int r;

	if (!init->cluster)
		return 0;
	(void)snprintf(sql, sizeof(sql),
		"SELECT uniqExact(shard_num), count() FROM system.clusters WHERE cluster = '%s'",
		init->cluster);
	r = ask(init, sql, &text);
	if (r < 0)
		return r;
	if (sscanf(text, "%u %u", &shards, &replicas) != 2 || shards == 0)
		return fault_set(fault_of(init), -ENOENT,
			"the server at %s knows no cluster '%s': see its system.clusters, and "
			"<remote_servers> of its configuration",
			init->server.url, init->cluster);
	output_printf(&init->server.base.output, "Cluster %s: %u shards, %u servers.\n",
		init->cluster, shards, replicas);
	return 0;
}

static int check(struct init *init)
{
	int r = read_version(init);

	if (r == 0)
		r = ask(init,
			"SELECT name, engine FROM system.tables WHERE database = '" DATABASE "'",
			&init->objects);
	if (r == 0)
		r = check_version(init);
	if (r == 0)
		r = check_form(init);
	return r == 0 ? check_cluster(init) : r;
}

static int run_statement(struct init *init, const char *sql)
{
	_cleanup_free_ char *text = NULL;

	return ask(init, sql, &text);
}

static int make_database(struct init *init)
{
	char sql[256];

	(void)snprintf(sql, sizeof(sql), "CREATE DATABASE IF NOT EXISTS " DATABASE "%s%s%s",
		init->cluster ? " ON CLUSTER '" : "", init->cluster ? init->cluster : "",
		init->cluster ? "'" : "");
	return run_statement(init, sql);
}

/* `schema` is the last, so tables that lack one keep their version, and the next call goes on. */
static int forget_version(struct init *init)
{
	char sql[256];

	(void)snprintf(sql, sizeof(sql), "DROP TABLE IF EXISTS " DATABASE ".schema%s%s%s",
		init->cluster ? " ON CLUSTER '" : "", init->cluster ? init->cluster : "",
		init->cluster ? "'" : "");
	return run_statement(init, sql);
}

/* Returns 1 behind the last. */
static int make_object(struct init *init, size_t index, struct output *output)
{
	struct output_memory memory = { .limit_bytes = SQL_BYTES_MAX };
	_cleanup_free_ char *sql = NULL;
	char engine[WORD_BYTES];
	const char *name;
	bool is_there;
	int r;

	output_init(output, output_to_memory, &memory);
	name = fleet_schema_write(&init->schema, index, output);
	output_char(output, '\0');
	r = output_finish(output);
	sql = memory.bytes;
	if (r < 0 || !name)
		return r < 0 ? r : 1;
	if (init->old_version > 0 && strcmp(name, "schema") == 0)
		r = forget_version(init);
	/* Of a cluster, other servers may lack it. */
	if (r == 0)
		r = run_statement(init, sql);
	if (r < 0)
		return r;
	is_there = find_engine(init, name, engine);
	output_printf(&init->server.base.output, "%s " DATABASE ".%s\n",
		is_there ? "There: " : "Made:  ", name);
	return 0;
}

static int make(struct init *init)
{
	_cleanup_free_ struct output *output = malloc(sizeof(*output));
	int r = output ? make_database(init) : -ENOMEM;

	for (size_t i = 0; r == 0; i++)
		r = make_object(init, i, output);
	if (r < 0)
		return r;
	if (init->old_version > 0)
		output_printf(&init->server.base.output, "Version %u became %d.\n",
			init->old_version, PILOTLIGHT_CLICKHOUSE_VERSION);
	if (!fleet_schema_has_ttl(&init->schema))
		output_printf(&init->server.base.output,
			"This server has no TTL: drop old partitions yourself, as "
			"pilotlight-fleet(1) shows.\n");
	return command_flush(&init->server.base);
}

static bool is_name(const char *text)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				      "0123456789_-.";

	return *text && strlen(text) < WORD_BYTES && text[strspn(text, allowed)] == '\0';
}

static void prepare(void *invocation)
{
	struct init *init = invocation;

	init->keep_days = KEEP_DAYS_DEFAULT;
}

static void done(void *invocation)
{
	struct init *init = invocation;

	clickhouse_client_free(init->client);
	free(init->objects);
}

static int run(void *invocation)
{
	struct init *init = invocation;
	int r;

	if (init->cluster && !is_name(init->cluster))
		return command_misuse(init->server.base.command,
			"'%.64s' is no name of a cluster: it has letters, digits, '_', '-' and '.'",
			init->cluster);
	init->schema.cluster = init->cluster;
	init->schema.keep_days = init->keep_days;
	r = fleet_server_connect(&init->server, &init->client);
	if (r == 0)
		r = check(init);
	return r == 0 ? make(init) : r;
}

static const struct option_row options[] = {
	{ 0, "cluster", "NAME",
		"Make replicated tables on all servers of this cluster, and distributed ones over "
		"them.",
		OPTION_STRING, .offset = offsetof(struct init, cluster) },
	{ 0, "keep", "DAYS", "Delete profiles after so many days (30).", OPTION_NUMBER,
		.offset = offsetof(struct init, keep_days), .min = 1, .max = KEEP_DAYS_MAX },
	{ 0 },
};

const struct command fleet_init = {
	.name = "fleet init",
	.summary = "make the tables of a fleet in ClickHouse",
	.synopsis = "--clickhouse URL [OPTION...]",
	.description = "Make the database " DATABASE
		       " with its tables, to which hosts push by a sink of Type=clickhouse. What "
		       "is there already stays as it is.",
	.options = { options, fleet_server_options },
	.bytes = sizeof(struct init),
	.prepare = prepare,
	.run = run,
	.done = done,
};
