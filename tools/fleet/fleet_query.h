/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Asks ClickHouse for a profile of a fleet: small questions without a join and without FINAL, each
 * about what the one before it has named.
 */
#pragma once

#include "aggregate/profile.h"
#include "client/clickhouse_client.h"
#include "query/host_sample.h"
#include "query/selection.h"

#include <stddef.h>

struct fleet_selection {
	struct selection *selection;	/* owned; after selection_finish() */
	const char **hosts, **services; /* owned; globs: any of them matches. The texts are not */
	size_t host_count, service_count;
};

void fleet_selection_done(struct fleet_selection *selection);

struct fleet_found {
	uint64_t hosts; /* that have samples of the selection */
	/* Of the amounts of the whole fleet, if a share of the hosts was drawn. */
	struct host_estimate estimate;
};

/* Returns 0; -ENOENT there are no such samples; or another -errno; always with a fault. */
int fleet_query_profile(struct clickhouse_client *client, const struct fleet_selection *selection,
	size_t limit_bytes, struct profile **ret_profile, struct fleet_found *ret_found,
	struct fault *fault);
