/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "tools/fleet/fleet_schema.h"

#include "base/array.h"
#include "pilotlight/clickhouse_schema.h"

/* Major versions. 22 has all of codecs, TTL, LowCardinality, projections and deduplication without
 * replicas; the type JSON left its trial in 25.3. */
enum { MODERN_MAJOR = 22, JSON_MAJOR = 26 };

/*
 * A server forgets what it has inserted after so many blocks and so much time: a week, the default
 * of MaxAge=. A sender that comes back later asks for its batch first.
 */
#define BLOCKS_REMEMBERED  "10000"
#define SECONDS_REMEMBERED "604800"

static bool is_modern(const struct fleet_schema *schema)
{
	return schema->server_major >= MODERN_MAJOR;
}

bool fleet_schema_has_ttl(const struct fleet_schema *schema)
{
	return is_modern(schema);
}

/* --- columns --- */

enum column_type { TEXT, TEXTS, FILLED_TEXT, OTHER };

struct column {
	const char *name;
	enum column_type type;
	const char *other; /* the type; of a text that the server fills, by what of other columns */
};

struct table {
	const char *name, *local_name;	     /* the latter on a shard of a cluster */
	const struct column *columns, *more; /* the last has no name; `more` may be NULL */
	const char *engine;		     /* without Replicated and its arguments */
	const char *version, *partition, *key, *day;
	bool has_hours; /* sums of hours, by servers that can keep them */
};

static const struct column sample_columns[] = {
	{ "ts", OTHER, "DateTime('UTC')" },
	{ "duration_ns", OTHER, "UInt64" },
	{ "host", TEXT, NULL },
	{ "service", TEXT, NULL },
	{ "type", TEXT, NULL },
	{ "labels", TEXTS, NULL },
	{ "stack", OTHER, "UInt64" },
	{ "value", OTHER, "UInt64" },
	{ "period", OTHER, "UInt64" },
	{ "weight", OTHER, "Float64" },
	{ "comm", FILLED_TEXT,
		"substring(arrayFirst(x -> substring(x, 1, 5) = 'comm=', labels), 6)" },
	{ 0 },
};

static const struct column id_columns[] = {
	{ "trace_id", OTHER, "FixedString(16)" },
	{ "span_id", OTHER, "FixedString(8)" },
	{ 0 },
};

static const struct column stack_columns[] = {
	{ "day", OTHER, "Date" },
	{ "host", TEXT, NULL },
	{ "id", OTHER, "UInt64" },
	{ "locations", OTHER, "Array(UInt64)" },
	{ 0 },
};

static const struct column location_columns[] = {
	{ "day", OTHER, "Date" },
	{ "host", TEXT, NULL },
	{ "id", OTHER, "UInt64" },
	{ "build_id", TEXT, NULL },
	{ "vaddr", OTHER, "UInt64" },
	{ "kind", TEXT, NULL },
	{ "path", TEXT, NULL },
	{ 0 },
};

static const struct column name_columns[] = {
	{ "day", OTHER, "Date" },
	{ "host", TEXT, NULL },
	{ "build_id", TEXT, NULL },
	{ "vaddr", OTHER, "UInt64" },
	{ "rank", OTHER, "UInt8" },
	{ "functions", OTHER, "Array(String)" },
	{ "files", TEXTS, NULL },
	{ "lines", OTHER, "Array(UInt32)" },
	{ 0 },
};

static const struct table tables[] = {
	{ "samples", "samples_local", sample_columns, NULL, "MergeTree", NULL, "toYYYYMMDD(ts)",
		"(type, service, toStartOfHour(ts), stack, host, ts)", "ts", true },
	{ "spans", "spans_local", sample_columns, id_columns, "MergeTree", NULL, "toYYYYMMDD(ts)",
		"(trace_id, span_id, ts)", "ts", false },
	{ "stacks", "stacks_local", stack_columns, NULL, "ReplacingMergeTree", "day",
		"toYYYYMM(day)", "id", "day", false },
	{ "locations", "locations_local", location_columns, NULL, "ReplacingMergeTree", "day",
		"toYYYYMM(day)", "id", "day", false },
	{ "names", "names_local", name_columns, NULL, "ReplacingMergeTree", "day", "toYYYYMM(day)",
		"(build_id, vaddr, rank)", "day", false },
};

static void write_column(
	const struct fleet_schema *schema, const struct column *column, struct output *output)
{
	const char *text = is_modern(schema) ? "LowCardinality(String)" : "String";

	output_printf(output, "%s ", column->name);
	switch (column->type) {
	case TEXT:
		output_string(output, text);
		break;
	case TEXTS:
		output_printf(output, "Array(%s)", text);
		break;
	case FILLED_TEXT:
		output_printf(output, "%s DEFAULT %s", text, column->other);
		break;
	case OTHER:
		output_string(output, column->other);
		break;
	}
	if (is_modern(schema))
		output_string(output, " CODEC(ZSTD(1))");
}

