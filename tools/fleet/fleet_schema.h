/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The SQL that makes the tables of pilotlight/clickhouse_schema.h. Its statements depend on the
 * server: version 18 has neither TTL, codecs, dictionaries of texts nor projections, by which later
 * ones are smaller and faster. The columns are the same.
 */
#pragma once

#include "base/output.h"

#include <stdbool.h>
#include <stddef.h>

struct fleet_schema {
	const char *cluster;   /* NULL: a single server */
	unsigned server_major; /* its version */
	unsigned keep_days;
};

/* Retention is by TTL; else somebody must drop partitions. */
bool fleet_schema_has_ttl(const struct fleet_schema *schema);

/*
 * Writes the SQL of an object. Each statement succeeds if its object is there already; `schema`,
 * which tells the version, is the last. Returns the object's name, or NULL behind the last.
 */
const char *fleet_schema_write(
	const struct fleet_schema *schema, size_t index, struct output *output);
