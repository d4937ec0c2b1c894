/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which server gets which statements. tests/receivers/clickhouse lets servers judge them. */
#include "tools/fleet/fleet_schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SQL_BYTES = 64 << 10 };

/* All statements, one a line behind its name. */
static const char *statements(const struct fleet_schema *schema)
{
	static char text[SQL_BYTES];
	static struct output output;
	size_t used = 0;
	const char *name;

	for (size_t i = 0;; i++) {
		struct output_memory memory = { .limit_bytes = SQL_BYTES };

		output_init(&output, output_to_memory, &memory);
		name = fleet_schema_write(schema, i, &output);
		assert_int_equal(output_finish(&output), 0);
		if (name)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s: %.*s\n",
				name, (int)memory.size, memory.bytes);
		free(memory.bytes);
		if (!name)
			return text;
		assert_true(used < sizeof(text));
	}
}

static void an_old_server_gets_what_it_knows(void **state)
{
	const struct fleet_schema schema = { .server_major = 18, .keep_days = 7 };
	static const char *const unknown[] = { "TTL", "CODEC", "LowCardinality", "non_replicated",
		"PROJECTION", "parca", "CLUSTER" };
	const char *text = statements(&schema);

	assert_false(fleet_schema_has_ttl(&schema));
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++)
		assert_null(strstr(text, unknown[i]));
	assert_non_null(strstr(text,
		"names: CREATE TABLE IF NOT EXISTS pilotlight.names (day Date, host String, "
		"build_id String, vaddr UInt64, rank UInt8, functions Array(String), "
		"files Array(String), lines Array(UInt32)) ENGINE = ReplacingMergeTree(day) "
		"PARTITION BY toYYYYMM(day) ORDER BY (build_id, vaddr, rank) SETTINGS "
		"index_granularity = 8192\n"));
	assert_non_null(strstr(text, "weight Float64, comm String DEFAULT substring(arrayFirst(x "
				     "-> substring(x, 1, 5) = "
				     "'comm=', labels), 6)) ENGINE"));
	assert_non_null(
		strstr(text, "\nschema: CREATE VIEW IF NOT EXISTS pilotlight.schema AS SELECT "
			     "toUInt32(3) AS version\n"));
}

static void a_new_server_gets_more(void **state)
{
	const struct fleet_schema schema = { .server_major = 26, .keep_days = 7 };
	const char *text = statements(&schema);

	assert_true(fleet_schema_has_ttl(&schema));
	assert_non_null(strstr(text, " TTL ts + INTERVAL 7 DAY SETTINGS "));
	assert_non_null(strstr(text, " TTL day + INTERVAL 7 DAY SETTINGS "));
	assert_non_null(strstr(text, "labels Array(LowCardinality(String)) CODEC(ZSTD(1))"));
	assert_non_null(strstr(text, "non_replicated_deduplication_window"));
	assert_non_null(strstr(text, "\nparca: CREATE VIEW"));
	assert_non_null(strstr(text,
		", PROJECTION hours (SELECT type, service, toStartOfHour(ts), stack, comm, period, "
		"weight, sum(value) GROUP BY type, service, toStartOfHour(ts), stack, comm, "
		"period, "
		"weight), PROJECTION hosts ("));
	assert_null(strstr(strstr(text, "\nspans: "), "PROJECTION"));
	assert_non_null(strstr(text,
		"trace_id FixedString(16) CODEC(ZSTD(1)), span_id FixedString(8) CODEC(ZSTD(1))) "
		"ENGINE = MergeTree() PARTITION BY toYYYYMMDD(ts) ORDER BY "
		"(trace_id, span_id, ts) TTL ts + "));
}

static void a_cluster_has_two_tables_of_each(void **state)
{
	const struct fleet_schema schema = { .cluster = "c-1", .server_major = 18, .keep_days = 7 };
	const char *text = statements(&schema);

	assert_non_null(strstr(text,
		"samples_local: CREATE TABLE IF NOT EXISTS pilotlight.samples_local ON "
		"CLUSTER 'c-1' ("));
	assert_non_null(strstr(text, "ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/"
				     "{shard}/pilotlight/stacks', '{replica}', day)"));
	assert_non_null(strstr(text,
		"samples: CREATE TABLE IF NOT EXISTS pilotlight.samples ON CLUSTER 'c-1' AS "
		"pilotlight.samples_local ENGINE = Distributed('c-1', pilotlight, samples_local, "
		"cityHash64(host))\n"));
	assert_non_null(strstr(text, "pilotlight.schema ON CLUSTER 'c-1' AS"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_old_server_gets_what_it_knows),
		cmocka_unit_test(a_new_server_gets_more),
		cmocka_unit_test(a_cluster_has_two_tables_of_each),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
