/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the commands of a fleet have in common: options that select, as those of one host do, and
 * the answer as a profile with a title. Times are in this process's zone (TZ).
 */
#pragma once

#include "query/profile_difference.h"
#include "tools/fleet/fleet_query.h"
#include "tools/fleet/fleet_server.h"

enum { FLEET_PARAMETERS_MAX = 64, FLEET_TITLE_BYTES = 512 };

struct fleet_parameter {
	const char *name, *value; /* "unit", borrowed from argv */
};

/* Begins the struct of each command that asks for profiles. */
struct fleet_request {
	struct fleet_server server;
	struct fleet_parameters {
		struct fleet_parameter items[FLEET_PARAMETERS_MAX];
		size_t count;
	} sides[DIFFERENCE_SIDE_COUNT]; /* as they were given */
	bool is_against;		/* the options that follow select the base */
	const char *path, *format;	/* of -o and -f; NULL: not given */
	bool is_quiet, is_by_line;
	uint32_t rows; /* of a table; FLEET_ROWS_UNSET: not given */
};

#define FLEET_ROWS_UNSET UINT32_MAX

/* Option tables: --last, --unit and the like; -n, --lines, -q. */
extern const struct option_row fleet_select_options[], fleet_output_options[];

void fleet_request_init(struct fleet_request *request);

/*
 * Asks for the profile of a side and names it in `title`. The base has what it does not say from
 * the other side. Returns 0, EXIT_USAGE, or -errno with the invocation's fault.
 */
int fleet_request_read(struct fleet_request *request, struct clickhouse_client *client,
	enum difference_side side, struct profile **ret_profile, char title[FLEET_TITLE_BYTES]);

/* How many rows a table on `path` has; 0: all. */
size_t fleet_request_rows(const struct fleet_request *request, const char *path);

/* Writes to `path` what `write` does (output_file.h). Returns 0 or -errno with a fault. */
int fleet_request_write(struct fleet_request *request, const char *path,
	int (*write)(void *context, struct output *output), void *context);
