/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Code of a fleet without a name, as a profile of locations alone, so that what names those of a
 * host names these, too; and the rows of the names that were found.
 */
#pragma once

#include "aggregate/profile.h"
#include "base/output.h"
#include "tools/fleet/fleet_rows.h"

enum { FLEET_CODE_BUILD_ID_BYTES = 64 };

struct fleet_code {
	struct clickhouse_answer rows; /* build_id String, vaddr UInt64, day UInt16, by build_id */
	struct profile *profile;       /* owned: one location for each row */
};

void fleet_code_done(struct fleet_code *code);

/* Makes the profile of the rows. Returns 0, -ENOMEM, -E2BIG or -EBADMSG. */
int fleet_code_fill(struct fleet_code *code, size_t limit_bytes);

/* The last row; "" and 0 of none. */
void fleet_code_last(const struct fleet_code *code, char ret_build_id[FLEET_CODE_BUILD_ID_BYTES],
	uint64_t *ret_vaddr);

/*
 * Writes a row of the table `names` (pilotlight/clickhouse_schema.h) for each location that has a
 * real name. Returns their number.
 */
size_t fleet_code_write_names(struct fleet_code *code, const char *host, struct output *output);