/* --- statements --- */

static void write_on_cluster(const struct fleet_schema *schema, struct output *output)
{
	if (schema->cluster)
		output_printf(output, " ON CLUSTER '%s'", schema->cluster);
}

/*
 * Sums of hours, which the server keeps with each part and reads in place of the rows when a
 * question is of whole hours, and of neither hosts nor labels. Hosts are counted by the other one.
 */
static void write_projections(struct output *output)
{
	static const char keys[] = "type, service, toStartOfHour(ts)";
	static const char stacks[] = "stack, comm, period, weight";

	output_printf(output, ", PROJECTION hours (SELECT %s, %s, sum(value) GROUP BY %s, %s)",
		keys, stacks, keys, stacks);
	output_printf(output, ", PROJECTION hosts (SELECT %s, host, max(weight) GROUP BY %s, host)",
		keys, keys);
}

static void write_engine(
	const struct fleet_schema *schema, const struct table *table, struct output *output)
{
	output_printf(
		output, " ENGINE = %s%s(", schema->cluster ? "Replicated" : "", table->engine);
	if (schema->cluster)
		output_printf(output, "'/clickhouse/tables/{shard}/%s/%s', '{replica}'%s",
			PILOTLIGHT_CLICKHOUSE_DATABASE, table->name, table->version ? ", " : "");
	output_printf(output, "%s) PARTITION BY %s ORDER BY %s",
		table->version ? table->version : "", table->partition, table->key);
	if (fleet_schema_has_ttl(schema))
		output_printf(output, " TTL %s + INTERVAL %u DAY", table->day, schema->keep_days);
	output_string(output, " SETTINGS index_granularity = 8192");
	if (fleet_schema_has_ttl(schema))
		output_string(output, ", ttl_only_drop_parts = 1");
	if (schema->cluster)
		output_string(output,
			", replicated_deduplication_window = " BLOCKS_REMEMBERED
			", replicated_deduplication_window_seconds = " SECONDS_REMEMBERED);
	else if (is_modern(schema))
		output_string(output, ", non_replicated_deduplication_window = " BLOCKS_REMEMBERED);
}

static void write_columns(const struct fleet_schema *schema, const struct column *columns,
	const char *before, struct output *output)
{
	for (; columns->name; columns++, before = ", ") {
		output_string(output, before);
		write_column(schema, columns, output);
	}
}

/* Of a cluster, the part of the table that is on one shard. */
static void write_table(
	const struct fleet_schema *schema, const struct table *table, struct output *output)
{
	output_printf(output, "CREATE TABLE IF NOT EXISTS %s.%s", PILOTLIGHT_CLICKHOUSE_DATABASE,
		schema->cluster ? table->local_name : table->name);
	write_on_cluster(schema, output);
	output_string(output, " (");
	write_columns(schema, table->columns, "", output);
	if (table->more)
		write_columns(schema, table->more, ", ", output);
	if (is_modern(schema) && table->has_hours)
		write_projections(output);
	output_char(output, ')');
	write_engine(schema, table, output);
}

static void write_distributed(
	const struct fleet_schema *schema, const struct table *table, struct output *output)
{
	const char *database = PILOTLIGHT_CLICKHOUSE_DATABASE;

	output_printf(output, "CREATE TABLE IF NOT EXISTS %s.%s", database, table->name);
	write_on_cluster(schema, output);
	output_printf(output, " AS %s.%s ENGINE = Distributed('%s', %s, %s, cityHash64(host))",
		database, table->local_name, schema->cluster, database, table->local_name);
}

/* --- views --- */

/*
 * What Parca's reader expects of its own table: the names of stacks in the row. A frame that was
 * inlined is one of its own. Types are as Parca shows them, so CPU time is samples with a period.
 */
static const char parca_view[] =
	" AS SELECT 'pilotlight' AS name, "
	"if(s.type = 'cpu', 'samples', replaceRegexpAll(s.type, '[^a-zA-Z0-9_]', '_')) AS "
	"sample_type, "
	"if(s.type = 'cpu', 'count', unit) AS sample_unit, "
	"replaceRegexpAll(s.type, '[^a-zA-Z0-9_]', '_') AS period_type, unit AS period_unit, "
	"toInt64(s.period) AS period, toInt64(s.duration_ns) AS duration, "
	"toInt64(toUnixTimestamp(s.ts)) * 1000 AS timestamp, "
	"toInt64(toUnixTimestamp(s.ts)) * 1000000000 AS time_nanos, "
	"toInt64(round(s.value * s.weight * if(s.type = 'cpu', 1, s.period))) AS value, "
	"CAST(toJSONString(mapFromArrays("
	"arrayMap(x -> replaceRegexpAll(splitByChar('=', x)[1], '[^a-zA-Z0-9_]', '_'), pairs), "
	"arrayMap(x -> substring(x, position(x, '=') + 1), pairs))), 'JSON') AS labels, "
	"f.address AS `stacktrace.address`, f.zeros AS `stacktrace.mapping_start`, "
	"f.zeros AS `stacktrace.mapping_limit`, f.zeros AS `stacktrace.mapping_offset`, "
	"f.path AS `stacktrace.mapping_file`, f.build_id AS `stacktrace.mapping_build_id`, "
	"f.line AS `stacktrace.line_number`, f.function AS `stacktrace.function_name`, "
	"f.function AS `stacktrace.function_system_name`, "
	"f.file AS `stacktrace.function_filename`, "
	"arrayMap(x -> toInt64(0), f.zeros) AS `stacktrace.function_start_line` "
	"FROM (SELECT *, multiIf("
	"type IN ('cpu', 'offcpu', 'runqueue', 'lock', 'block'), 'nanoseconds', "
	"type LIKE 'kmem:%' OR type LIKE 'heap:%' OR type = 'block:bytes', 'bytes', 'count') AS "
	"unit, "
	"arrayConcat(labels, [concat('host=', host), concat('service_name=', service)]) AS pairs "
	"FROM pilotlight.samples) AS s "
	"GLOBAL ANY LEFT JOIN ("
	"SELECT id, arrayMap(x -> x.3, rows) AS address, arrayMap(x -> toUInt64(0), rows) AS "
	"zeros, "
	"arrayMap(x -> x.4, rows) AS path, arrayMap(x -> x.5, rows) AS build_id, "
	"arrayMap(x -> x.6, rows) AS function, arrayMap(x -> x.7, rows) AS file, "
	"arrayMap(x -> toInt64(x.8), rows) AS line "
	"FROM (SELECT id, arraySort(groupArray((depth, inlined, vaddr, path, build_id, function, "
	"file, line))) AS rows "
	"FROM (SELECT id, depth, location FROM (SELECT id, any(locations) AS places "
	"FROM pilotlight.stacks GROUP BY id) "
	"ARRAY JOIN places AS location, arrayEnumerate(places) AS depth) AS k "
	"GLOBAL ANY LEFT JOIN (SELECT l.id AS place, l.vaddr AS vaddr, l.path AS path, "
	"if(match(l.build_id, '^[0-9a-f]+$'), l.build_id, '') AS build_id, "
	"if(empty(n.functions), [''], n.functions) AS functions, "
	"if(empty(n.functions), [''], n.files) AS files, "
	"if(empty(n.functions), [toUInt32(0)], n.lines) AS lines "
	"FROM (SELECT id, any(build_id) AS build_id, any(vaddr) AS vaddr, any(path) AS path "
	"FROM pilotlight.locations GROUP BY id) AS l "
	"GLOBAL ANY LEFT JOIN (SELECT build_id, vaddr, argMax(functions, rank) AS functions, "
	"argMax(files, rank) AS files, argMax(lines, rank) AS lines "
	"FROM pilotlight.names GROUP BY build_id, vaddr) AS n "
	"ON l.build_id = n.build_id AND l.vaddr = n.vaddr) AS p ON k.location = p.place "
	"ARRAY JOIN functions AS function, files AS file, lines AS line, "
	"arrayEnumerate(functions) AS inlined "
	"GROUP BY id)) AS f ON s.stack = f.id";

static void write_view(const struct fleet_schema *schema, const char *name, struct output *output)
{
	output_printf(
		output, "CREATE VIEW IF NOT EXISTS %s.%s", PILOTLIGHT_CLICKHOUSE_DATABASE, name);
	write_on_cluster(schema, output);
}

static const char *write_parca_view(const struct fleet_schema *schema, struct output *output)
{
	write_view(schema, "parca", output);
	output_string(output, parca_view);
	return "parca";
}

static const char *write_schema_view(const struct fleet_schema *schema, struct output *output)
{
	write_view(schema, "schema", output);
	output_printf(output, " AS SELECT toUInt32(%d) AS version", PILOTLIGHT_CLICKHOUSE_VERSION);
	return "schema";
}

const char *fleet_schema_write(
	const struct fleet_schema *schema, size_t index, struct output *output)
{
	const size_t count = ARRAY_SIZE(tables), distributed = schema->cluster ? count : 0;
	const bool has_parca = schema->server_major >= JSON_MAJOR;

	if (index < count) {
		write_table(schema, &tables[index], output);
		return schema->cluster ? tables[index].local_name : tables[index].name;
	}
	index -= count;
	if (index < distributed) {
		write_distributed(schema, &tables[index], output);
		return tables[index].name;
	}
	index -= distributed;
	if (has_parca && index == 0)
		return write_parca_view(schema, output);
	return index == has_parca ? write_schema_view(schema, output) : NULL;
}
